"""What a run of several nodes left behind: the logs that the checker judges by, as frozen values.

    definitions   Change      what people and sources asked for, and whether it took effect
    ledger        Attempt, Skip, Forgotten      what the store says at the end (`foliot.model`)
    witness       Witness     what the jobs themselves saw: each start, each end
    faults        Fault, Host, Identity      what was done to the nodes, the store and the clocks
    answers       Finish      what the store answered to reports of endings; may be left out
    alerts        Told, ChannelAlert      what channels were given; what the store says of it at the end

Instants are true times: those of the harness, not of a node. Only the ledger tells the store's time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import NamedTuple

from foliot.engine.settings import RECOVER
from foliot.model.alert import AlertKind
from foliot.model.attempt import Attempt
from foliot.model.job import Job
from foliot.model.outbox import ChannelAlert
from foliot.model.policy import Policy
from foliot.model.state import Skip
from foliot.schedules import Cron, Every, Once, Schedule
from foliot_proof.history.oracle import Rule

_NOTHING = timedelta(0)


class Definition(NamedTuple):
    """What the checker must know of a job's definition."""

    rule: Rule
    policy: Policy = Policy()
    enabled: bool = True
    repeat_until: datetime | None = None
    auto_remove: bool = False
    queue: str = "default"
    offset: timedelta = _NOTHING  # so long after its occurrences it starts, by its splay


def define(job: Job) -> Definition:
    """The definition of a job, with its rule as text: the checker computes occurrences by itself."""
    return Definition(
        _rule(job.schedule),
        job.policy,
        job.enabled,
        job.repeat_until,
        job.auto_remove,
        job.queue,
        _offset(job),
    )


def _offset(job: Job) -> timedelta:
    """By its splay: the first eight bytes of the SHA-256 of its key, modulo the splay, in whole seconds."""
    splay = job.policy.splay
    if splay is None:
        return _NOTHING
    return timedelta(seconds=int(sha256(job.key.encode()).hexdigest()[:16], 16) % int(splay.total_seconds()))


def _rule(schedule: Schedule) -> Rule:
    match schedule:
        case Every():
            return _grid(schedule.duration)
        case Once():
            return Rule(f"@once {schedule.at.astimezone(UTC).isoformat()}")
        case Cron(every=timedelta() as step):
            return _grid(step)
        case Cron():
            return Rule(schedule.expression, schedule.timezone, schedule.dialect)
    raise TypeError(f"the checker has no oracle for {schedule!r}")


def _grid(step: timedelta) -> Rule:
    return Rule(f"@every {step // timedelta(seconds=1)}s")


class Operation(StrEnum):
    """What may be asked for."""

    DECLARE = "declare"
    REMOVE = "remove"
    PAUSE = "pause"
    RESUME = "resume"
    RUN_NOW = "run_now"
    CANCEL = "cancel"
    BACKFILL = "backfill"


class Verdict(StrEnum):
    """Whether it took effect, as far as who asked could tell."""

    APPLIED = "applied"
    REFUSED = "refused"
    UNKNOWN = "unknown"  # the answer was lost


class Change(NamedTuple):
    """One request about one job. It took effect, if it did, between the question and the answer.

    `subject` is the request of RUN_NOW and the run key of CANCEL; `first` and `last` are BACKFILL's.
    `answered_at` of a lost answer is the last moment at which it can have taken effect.
    """

    what: Operation
    job: str
    asked_at: datetime
    answered_at: datetime | None = None  # None: at once
    verdict: Verdict = Verdict.APPLIED
    definition: Definition | None = None
    subject: str | None = None
    first: datetime | None = None
    last: datetime | None = None

    @property
    def until(self) -> datetime:
        """The last moment at which it can have taken effect."""
        return self.answered_at or self.asked_at


class Forgotten(NamedTuple):
    """The store may have dropped a job's history up to here: pruned, or removed with its job."""

    job: str
    until: datetime


class Mark(StrEnum):
    """What a job writes down."""

    START = "start"
    END = "end"


class Witness(NamedTuple):
    """One line that a job wrote about itself."""

    what: Mark
    job: str
    run_key: str
    number: int
    token: int
    node: str
    at: datetime


class Finish(NamedTuple):
    """One ending that was reported to the store, and whether the store took it."""

    job: str
    run_key: str
    number: int
    token: int
    node: str
    at: datetime
    is_accepted: bool = True


class Told(NamedTuple):
    """One alert of a message that a channel was given, as the channel noted it.

    `decided_at`: what the alert says, in the store's time. `is_refused`: the channel does not take it.
    """

    channel: str
    job: str
    id: str
    kind: AlertKind
    episode: str
    reminder: int
    run: str | None
    number: int | None
    decided_at: datetime
    host: str
    at: datetime
    is_refused: bool = False


class Host(NamedTuple):
    """Where nodes live, one after another. `queues`: what they serve with how many slots; None: all.

    `channels`: those that its nodes can tell; None: all.
    """

    name: str
    queues: tuple[tuple[str, int], ...] | None = None
    channels: tuple[str, ...] | None = None


class Identity(NamedTuple):
    """Which host a node id belonged to. A node without one is a host by its own id."""

    node: str
    host: str


class Trouble(StrEnum):
    """What was done to a host, or to the store."""

    DOWN = "down"  # no process: what ran there is gone
    PAUSED = "paused"  # the process stands still
    PARTITIONED = "partitioned"  # it runs, and cannot reach the store; a call that failed counts too
    DRAINING = "draining"  # it was asked to stop: it claims no more, and may still report
    CLOCK = "clock"  # its clock is off by `offset`


class Fault(NamedTuple):
    """A span of trouble; `host` None: of the store. Either end may be off by `slack`; no end: for good."""

    kind: Trouble
    begin: datetime
    end: datetime | None = None
    host: str | None = None
    slack: timedelta = _NOTHING
    offset: timedelta = _NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What the system under test promises. Every tolerance of the checker is derived from these.

    `eps`: who can start an occurrence, undisturbed, starts it within this time.
    `skew`: how far two clocks that should agree may read apart, and a note may be behind what it tells.
    `lease`, `beat`, `recover`: a node's lease, the time between heartbeats, and between recoveries.
    `poll`: how long a node may take to notice what another one, or a person, has changed.
    `heal`: how long a node may take to be at work again when a fault of its has ended.
    `zombies`: how many overlaps with a cut-off node are put up with; None: they are only counted.
    """

    eps: timedelta = timedelta(seconds=5)
    skew: timedelta = timedelta(milliseconds=100)
    lease: timedelta = timedelta(seconds=30)
    beat: timedelta = timedelta(seconds=10)
    recover: timedelta = RECOVER
    poll: timedelta = timedelta(seconds=30)
    heal: timedelta = timedelta(seconds=5)
    zombies: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """All logs of one run, and when they end: after everything had time to come to rest."""

    final: datetime
    bounds: Bounds = field(default_factory=Bounds)
    hosts: tuple[Host, ...]
    changes: tuple[Change, ...]
    attempts: tuple[Attempt, ...] = ()
    skips: tuple[Skip, ...] = ()
    witness: tuple[Witness, ...] = ()
    faults: tuple[Fault, ...] = ()
    identities: tuple[Identity, ...] = ()
    finishes: tuple[Finish, ...] = ()
    forgotten: tuple[Forgotten, ...] = ()
    told: tuple[Told, ...] = ()
    outbox: tuple[ChannelAlert, ...] = ()
