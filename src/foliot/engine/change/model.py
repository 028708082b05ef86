"""The values of a plan. `plan_change` makes them, and doors show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from foliot.model.job import Job
from foliot.model.state import Record, Skip


class Code(StrEnum):
    """The code of an effect. The list is closed: programs rely on these words."""

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
    """A warning would surprise most people; a note is only information."""

    NOTE = "note"
    WARNING = "warning"


class PlanEffect(NamedTuple):
    """One effect of a change, as a sentence. `at`: the instant that it is about."""

    code: Code
    severity: Severity
    text: str
    at: datetime | None = None


def note(code: Code, text: str, at: datetime | None = None) -> PlanEffect:
    """An effect that is only information."""
    return PlanEffect(code, Severity.NOTE, text, at)


def warning(code: Code, text: str, at: datetime | None = None) -> PlanEffect:
    """An effect that would surprise most people."""
    return PlanEffect(code, Severity.WARNING, text, at)


class Kind(StrEnum):
    """How a job changes."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"
    RENAMED = "renamed"


class FieldChange(NamedTuple):
    """A field of a definition, before and after, as a text; None if the field is not set."""

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

    `shift`: all moved runs move by this duration. `compared_until`: later runs are counted, but not compared;
    None: all runs are compared.
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
    """The first run that differs between the two sides. None: that side has no more runs."""

    before: datetime | None
    after: datetime | None


class JobChange(NamedTuple):
    """The change of one job. `name` is its new name; `old_name` is set if the name has changed.

    `sample`: the first runs that differ. `findings`: new findings of `foliot check` about the schedule;
    `resolved`: findings that are gone.
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
        """Whether the old name is gone afterwards."""
        return self.kind in (Kind.REMOVED, Kind.RENAMED)


class SwitchStart(NamedTuple):
    """A run that starts at once after the change, and why."""

    run: str
    number: int
    reason: str


class Switch(NamedTuple):
    """What happens when the change is made.

    `starts`: runs that start at once. `skips`: occurrences that are recorded as skipped. `drops`: waiting
    runs that never start. `keeps`: runs that stay open.
    """

    starts: tuple[SwitchStart, ...] = ()
    skips: tuple[Skip, ...] = ()
    drops: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()


def joined(switches: Iterable[Switch]) -> Switch:
    """The sum of the switches of several jobs."""
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

    `slots`: how many runs the living nodes can start at once; None if that is not known.
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
    effects: tuple[PlanEffect, ...] = ()  # effects that concern no single job
    base: str = ""
    head: str = ""
    zone: str = "UTC"  # the zone of most of its jobs

    @property
    def counts(self) -> Counter[Kind]:
        """How many jobs are added, changed, removed and renamed."""
        return Counter(change.kind for change in self.jobs)

    @property
    def warnings(self) -> tuple[tuple[str | None, PlanEffect], ...]:
        """All warnings, each with its job; None if it concerns no single job."""
        found: list[tuple[str | None, PlanEffect]] = [(None, effect) for effect in self.effects]
        found += [(change.name, effect) for change in self.jobs for effect in change.effects]
        return tuple(pair for pair in found if pair[1].severity is Severity.WARNING)

    @property
    def is_truncated(self) -> bool:
        """Whether a part could not be compared."""
        every = (*self.effects, *(effect for change in self.jobs for effect in change.effects))
        return any(effect.code is Code.TRUNCATED for effect in every)


class Known(NamedTuple):
    """Facts for a plan, beside the records.

    `durations`: how long the last successful runs of a job took, by its key. `slots`: how many runs of a
    queue the living nodes start at once; None: not known. `is_served`: whether a living node can start a job;
    None: not known. `prepare` turns a record into the record at the time of the change: see `base`.
    """

    durations: Mapping[str, Sequence[timedelta]] = {}
    slots: Mapping[str, int] | None = None
    is_served: Callable[[Job], bool] | None = None
    prepare: Callable[[Record], Record] = lambda record: record


NOTHING_KNOWN = Known()
