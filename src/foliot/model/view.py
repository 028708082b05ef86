"""What is shown of a store, beside its jobs and runs: nodes, sources, the whole at a glance, the schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from foliot.model.histogram import Histogram
from foliot.model.outbox import ChannelAlert
from foliot.model.state import Node

KEPT_OUTAGES = 1000


class Lane(NamedTuple):
    """A queue and a kind of action, and when the first of their jobs is to be looked at.

    Whoever serves both can claim from it; if nobody does, its jobs wait.
    """

    queue: str
    kind: str
    wake_at: datetime


class Overview(NamedTuple):
    """The store at a glance; `lanes`: those in which somebody has to look at a job, now or later."""

    jobs: int = 0
    damaged: int = 0
    open_attempts: int = 0
    nodes: tuple[str, ...] = ()
    next_wake_at: datetime | None = None
    lanes: tuple[Lane, ...] = ()
    paused: int = 0
    failing: int = 0


class NodeView(NamedTuple):
    """A node as it is shown: what it serves, until when its lease lasts, and how much it holds."""

    node: Node
    until: datetime
    open_count: int = 0


class Outage(NamedTuple):
    """A time in which no node lived, as far as the store knows: from the last sign of life to the next."""

    first: datetime
    last: datetime


class SourceView(NamedTuple):
    """A source as it is shown: its revision, how many jobs it declares, and since when that is so.

    `status` is a small JSON document of whoever reads the source: how the last reading went.
    """

    source: str
    revision: str | None = None  # none if it was never reconciled
    jobs: int = 0
    reconciled_at: datetime | None = None
    status: str | None = None


class Traits(NamedTuple):
    """What a store promises beyond its verbs."""

    proves_deaths: bool = False  # a node that it would bury is dead for certain
    tells_changes: bool = False  # it is a `Notifier`
    file: str | None = None  # what it is in; the names of files that belong to it begin so, too


class AlertHealth(NamedTuple):
    """What became of alerts: those that this node has settled, or how many wait for its channels."""

    settled: Sequence[ChannelAlert] = ()
    waiting: Mapping[str, int] | None = None  # by channel; None: they were not counted


class Schema(NamedTuple):
    """The last step of its schema that a store has taken, 0 if none, and the last that there is."""

    found: int
    newest: int


class StoreHealth(NamedTuple):
    """How a store fares by itself. What is counted is of this process, since it opened the store.

    `fsync`: when its server writes to the disk; `eviction`: what it does when its memory is full. `calls`:
    how long calls took, by verb; `conflicts`: jobs that another writer had changed meanwhile. `regressions`:
    how often the store was found to have lost what it had answered, and `last_regression` how that was.
    """

    server: str
    version: str
    fsync: str
    eviction: str
    memory: int | None  # bytes; None: it does not tell
    calls: Mapping[str, Histogram]
    conflicts: Mapping[str, int]
    script_loads: int = 0
    regressions: int = 0
    last_regression: str = ""


class SourceHealth(NamedTuple):
    """How a source fares that is followed: tries in a row that failed, and what it declares now."""

    source: str
    failures: int
    pulled_at: datetime | None
    jobs: int
    dropped: int = 0  # jobs that vanished at once, most of them: a mistake, perhaps


class Pulse(NamedTuple):
    """How a node fares, as it knows after a heartbeat.

    `jump`: how far the store's time was from where the node had reckoned it. `skew`: how far this host's
    clock is ahead of the store's. `overdue`: how long the job that has waited longest is due and not claimed;
    `backlog`: how many are.
    """

    node: str
    at: datetime
    jump: timedelta
    skew: timedelta
    overdue: timedelta
    backlog: int = 0
