"""Many events at once. Those of a herd are made when they are read: mostly they are only counted."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import chain
from typing import overload

from foliot.model.alike import AlikeNew
from foliot.model.attempt import Attempt, AttemptState, Ending
from foliot.model.decision import Event, Happening
from foliot.model.run import Run

_new = tuple.__new__  # with all fields in their order, in half the time that a call of the class takes
_STARTED, _ENDED = Happening.STARTED, Happening.ENDED


class _Made(Sequence[Event]):
    """Events that are made when they are read."""

    @abstractmethod
    def _make(self, place: int) -> Event:
        """One of them."""

    @overload
    def __getitem__(self, place: int) -> Event: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Event]: ...
    def __getitem__(self, place: int | slice) -> Event | Sequence[Event]:
        if isinstance(place, slice):
            return [self._make(n) for n in range(*place.indices(len(self)))]
        return self._make(range(len(self))[place])

    def __iter__(self) -> Iterator[Event]:
        return map(self._make, range(len(self)))


class HerdStarted(_Made):
    """Runs of one occurrence that were started together, in time."""

    def __init__(self, runs: Sequence[Run], scheduled_for: datetime, at: datetime) -> None:
        self.runs = runs
        self.scheduled_for = scheduled_for
        self.at = at

    def __len__(self) -> int:
        return len(self.runs)

    def _make(self, place: int) -> Event:
        run = self.runs[place]
        attempt = run.attempt
        return _new(Event, (_STARTED, attempt.job, self.at, attempt.reason, *run.key, attempt, None, None))


class HerdEnded(_Made):
    """Runs that have succeeded, with nothing else to tell of them; with the reports of their ends."""

    def __init__(self, runs: Sequence[Run], endings: Sequence[Ending], at: datetime) -> None:
        self.runs = runs
        self.endings = endings
        self.at = at

    def __len__(self) -> int:
        return len(self.runs)

    def _make(self, place: int) -> Event:
        job, key, number, _, outcome, started_at, finished_at, _, exit_code, *_ = self.endings[place]
        begun = self.runs[place].attempt
        attempt = _new(Attempt, (
            *begun[:3], AttemptState.ENDED, *begun[4:12], started_at, finished_at, outcome, *begun[15:19],
            exit_code, *begun[20:],
        ))  # fmt: skip
        return _new(Event, (_ENDED, job, self.at, outcome, key, number, attempt, None, None))


class HerdDeclared(_Made):
    """Jobs that are new, each with the decision that it shares with others."""

    def __init__(self, jobs: Sequence[tuple[str, AlikeNew]]) -> None:
        self.jobs = jobs

    def __len__(self) -> int:
        return len(self.jobs)

    def _make(self, place: int) -> Event:
        job, alike = self.jobs[place]
        return alike.event(job)


HERD = (HerdStarted, HerdEnded)
HERDS = (*HERD, HerdDeclared)  # in none of these is a cancel


class Events(_Made):
    """Several batches, one after the other."""

    def __init__(self, *parts: Sequence[Event]) -> None:
        self.parts = tuple(part for part in parts if part)

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def _make(self, place: int) -> Event:
        for part in self.parts:
            if place < len(part):
                return part[place]
            place -= len(part)
        raise IndexError(place)

    def __iter__(self) -> Iterator[Event]:
        return chain.from_iterable(self.parts)


def joined(*parts: Sequence[Event]) -> Sequence[Event]:
    """Batches, one after the other; a plain tuple if no herd is among them."""
    if any(isinstance(part, HERDS) and part for part in parts):
        return Events(*parts)
    return tuple(chain.from_iterable(parts))


def parts_of(events: Sequence[Event]) -> tuple[Sequence[Event], ...]:
    """The batches that events consist of."""
    return events.parts if isinstance(events, Events) else (events,)
