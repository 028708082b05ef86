"""The theory of the document as a judge: what was observed is walked through once, and must be explained.

An obligation to start a task is a minute of its rule that has come since it was last started, a retry whose
delay is over, or a start that a crash has cut short. A task that has just been registered owes nothing but
the present minute, and one that never ran owes no minute that is over.

    S1  no start without an obligation, nor beside itself, nor before `initialize`, nor after `stop`
    S2  at most one successful start between two occurrences
    S3  nothing runs when `stop` returns
    L1  an obligation leads to a start, soon, while a scheduler is there and its store answers

The minutes are counted one by one, by this file's own reading of the rule: it shares no code with Foliot.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from declarative_door.lives import Entry, Life, Spec

ZONE = ZoneInfo("Europe/Berlin")
FIRST, DAYS = datetime(2026, 2, 27, tzinfo=UTC), 60
NEVER = datetime.max.replace(tzinfo=UTC)
SLACK = timedelta(seconds=15)  # what a start may be behind the claim that it is due to
UNTOLD = timedelta(seconds=45)  # an end so shortly before a crash may not have been stored
SOON = timedelta(seconds=75)  # a lease, the next look at the dead, and a few answers that were lost
MINUTE, SECOND = timedelta(minutes=1), timedelta(seconds=1)


@cache
def minutes(cron: str) -> list[datetime]:
    """All minutes that a rule matches."""
    start = [FIRST + number * MINUTE for number in range(DAYS * 24 * 60)]
    fields = [_numbers(text) for text in cron.split()]
    return [at for at in start if _matches(fields, at.astimezone(ZONE))]


def _numbers(text: str) -> set[int] | None:
    if text == "*":
        return None
    spans = [part.split("-") for part in text.split(",")]
    return {number for span in spans for number in range(int(span[0]), int(span[-1]) + 1)}


def _matches(fields: list[set[int] | None], at: datetime) -> bool:
    minute, hour, day, month, weekday = fields
    days = [(day, at.day), (weekday, at.isoweekday() % 7)]
    restricted = [value in wanted for wanted, value in days if wanted is not None]
    plain = [(minute, at.minute), (hour, at.hour), (month, at.month)]
    return all(wanted is None or value in wanted for wanted, value in plain) and (
        not restricted or any(restricted)
    )


def next_minute(cron: str, after: datetime) -> datetime:
    """The first that comes after an instant."""
    found = minutes(cron)
    place = bisect_right(found, after)
    return found[place] if place < len(found) else NEVER


@dataclass
class Task:
    """What is known of one id."""

    spec: Spec
    served: datetime  # at least so far: what has come since may be owed
    served_most: datetime  # at most so far: what has come since is owed
    since: datetime  # when it was registered, or its callback last ended
    has_run: bool = False
    is_running: bool = False
    retry_at: datetime | None = None
    may_be_orphan: bool = False  # a crash or a lost lease may have cut it short ...
    must_be: bool = False  # ... and has
    ended_at: datetime | None = None
    ended_well: bool = False
    allowed: int = 0  # starts that a rule it no longer has may still owe
    is_unsure: bool = False  # an `initialize` failed that may have done its work

    def owed_from(self) -> datetime:
        """When its earliest obligation arose; NEVER if it has none."""
        due = next_minute(self.spec.cron, self.served_most)
        reasons = [due, self.retry_at or NEVER, self.since if self.must_be else NEVER]
        return max(self.since, min(reasons))


class Judge:
    """Walks through a life."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._tasks: dict[str, Task] = {}
        self._active_since: datetime | None = None
        self._stopping_at: datetime | None = None
        self._initializing: dict[str, Spec] | None = None
        self._died_at = FIRST  # since then, a lease without a scheduler may have gone on
        self._ghosts: set[str] = set()  # what was left to one that seemed to live
        self.violations: list[str] = []

    def judge(self) -> list[str]:
        for entry in self._life.entries:
            getattr(self, f"_{entry.what}")(entry)
        return self.violations

    def _blame(self, entry: Entry, sentence: str) -> None:
        self.violations.append(f"seed {self._life.seed}: {entry.at:%d %H:%M:%S.%f} {entry.task}: {sentence}")

    # -- the scheduler ---------------------------------------------------------------------------------

    def _init_start(self, entry: Entry) -> None:
        self._initializing = dict(entry.specs or {})

    def _init_failure(self, entry: Entry) -> None:
        """It may have been written before the answer was lost."""
        wanted, self._initializing = self._initializing or {}, None
        for name in wanted.keys() | self._tasks.keys():
            task = self._tasks.setdefault(name, _new(wanted.get(name) or Spec("", SECOND), entry.at))
            if wanted.get(name) != task.spec or name not in wanted:
                task.is_unsure = True

    def _init_success(self, entry: Entry) -> None:
        self._initializing = None
        specs = dict(entry.specs or {})
        if entry.at - self._died_at > UNTOLD:
            self._ghosts &= specs.keys()
        self._drop(self._tasks.keys() - specs.keys(), entry.at)
        for name, spec in specs.items():
            task = self._tasks.get(name)
            if task is None:  # it owes the present minute, and what comes
                task = self._tasks[name] = _new(spec, entry.at)
                task.is_unsure = name in self._ghosts
                task.allowed = next_minute(spec.cron, task.served) <= entry.at  # if it dies before that
                self._ghosts.discard(name)
            else:
                self._override(task, spec, entry.at)
        self._active_since, self._stopping_at = entry.at, None

    def _drop(self, names: set[str], at: datetime) -> None:
        """Not what a living scheduler declares; and one whose lease goes on seems to live."""
        if at - self._died_at < UNTOLD:
            self._ghosts |= names
        for name in names:
            del self._tasks[name]

    def _lay_ghosts(self, at: datetime) -> None:
        """A scheduler that was there for long enough has dropped what nobody has."""
        since = self._active_since
        if since is not None and self._tasks and at - since > 2 * SOON and not self._was_cut_off(since, at):
            self._ghosts.clear()

    def _override(self, task: Task, spec: Spec, at: datetime) -> None:
        if spec.cron != task.spec.cron:
            task.allowed += next_minute(task.spec.cron, task.served) <= at if task.spec.cron else 1
            if task.has_run and next_minute(spec.cron, task.served_most) > at:
                task.served_most = at
        if not task.has_run:  # what is over is not owed; the present minute is
            task.served = max(task.served, _before_minute(at))
            task.served_most = max(task.served_most, _before_minute(at))
        task.spec, task.since = spec, max(task.since, at)

    def _stop_start(self, entry: Entry) -> None:
        self._demand(entry)
        self._lay_ghosts(entry.at)
        self._stopping_at, self._active_since = entry.at, None

    def _stop_end(self, entry: Entry) -> None:
        for name, task in self._tasks.items():
            if task.is_running:
                self._blame(entry, f"S3: {name} runs when stop returns")
            task.may_be_orphan = task.may_be_orphan or self._may_be_untold(task, entry.at)
        self._stopping_at, self._died_at = None, entry.at

    def _crash(self, entry: Entry) -> None:
        self._demand(entry)
        self._lay_ghosts(entry.at)
        self._died_at = entry.at
        if self._initializing is not None:
            self._init_failure(entry)
        for task in self._tasks.values():
            task.must_be = task.must_be or task.is_running
            task.may_be_orphan = task.must_be or task.may_be_orphan or self._may_be_untold(task, entry.at)
            task.is_running = False
        self._active_since = self._stopping_at = None

    def _end(self, entry: Entry) -> None:
        pass

    # -- its tasks -------------------------------------------------------------------------------------

    def _run_start(self, entry: Entry) -> None:
        task = self._tasks.get(entry.task)
        is_late_stop = self._stopping_at is not None and entry.at - self._stopping_at <= SLACK
        if task is None or (self._active_since is None and not is_late_stop):
            self._blame(entry, "S1: it starts, and nobody has registered it, or the scheduler is not running")
            return
        if task.is_running:
            self._blame(entry, "S1: it starts beside itself")
        self._demand(entry, entry.task)
        self._take(entry, task)
        task.is_running, task.has_run, task.retry_at = True, True, None
        task.may_be_orphan = task.must_be = task.is_unsure = False

    def _take(self, entry: Entry, task: Task) -> None:
        """What the start is due to; what is served by it at least."""
        at, served = entry.at, []
        due = next_minute(task.spec.cron, task.served) if task.spec.cron else NEVER
        if due <= at and (task.has_run or self._is_present(task, at)):
            served.append(max(due, at - SLACK))
        if (task.retry_at and task.retry_at <= at) or task.may_be_orphan or task.is_unsure:
            served.append(max(task.served, at - SLACK))
        if not served and task.allowed:
            task.allowed -= 1
            served.append(max(task.served, at - SLACK))
        if not served:
            self._blame(entry, f"S1: a start without an obligation, served until {task.served:%d %H:%M:%S}")
            if task.ended_well:
                self._blame(entry, "S2: two successful starts between two occurrences")
        task.served, task.served_most = min(served, default=at), at

    def _is_present(self, task: Task, at: datetime) -> bool:
        """Whether a minute that is not over, but for the time that a claim takes, matches."""
        return next_minute(task.spec.cron, max(task.served, at - MINUTE - SLACK)) <= at

    def _success(self, entry: Entry) -> None:
        self._ended(entry, is_well=True)

    def _failure(self, entry: Entry) -> None:
        task = self._ended(entry, is_well=False)
        if task is not None:
            task.retry_at = entry.at + max(task.spec.delay, SECOND) - SECOND / 2

    def _cut(self, entry: Entry) -> None:
        """Its scheduler has lost its lease, and starts it anew."""
        task = self._ended(entry, is_well=False)
        if task is not None:
            task.may_be_orphan = task.must_be = True

    def _ended(self, entry: Entry, *, is_well: bool) -> Task | None:
        task = self._tasks.get(entry.task)
        if task is None:
            return None
        task.is_running, task.ended_at, task.since, task.ended_well = False, entry.at, entry.at, is_well
        task.may_be_orphan = task.may_be_orphan or self._was_cut_off(entry.at - 2 * MINUTE, entry.at)
        return task

    # -- what is owed ----------------------------------------------------------------------------------

    def _demand(self, entry: Entry, name: str | None = None) -> None:
        """L1: whoever is owed a start has not waited for too long."""
        active = self._active_since
        if active is None:
            return
        for id_, task in self._tasks.items():
            if name not in (None, id_) or task.is_running or task.is_unsure:
                continue
            owed = max(active, task.owed_from())
            if entry.at - owed > SOON and not self._is_excused(task, owed, entry.at):
                self._blame(entry, f"L1: {id_} is owed a start since {owed:%d %H:%M:%S}")

    def _is_excused(self, task: Task, owed: datetime, at: datetime) -> bool:
        if self._was_cut_off(owed - SOON, at):
            return True  # counted again from the next entry on, when the outage is long over
        if task.has_run or task.must_be or task.retry_at:
            return False
        due = next_minute(
            task.spec.cron, task.served_most
        )  # of a task that never ran: only while it is present
        return due < max(task.since, self._active_since or task.since) - MINUTE + SLACK or self._is_at_edge(
            due
        )

    def _is_at_edge(self, due: datetime) -> bool:
        """Registered so near to the end of a minute that it may have been over."""
        active = self._active_since
        return active is not None and due <= active and active - due > MINUTE - SLACK

    def _was_cut_off(self, begin: datetime, end: datetime) -> bool:
        return any(a <= end and begin <= b for a, b in self._life.outages)

    def _may_be_untold(self, task: Task, at: datetime) -> bool:
        return task.ended_at is not None and (
            at - task.ended_at < UNTOLD or self._was_cut_off(task.ended_at, at)
        )


def _new(spec: Spec, at: datetime) -> Task:
    return Task(spec, _before_minute(at), _before_minute(at), at)


def _before_minute(at: datetime) -> datetime:
    return at.replace(second=0, microsecond=0) - SECOND


def judge(life: Life) -> list[str]:
    """What is wrong with a life, in words."""
    return Judge(life).judge()
