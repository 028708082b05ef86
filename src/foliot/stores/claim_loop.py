"""The loop of a claim, the same for every store: which jobs it looks at, in which order, and when it ends.

    store: due jobs, page by page ──▶ loop: a look at each, the planner decides ──▶ store: writes the page
                 ▲                                                                        │
                 └────────────── jobs that another writer has changed, again ◀────────────┘

- Queues take turns at being first, and each starts as many runs as it has free slots.
- One job gets half of the slots at first, so that other jobs get some; in the end it gets the rest.
- A job of a full group starts nothing. The planner is still asked (with `most` = 0), because it may write
  something else, such as a skip.
- A job without anything to write is passed over. After many of those the next claim begins behind them
  (`claim_cursor`).
- A claim ends after a number of looks, starts or milliseconds; `more` says that work is left.

A store that locks its jobs writes every decision. A store that compares before it writes reports the jobs
that another writer has changed: those decisions are dropped, and the jobs are looked at again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from foliot.model.attempt import Attempt
from foliot.model.damage import Damage
from foliot.model.decision import Decision, Event, Happening, set_aside
from foliot.model.events import joined
from foliot.model.run import Run
from foliot.model.state import Record
from foliot.protocols import Claimed, Clock, DecideDue
from foliot.stores.claim_cursor import ClaimCursor
from foliot.stores.group_places import GroupPlaces
from foliot.stores.matching import decide_once, started_by

MOST_LOOKS = 2000
MOST_STARTS = 4000
LONGEST = 0.25  # seconds: other calls wait for a claim, and one that takes too long is rolled back
_AT_ONCE = 500  # if many jobs are passed over
_MOST_TOLD = 1000


class DueJob(Protocol):
    """A due job within one claim. `record` is None if it cannot be read or is gone."""

    @property
    def key(self) -> str: ...
    @property
    def record(self) -> Record | None: ...
    @property
    def damage(self) -> Damage | None: ...
    @property
    def is_unknown_here(self) -> bool:
        """Whether only this node does not understand the definition."""
        ...

    @property
    def place(self) -> Any: ...


J = TypeVar("J", bound=DueJob)


class Page(Generic[J]):
    """Due jobs in order. A store that starts herds has its own class of pages."""

    def __init__(self, jobs: Sequence[J]) -> None:
        self._jobs = jobs

    def __len__(self) -> int:
        return len(self._jobs)

    def key(self, number: int) -> str:
        """The key of a job of the page."""
        return self._jobs[number].key

    def job(self, number: int) -> J:
        """A job of the page, to look at."""
        return self._jobs[number]

    def place(self, number: int) -> Any:
        """The position of a job in the order of due jobs, when it was found."""
        return self._jobs[number].place

    def start_alike(self, first: int, most: int) -> Sequence[Run]:  # noqa: ARG002 - see above
        """Start the next jobs without a look at each, as long as they belong to herds."""
        return ()


class DueJobs(ABC, Generic[J]):
    """What a store provides for a claim. Optional methods have a default here."""

    @abstractmethod
    def due(self, queue: str, count: int, after: Any | None) -> Page[J]:
        """The jobs of a queue and of the node's kinds that have been due for longest, after a position."""

    @abstractmethod
    def sign(self, queue: str) -> Hashable:
        """Claims with the same sign may continue where the last one ended."""

    @abstractmethod
    def has_run(self, job: J, attempt: Attempt) -> bool:
        """Whether there is an attempt of that name already."""

    @abstractmethod
    def decide(self, job: J, ask: Callable[[Record], Decision]) -> Decision | None:
        """Ask the planner about a record, and note the decision. None: the job was set aside."""

    def write(self) -> Collection[str]:
        """Write the decisions since the last call.

        Returns the keys of jobs that another writer has changed.
        """
        return ()

    def may_have_run(self, job: J) -> bool:  # noqa: ARG002 - see above
        """Whether an attempt that starts now may exist already, for example after the clock was set back."""
        return True

    def alike_events(self) -> Sequence[Sequence[Event]]:
        """The events of runs that were started as herds."""
        return ()

    def wait_for_others(self) -> bool:
        """Whether other claims hold due jobs. If so, this waits for a short time."""
        return False


@dataclass
class _Looked(Generic[J]):
    """Counts of a page: jobs that were looked at or started as herds, and jobs that were passed over.

    `jobs` were looked at one by one. `is_whole`: all decisions are written.
    """

    count: int = 0
    passed: int = 0
    jobs: list[J] = field(default_factory=list)
    is_whole: bool = True


class ClaimLoop(Generic[J]):
    """One claim. `told`: keys of passed-over jobs that claims have already reported."""

    def __init__(  # noqa: PLR0913 - what it works with
        self,
        jobs: DueJobs[J],
        cursor: ClaimCursor,
        clock: Clock,
        *,
        node: str,
        now: datetime,
        decide: DecideDue,
        told: set[str],
        groups: GroupPlaces,
    ) -> None:
        self._jobs = jobs
        self._groups = groups
        self._cursor = cursor
        self._clock = clock
        self._until = clock.monotonic() + LONGEST
        self._node, self._now, self._decide, self._told = node, now, decide, told
        self._started: list[Run] = []
        self._events: list[Event] = []
        self._passed: set[str] = set()
        self._looks = 0
        self._is_late = False
        self._share = 2  # the part of the slots that one job gets at first

    def claim(self, room: Mapping[str, int], turn: int) -> Claimed:
        """Start due jobs of each queue, as far as there are free slots."""
        queues = [queue for queue, free in room.items() if free > 0]
        first = turn % len(queues) if queues else 0
        # Each claim begins with another queue, so that a slow one does not starve the others.
        asked = {queue: room[queue] for queue in queues[first:] + queues[:first]}
        self._claim_from_all(asked)
        is_idle = bool(asked) and not self._looks and not self._passed
        if is_idle and self._jobs.wait_for_others():  # others may leave some of their jobs
            self._claim_from_all(asked)
        events = joined(self._events, *self._jobs.alike_events())
        return Claimed(tuple(self._started), events, self._is_enough, self._groups.has_refused)

    @property
    def _is_enough(self) -> bool:
        """Whether to leave the rest to the next claim."""
        return self._is_late or self._looks >= MOST_LOOKS or len(self._started) >= MOST_STARTS

    def _claim_from_all(self, room: Mapping[str, int]) -> None:
        for queue, free in room.items():
            self._claim_from(queue, min(len(self._started) + free, MOST_STARTS))

    def _claim_from(self, queue: str, most: int) -> None:
        """Look at the longest due jobs, until there is no free slot or no due job."""
        claims, passed, self._share = self._jobs.sign(queue), 0, 2
        begun = after = self._cursor.start(claims)
        while (room := most - len(self._started)) > 0 and passed < MOST_LOOKS and not self._is_enough:
            count = min(max(room, _AT_ONCE) if passed else room, MOST_LOOKS - self._looks)
            page = self._jobs.due(queue, count, after)
            looked = self._look_at_page(page, most)
            if not looked.count:
                return
            if not looked.is_whole:
                continue  # some have changed: read them again
            passed += looked.passed
            if len(page) == count:
                place = page.place(looked.count - 1)
                self._cursor.end(claims, place, looked.count, looked.passed)
                after = place if looked.passed else after
            elif begun is not None:
                self._cursor.forget(claims)
                begun = after = None  # begin at the front
            elif any(map(self._is_due_again, looked.jobs)):
                after, self._share = None, 1  # every other due job was looked at
            else:
                return  # that was all: no further claim is needed

    def _look_at_page(self, page: Page[J], most: int) -> _Looked[J]:
        """Look at jobs until there is no free slot, and write the decisions."""
        runs, events = len(self._started), len(self._events)
        looked = self._look_at(page, most)
        refused = self._jobs.write()
        if refused:
            self._started[runs:] = [r for r in self._started[runs:] if r.attempt.job not in refused]
            self._events[events:] = [e for e in self._events[events:] if e.job not in refused]
        self._is_late = self._looks > 0 and self._clock.monotonic() >= self._until
        looked.is_whole = not refused
        return looked

    def _look_at(self, page: Page[J], most: int) -> _Looked[J]:
        looked = _Looked[J]()
        while looked.count < len(page) and (room := most - len(self._started)) > 0 and not self._is_enough:
            if runs := page.start_alike(looked.count, room):
                self._started += runs
                self._looks += len(runs)
                looked.count += len(runs)
                continue
            key = page.key(looked.count)
            if key not in self._passed:
                job = page.job(looked.count)
                looked.jobs.append(job)
                self._look(job, room)
            looked.passed += key in self._passed
            looked.count += 1
        return looked

    def _look(self, job: J, room: int) -> None:
        if job.is_unknown_here:
            self._pass_over(job)
            return
        record = job.record
        decision = self._jobs.decide(job, partial(self._ask, job, self._most(record, room)))
        if record is not None and decision is not None and decision.is_nothing(record):
            self._passed.add(job.key)
            return
        self._looks += 1
        self._is_late = self._clock.monotonic() >= self._until
        if decision is None or record is None:
            self._events.append(set_aside(job.key, self._now, job.damage))
            return
        self._events += decision.events
        started = started_by(decision, record)
        self._groups.take(record.job.group, len(started))
        self._started += (Run(record.job, attempt) for attempt in started)

    def _most(self, record: Record | None, room: int) -> int:
        """How many attempts of a job may start: its part of the slots, limited by its group."""
        most, group = max(1, room // self._share), None if record is None else record.job.group
        return most if group is None else min(most, self._groups.free(group))

    def _ask(self, job: J, most: int, record: Record) -> Decision:
        if not self._jobs.may_have_run(job):
            return self._decide(record, self._now, self._node, most)
        has_run = partial(self._jobs.has_run, job)
        return decide_once(self._decide, has_run, self._now, self._node, most, record)

    def _pass_over(self, job: J) -> None:
        """This node does not understand the definition. Report that once."""
        self._passed.add(job.key)
        if job.key not in self._told and len(self._told) < _MOST_TOLD:
            self._told.add(job.key)
            self._events.append(Event(Happening.PASSED_OVER, job.key, self._now, str(job.damage)))

    def _is_due_again(self, job: J) -> bool:
        """Whether to look at a job again after a decision."""
        wake_at = job.record.state.wake_at if job.record is not None and job.damage is None else None
        return wake_at is not None and wake_at <= self._now and job.key not in self._passed
