"""Views of a store beside jobs and runs: nodes, sources, an overview, the schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from foliot.model.histogram import Histogram
from foliot.model.outbox import ChannelAlert
from foliot.model.state import Node

KEPT_OUTAGES = 1000


class Lane(NamedTuple):
    """A queue and a kind of action, and when the first of their jobs wakes.

    A node that serves both can claim from it; without such a node its jobs wait.
    """

    queue: str
    kind: str
    wake_at: datetime


class Overview(NamedTuple):
    """An overview of the store; `lanes`: those with a job that wakes, now or later."""

    jobs: int = 0
    damaged: int = 0
    open_attempts: int = 0
    nodes: tuple[str, ...] = ()
    next_wake_at: datetime | None = None
    lanes: tuple[Lane, ...] = ()
    paused: int = 0
    failing: int = 0


class NodeView(NamedTuple):
    """A view of a node: what it serves, the end of its lease, and how many attempts it holds."""

    node: Node
    until: datetime
    open_count: int = 0


class Outage(NamedTuple):
    """A period without a running node, as far as the store knows: from the last sign of life to the next."""

    first: datetime
    last: datetime


class SourceView(NamedTuple):
    """A view of a source: its revision, since when, and how many jobs it declares.

    `status`: a small JSON document about the last reading, written by the reader of the source.
    """

    source: str
    revision: str | None = None  # none if it was never reconciled
    jobs: int = 0
    reconciled_at: datetime | None = None
    status: str | None = None


class Traits(NamedTuple):
    """What a store promises beyond its methods."""

    proves_deaths: bool = False  # a node that it declares dead is certainly dead
    tells_changes: bool = False  # it is a `Notifier`
    file: str | None = None  # its file; names of files that belong to it begin with this


class AlertHealth(NamedTuple):
    """Alerts that this node has settled, or the number that waits for its channels."""

    settled: Sequence[ChannelAlert] = ()
    waiting: Mapping[str, int] | None = None  # by channel; None: they were not counted


class EnqueueHealth(NamedTuple):
    """Tasks that this node has put into queues, or could not; or how many wait in queues."""

    enqueued: Sequence[tuple[str, timedelta]] = ()  # the queue, and how long it took
    failures: Sequence[str] = ()  # the reason of each: refused, timeout
    lengths: Mapping[str, int] | None = None  # by queue; None: they were not asked for


class Schema(NamedTuple):
    """The last step of its schema that a store has taken, 0 if none, and the last that there is."""

    found: int
    newest: int


class FreeSpace(NamedTuple):
    """Bytes that a store takes on a disk, and how many of them hold nothing."""

    size: int
    free: int


class StoreHealth(NamedTuple):
    """The health of a store. Counters are of this process, since it opened the store.

    `fsync`: when its server writes to the disk; `eviction`: what it does when its memory is full. `calls`:
    how long calls took, by verb; `conflicts`: jobs that another writer had changed meanwhile. `regressions`:
    how often the store was found to have lost confirmed writes; `last_regression` describes the last time.
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
    """The health of a followed source: failed tries in a row, and its present jobs."""

    source: str
    failures: int
    pulled_at: datetime | None
    jobs: int
    dropped: int = 0  # jobs that disappeared together with most others: perhaps a mistake


class NodeHealth(NamedTuple):
    """The health of a node after a heartbeat.

    `jump`: the difference between the store's time and the expected time. `skew`: how far this host's clock
    is ahead of the store's. `overdue`: how long the longest waiting job is due and not claimed; `backlog`:
    how many jobs wait like that.
    """

    node: str
    at: datetime
    jump: timedelta
    skew: timedelta
    overdue: timedelta
    backlog: int = 0
