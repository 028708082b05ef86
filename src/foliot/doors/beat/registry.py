"""`Registry`: the schedules of a program's code."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import datetime

from foliot.doors.beat.errors import BeatError, DuplicateScheduleError
from foliot.doors.beat.schedule import Schedule, check_schedule, rule_of
from foliot.errors import FoliotError

Check = Callable[[Schedule], None]
_Schedules = list[Schedule]  # in the class, `list` is a method


class Registry:
    """Schedules by their ids. Any thread may use it.

    A scheduler that runs is told of schedules that are registered later.
    """

    def __init__(self) -> None:
        self._schedules: dict[str, Schedule] = {}
        self._lock = threading.RLock()
        self._watchers: list[tuple[Check, Callable[[], None]]] = []

    def register(self, schedule: Schedule) -> None:
        """Add a schedule. InvalidScheduleError, DuplicateScheduleError: nothing has changed then."""
        check_schedule(schedule)
        with self._lock:
            if schedule.id in self._schedules:
                raise DuplicateScheduleError(schedule.id)
            self._put(schedule)

    def must_register(self, schedule: Schedule) -> None:
        """The same for the start of a program: BeatError, whatever is wrong; its cause is what it was."""
        try:
            self.register(schedule)
        except FoliotError as error:
            raise BeatError(f"failed to register schedule: {error}", hint=error.hint) from error

    def get(self, id: str) -> Schedule | None:  # noqa: A002 - the field's name
        """The schedule of that id, if there is one."""
        return self._schedules.get(id)

    def list(self) -> _Schedules:
        """All schedules, in the order in which they were registered."""
        with self._lock:
            return [*self._schedules.values()]

    def next_run(self, schedule: Schedule, after: datetime) -> datetime:
        """When a schedule fires next, strictly after an instant; in the schedule's own zone.

        BeatError if its zone or its cron expression is wrong; its text begins with what is.
        """
        try:
            following = rule_of(schedule).next_after(after)
        except FoliotError as error:
            told = error if error.__cause__ is None else error.__cause__
            raise BeatError(str(told), hint=error.hint) from error
        if following is None:
            raise BeatError(f"schedule {schedule.id} has no run after {after}")
        return following

    # -- for schedulers ----------------------------------------------------------------------------

    def watch(self, check: Check, changed: Callable[[], None]) -> Callable[[], None]:
        """Ask `check` about each new schedule, and call `changed` after it; the answer ends that."""
        watcher = (check, changed)
        with self._lock:
            self._watchers.append(watcher)
        return lambda: self._watchers.remove(watcher)

    def replace(self, schedule: Schedule) -> None:
        """Put a schedule in the place of one of the same id."""
        check_schedule(schedule)
        with self._lock:
            self._put(schedule)

    def remove(self, id: str) -> None:  # noqa: A002 - the field's name
        """Forget a schedule."""
        with self._lock:
            del self._schedules[id]
            for _, changed in self._watchers:
                changed()

    def _put(self, schedule: Schedule) -> None:
        for check, _ in self._watchers:
            check(schedule)
        self._schedules[schedule.id] = schedule
        for _, changed in self._watchers:
            changed()
