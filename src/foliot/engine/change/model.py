"""What a plan says: values, and no decision. `plan_change` makes them; doors show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from foliot.model.job import Job
from foliot.model.state import Record, Skip


class Code(StrEnum):
    """What follows from a change. The list is closed: programs rely on these words."""

    ADDED = "added"
    REMOVED = "removed"
    MOVED = "moved"
    DENSER = "denser"
    SPARSER = "sparser"
    SWITCHED_ON = "switched-on"
    SWITCHED_OFF = "switched-off"
    NO_LONGER_RUNS = "no-longer-runs"
    TWICE_A_DAY = "twice-a-day"
    DAY_WITHOUT_RUN = "day-without-run"
    LONGEST_GAP = "longest-gap"
    CATCH_UP_NOW = "catch-up-now"
    SKIPS = "skips"
    DROPS_PENDING = "drops-pending"
    RETRY_CHANGES = "retry-changes"
    OPEN_UNCHANGED = "open-unchanged"
    PAUSED_NO_EFFECT = "paused-no-effect"
    TIMEOUT_SHORT = "timeout-short"
    OVERLAP_LIKELY = "overlap-likely"
    HERD = "herd"
    ZONE_CHANGED = "zone-changed"
    DST_GAP = "dst-gap"
    DST_FOLD = "dst-fold"
    RENAMED = "renamed"
    COMMAND_CHANGED = "command-changed"
    ENV_CHANGED = "env-changed"
    POLICY_CHANGED = "policy-changed"
    FILES_ONLY = "files-only"
    ZONE_GUESSED = "zone-guessed"
    UNSERVED = "unserved"
    TRUNCATED = "truncated"


class Severity(StrEnum):
    """A warning is about what surprises; a note tells what one may want to know."""

    NOTE = "note"
    WARNING = "warning"


class PlanEffect(NamedTuple):
    """One thing that follows from a change, in a sentence; `at` is the instant that it is about."""

    code: Code
    severity: Severity
    text: str
    at: datetime | None = None


def note(code: Code, text: str, at: datetime | None = None) -> PlanEffect:
    """What one may want to know."""
    return PlanEffect(code, Severity.NOTE, text, at)


def warning(code: Code, text: str, at: datetime | None = None) -> PlanEffect:
    """What surprises most people."""
    return PlanEffect(code, Severity.WARNING, text, at)


class Kind(StrEnum):
    """What becomes of a job."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"
    RENAMED = "renamed"


class FieldChange(NamedTuple):
    """A field of a definition, before and after, as a text; None: it is not said."""

    field: str
    before: str | None
    after: str | None


class Moved(NamedTuple):
    """A run that comes at another time."""

    before: datetime
    after: datetime

    @property
    def shift(self) -> timedelta:
        """How much later it comes; negative: earlier."""
        return self.after - self.before


class RunChange(NamedTuple):
    """The runs of a job up to the end of the plan.

    `shift`: all that move do so by as much. `compared_until`: runs after it are counted, but not compared;
    None: all are compared.
    """

    before: int = 0
    after: int = 0
    kept: int = 0
    added: int = 0
    removed: int = 0
    moved: int = 0
    shift: timedelta | None = None
    compared_until: datetime | None = None


class Difference(NamedTuple):
    """The first place in the order of runs at which the two sides differ; None: that side has no more."""

    before: datetime | None
    after: datetime | None


class JobChange(NamedTuple):
    """What becomes of one job. `name` is the new one, and `old_name` is there if it is another.

    `sample` are the first runs that differ. `findings` and `resolved` are what `foliot check` would newly
    say of its schedule, and no longer.
    """

    name: str
    kind: Kind
    fields: tuple[FieldChange, ...] = ()
    runs: RunChange = RunChange()
    first_difference: Difference | None = None
    sample: tuple[Difference, ...] = ()
    effects: tuple[PlanEffect, ...] = ()
    findings: tuple[str, ...] = ()
    resolved: tuple[str, ...] = ()
    next_at: datetime | None = None
    zone: str = "UTC"
    old_name: str | None = None

    @property
    def removes(self) -> bool:
        """Whether a job of that name is gone afterwards."""
        return self.kind in (Kind.REMOVED, Kind.RENAMED)


class SwitchStart(NamedTuple):
    """A run that starts as soon as the change is there, and why."""

    run: str
    number: int
    reason: str


class Switch(NamedTuple):
    """What happens at the moment of the change.

    `starts` are runs that start at once, `skips` occurrences that are recorded as skipped, `drops` runs that
    wait and never start, `keeps` runs that are open before and after.
    """

    starts: tuple[SwitchStart, ...] = ()
    skips: tuple[Skip, ...] = ()
    drops: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()


def joined(switches: Iterable[Switch]) -> Switch:
    """What happens to all of several jobs."""
    every = list(switches)
    return Switch(
        tuple(one for switch in every for one in switch.starts),
        tuple(one for switch in every for one in switch.skips),
        tuple(one for switch in every for one in switch.drops),
        tuple(one for switch in every for one in switch.keeps),
    )


class BusyMinute(NamedTuple):
    """How many runs start in a minute, before and after."""

    at: datetime
    before: int
    after: int


class HerdChange(NamedTuple):
    """The busiest minutes of the source's jobs; `top` has the busiest of either side, the busiest first.

    `slots`: how many runs the living nodes start at once; None: that is not known.
    """

    before: int = 0
    after: int = 0
    top: tuple[BusyMinute, ...] = ()
    slots: int | None = None
    until: datetime | None = None


class ChangePlan(NamedTuple):
    """What a change of a source would do. `base` and `head` say what was compared, for people."""

    source: str
    at: datetime
    until: datetime
    jobs: tuple[JobChange, ...] = ()
    unchanged: int = 0
    switch: Switch = Switch()
    herd: HerdChange = HerdChange()
    effects: tuple[PlanEffect, ...] = ()  # of no single job
    base: str = ""
    head: str = ""
    zone: str = "UTC"  # that most of its jobs go by

    @property
    def counts(self) -> Counter[Kind]:
        """How many jobs are added, changed, removed and renamed."""
        return Counter(change.kind for change in self.jobs)

    @property
    def warnings(self) -> tuple[tuple[str | None, PlanEffect], ...]:
        """All that surprises, each with its job; None: it is about no single job."""
        found: list[tuple[str | None, PlanEffect]] = [(None, effect) for effect in self.effects]
        found += [(change.name, effect) for change in self.jobs for effect in change.effects]
        return tuple(pair for pair in found if pair[1].severity is Severity.WARNING)

    @property
    def is_truncated(self) -> bool:
        """Whether not all could be compared."""
        every = (*self.effects, *(effect for change in self.jobs for effect in change.effects))
        return any(effect.code is Code.TRUNCATED for effect in every)


class Known(NamedTuple):
    """What is known beside the records.

    `durations`: how long the last successful runs of a job took, by its key. `slots`: how many runs of a
    queue the living nodes start at once; None: not known. `is_served`: whether a living node can start a job;
    None: not known. `prepare` makes of a record what it will be at the time of the change: see `base`.
    """

    durations: Mapping[str, Sequence[timedelta]] = {}
    slots: Mapping[str, int] | None = None
    is_served: Callable[[Job], bool] | None = None
    prepare: Callable[[Record], Record] = lambda record: record


NOTHING_KNOWN = Known()
