"""The seams of Foliot, with their contracts: open this file first. `protocols_access` has those of the API.

    Snapshot ─▶ Engine ──▶ Executor          Clock    what time it is, and waiting
                  └──▶ Store, what is true   Listener what happened

A job's occurrence is *claimed* from the store by one node, *started* with an executor, and *finished* in
the store. The store decides every race: each of its verbs is one atomic step per job. It loads the
job's record, asks a pure, synchronous function what to do (`decide`; the planner), and writes the answer
only if no other call has written meanwhile; otherwise it loads and asks again.
"""

# ruff: noqa: PLC0414 - what the contracts are made of is imported from here

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol, runtime_checkable

from foliot.errors import StoreError
from foliot.model.answer import NO_LIMITS as NO_LIMITS
from foliot.model.answer import Claimed as Claimed
from foliot.model.answer import Finished as Finished
from foliot.model.answer import Pruned as Pruned
from foliot.model.answer import Recovered as Recovered
from foliot.model.answer import Wakes as Wakes
from foliot.model.attempt import Attempt, Ending
from foliot.model.deciding import DecideCommand as DecideCommand
from foliot.model.deciding import DecideDeclared as DecideDeclared
from foliot.model.deciding import DecideDue as DecideDue
from foliot.model.deciding import DecideEnded as DecideEnded
from foliot.model.deciding import DecideLost as DecideLost
from foliot.model.deciding import DecideRemoved as DecideRemoved
from foliot.model.decision import Decision, Event
from foliot.model.job import Job
from foliot.model.outbox import AlertState as AlertState
from foliot.model.outbox import ChannelAlert as ChannelAlert
from foliot.model.output import Output as Output
from foliot.model.output import OutputPart as OutputPart
from foliot.model.query import AlertPage as AlertPage
from foliot.model.query import AlertQuery as AlertQuery
from foliot.model.query import JobPage as JobPage
from foliot.model.query import JobQuery as JobQuery
from foliot.model.query import JobView as JobView
from foliot.model.query import Page as Page
from foliot.model.query import RunPage as RunPage
from foliot.model.query import RunQuery as RunQuery
from foliot.model.query import SkipPage as SkipPage
from foliot.model.query import SkipQuery as SkipQuery
from foliot.model.run import LetsGo as LetsGo
from foliot.model.run import Result as Result
from foliot.model.run import Run as Run
from foliot.model.state import Lease, Node
from foliot.model.version import Changes as Changes
from foliot.model.view import NodeHealth, NodeView, Outage, Overview
from foliot.model.view import Traits as Traits
from foliot.protocols_source import SourceStore as SourceStore


class Store(Protocol):
    """Where jobs, states, attempts, skips, nodes and sources are kept.

    Verbs raise `StoreUnavailableError` if the store does not answer. The write may have taken effect, or
    may still take effect. To repeat the verb is safe:

    - `claim` with the same `claim_id` starts nothing more, and returns what that claim started. While the
      first call still works it may return less; `held` returns all.
    - An ending that counted the first time is refused the second time.
    - Each event is returned at most once.

    A verb that names a node raises `NodeBuriedError` if that node is buried or unknown. A write that was
    under way at the burial may still land. Attempts that it started are lost by the next `recover`. Ends
    that it recorded count unless `recover` came first.

    A store compares the whole record before it writes, not only the token: a quiet success ends its attempt
    and leaves the token as it is. Node ids and claim ids are never used again. A record that cannot be read
    is set aside, reported by an event, and shown with its damage; the other jobs go on.
    """

    traits: Traits

    async def join(self, node: Node) -> Lease:
        """A node begins. If a living node joins again, its lease is renewed and what it serves is changed."""
        ...

    async def renew(self, node: str) -> Lease:
        """A heartbeat: extends the lease. The answer has the store's time and the attempts to cancel."""
        ...

    async def leave(self, node: str) -> None:
        """A node leaves in order. The next `recover` loses the attempts that it holds, whatever its lease."""
        ...

    async def held(self, node: str) -> tuple[Attempt, ...]:
        """The open attempts of a node, as the store knows them."""
        ...

    async def claim(  # noqa: PLR0913, PLR0917 - the facts of a claim
        self,
        node: str,
        now: datetime,
        room: Mapping[str, int],
        decide: DecideDue,
        claim_id: str,
        limits: Mapping[str, int] = NO_LIMITS,
    ) -> Claimed:
        """Start due jobs of the queues in `room` and of the node's kinds, the longest due first.

        `room`: how many attempts may start in each queue.

        Whether a job is due is decided inside the atomic step. An attempt that starts belongs to
        the node, under a token higher than any the job has had. A claim may look at fewer jobs than there
        is room for; then it sets `more`. A node whose lease has run out gets nothing. The runs of one answer
        are in order; between nodes no order is promised. A store may forget a claim that started nothing.
        After the clock was set back, an occurrence that has run does not run again (`decide_once` in
        `stores.matching`).

        If the decision writes nothing (`Decision.is_nothing`), the job is passed over: it stays due for other
        nodes, and does not set `more`. Repeated claims make progress past such jobs, however many they are.

        `limits`: how many attempts of each group may run, over all nodes. An attempt counts in the group in
        which it was started, until it has ended. If a group is full, or has no limit, `decide` gets room for
        0 attempts of its jobs. A free place goes to the job of the group that has been due for longest.
        """
        ...

    async def finish(
        self, node: str, endings: Sequence[Ending], now: datetime, decide: DecideEnded
    ) -> Finished:
        """Record how attempts ended. An ending counts only if its attempt is open under (node, token)."""
        ...

    async def recover(self, limit: int, now: datetime, decide: DecideLost) -> Recovered:
        """Bury the nodes whose lease is over, by the store's clock and by `now`; their attempts are lost.

        `now` is the caller's estimate of the store's time. The caller follows a jump of the store's clock
        only when other nodes had time to renew. A lease that is longer than possible by `CORRECTION` was
        written before the clock was set back: it is shortened. A node may renew until it is buried.
        """
        ...

    async def update(self, job: str, decide: DecideCommand) -> Decision:
        """Carry out a person's command on one job. JobNotFoundError if there is no such job.

        CommandRefusedError if the command would open an attempt that the history already has.
        """
        ...

    async def reconcile(  # noqa: PLR0913 - the facts of a revision, and both answers to it
        self,
        source: str,
        base: str | None,
        revision: str,
        changes: Changes,
        *,
        declared: DecideDeclared,
        removed: DecideRemoved,
    ) -> Sequence[Event]:
        """Make the store agree with a source, all or nothing.

        StaleRevisionError if the source is not at `base`. The same revision again changes nothing.
        """
        ...

    async def revision(self, source: str) -> str | None:
        """The revision that a source was last reconciled to."""
        ...

    async def wakes(
        self,
        queues: Iterable[str],
        kinds: Collection[str] | None = None,
        due_by: datetime | None = None,
        *,
        after: datetime | None = None,
    ) -> Wakes:
        """When the next job of these queues, and of these kinds of action, must be looked at.

        `due_by`: count also the jobs that are due by then and not claimed. `after`: ignore earlier wakes.
        """
        ...

    async def jobs(self, query: JobQuery) -> JobPage:
        """Jobs, with their records."""
        ...

    async def runs(self, query: RunQuery) -> RunPage:
        """Attempts, open and ended. The order within one instant is arbitrary, but always the same."""
        ...

    async def skips(self, query: SkipQuery) -> SkipPage:
        """Ranges of occurrences that did not run."""
        ...

    async def prune(self, now: datetime, limit: int) -> Pruned:
        """Forget history that no policy keeps: at most `limit` attempts and skips.

        Each job keeps its newest attempt, its newest success and its open attempts. A policy that keeps the
        last N counts attempts in the order of their opening. A history may grow to 2¼ times its length
        before it is cut, and old attempts may stay 1/30 longer.
        """
        ...


class OutputStore(Protocol):
    """Keeps what attempts wrote, for as long as the attempts are kept. Every store of ours is one."""

    async def write_outputs(self, outputs: Sequence[Output]) -> None:
        """Keep whole outputs of ended attempts. An output that exists is replaced."""
        ...

    async def append_outputs(self, parts: Sequence[OutputPart]) -> None:
        """Keep new parts of the output of running attempts. The same part again changes nothing."""
        ...

    async def output(self, run_key: str, number: int, after: int = 0) -> Output | None:
        """The output of an attempt so far, from the character at `after` on."""
        ...


class NodeStore(Protocol):
    """Shows the nodes of a store, its time, and its counts. Every store of ours is one."""

    async def now(self) -> datetime:
        """The store's time. Declarations and commands use it, and not the clock of this host."""
        ...

    async def overview(self) -> Overview:
        """The store at a glance. The number of jobs may be half a minute old."""
        ...

    async def nodes(self) -> tuple[NodeView, ...]:
        """The nodes that are not buried, in the order of their ids. Some leases may have run out."""
        ...

    async def running(self, group: str) -> int:
        """How many attempts that were started in a group still run."""
        ...

    async def outages(self) -> tuple[Outage, ...]:
        """The times in which no node lived, the newest first; 1,000 are kept."""
        ...


class AlertStore(Protocol):
    """Keeps alerts until they are sent, and for 90 days: the outbox. Every store of ours is one.

    `Decision.alerts` are written in the step of their decision. To write the same alert
    for the same channel again changes nothing, sent or not. `Store.prune` forgets old alerts, also those that
    still wait.
    """

    async def waiting(self, channel: str, limit: int) -> tuple[ChannelAlert, ...]:
        """The alerts that wait for a channel, the oldest first."""
        ...

    async def waiting_channels(self) -> Mapping[str, datetime]:
        """The channels that alerts wait for, each with the time of the oldest."""
        ...

    async def settle(
        self, channel: str, ids: Collection[str], state: AlertState, at: datetime, answer: str | None = None
    ) -> int:
        """Record that alerts were sent, were refused, or are too old. Returns how many of them waited.

        A ping that was sent is not kept.
        """
        ...

    async def alerts(self, query: AlertQuery) -> AlertPage:
        """Alerts, the newest first."""
        ...


@runtime_checkable
class Notifier(Protocol):
    """A store that sends hints: the earliest wake has moved earlier, or a cancel is requested."""

    async def changed(self) -> None:
        """Return when something may have changed since the last call."""
        ...


OnEnd = Callable[[Run, Result], None]
OnEnds = Callable[[Iterable[tuple[Run, Result]]], None]
AskToEnd = Callable[[], None]


class Executor(Protocol):
    """Carries out one kind of action, or several."""

    def start(self, run: Run, on_end: OnEnd) -> AskToEnd:
        """Begin an attempt, on the engine's loop. Returns a function that asks the attempt to end.

        That function may be a `LetsGo`.

        The executor calls `on_end` once, on that loop, after `start` has returned: when the action and
        everything that it started has ended. A failure, or a requested end, is a result. Nothing is raised.
        """
        ...


@runtime_checkable
class StartsMany(Protocol):
    """An executor for which many attempts at once cost less than one by one."""

    def start_many(self, runs: Sequence[Run], on_ends: OnEnds) -> Sequence[AskToEnd]:
        """As `start`, for each of these runs. `on_ends` reports each run once, and any number per call."""
        ...


@runtime_checkable
class Selective(Protocol):
    """An executor that can carry out only some jobs of its kinds. Other nodes take the rest."""

    def fits(self, job: Job) -> bool:
        """Whether the job can be started here, now. A claim calls this on any thread: it must be quick."""
        ...

    def on_passed_over(self, jobs: Sequence[Job]) -> None:
        """A claim has left these jobs to other nodes, because they do not fit."""
        ...


class Clock(Protocol):
    """What time it is, and waiting. A test's clock stands still until it is moved."""

    def now(self) -> datetime:
        """The present instant, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that only ever grow, whatever happens to the wall clock."""
        ...

    async def wait(self, duration: timedelta, until: asyncio.Event | None = None) -> None:
        """Wait that long, or until the event is set. Other tasks get at least one turn."""
        ...


@runtime_checkable
class Listener(Protocol):
    """Receives events in batches, after the store has written them."""

    def on_events(self, events: Sequence[Event]) -> None:
        """Events in the order they were decided."""
        ...

    def on_trouble(self, error: StoreError) -> None:
        """A call to the store failed. The engine tries again by itself."""
        ...


@runtime_checkable
class Monitor(Protocol):
    """Receives measurements of a node; a `Listener` receives what happens to jobs."""

    def on_turn(self, what: str, took: timedelta, held: int) -> None:
        """A turn ended: due jobs were claimed (`claim`), or results stored (`report`).

        `held`: how many attempts the node holds now.
        """
        ...

    def on_health(self, health: NodeHealth) -> None:
        """The lease was renewed."""
        ...

    def on_lease_lost(self, node: str) -> None:
        """The node was buried: its attempts are no longer its own. It joins again under a new id."""
        ...

    def on_burial(self, node: str, dead: NodeView) -> None:
        """The node has buried another. The attempts of the dead node are lost; each job's policy decides."""
        ...


@runtime_checkable
class JobWatcher(Protocol):
    """A monitor that wants to know which jobs there are when an engine begins."""

    def on_jobs(self, views: Sequence[JobView]) -> None:
        """Some jobs, in the order of their keys."""
        ...


class Snapshot(NamedTuple):
    """All that a source declares at one revision."""

    revision: str
    jobs: tuple[Job, ...]
