"""The seams of Foliot, with their contracts: open this file first. `protocols_access` has those of the API.

    Snapshot ─▶ Engine ──▶ Executor          Clock    what time it is, and waiting
                  └──▶ Store, what is true   Listener what happened

A job's occurrence is *claimed* from the store by one node, *started* with an executor, and *finished* in
the store. The store decides every race: each of its verbs is one atomic step per job. It loads the
job's record, asks a pure, synchronous function what to do (`decide`; the planner), and writes the answer
only if nobody else has written meanwhile; otherwise it loads and asks again.
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
from foliot.model.query import RulePage as RulePage
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

    Verbs raise `StoreUnavailableError` if the store does not answer: the write may have taken effect, or
    may yet. Repeating a verb is then safe: `claim` with the same `claim_id` starts nothing more and tells
    what that claim started (while the first asking is still under way it may tell less; `held` tells
    all); an ending that counted the first time is refused the second. Events are told at most once.
    A verb that names a node raises `NodeBuriedError` if that node is buried or unknown. A write that was
    under way at the burial may still land: what it started is lost by the next `recover`; what it ended
    counts unless `recover` came first. What guards a write is the whole record, not only its token: an end
    in peace leaves the token alone. Node ids and claim ids are never used again.
    A record that cannot be read is set aside, told of by an event, and shown with its damage; others go on.
    """

    traits: Traits

    async def join(self, node: Node) -> Lease:
        """A node begins its life. Joining again is a renewal, and changes what it serves, while it lives."""
        ...

    async def renew(self, node: str) -> Lease:
        """A heartbeat: extends the lease, tells the store's time and which attempts are to be cancelled."""
        ...

    async def leave(self, node: str) -> None:
        """A node ends its life in order. What it holds is lost by the next `recover`, whatever its lease."""
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
        """Start what is due in these queues and of the node's kinds, at most so many each, longest due first.

        Due-ness is decided inside, under the protection of the step. An attempt that starts belongs to
        the node, under a token higher than any the job has had. A claim may look at fewer jobs than there
        is room for; `more` says so. A node whose lease has run out gets nothing. What one answer holds is
        in order; between nodes no order is promised. A claim that started nothing need not be remembered. An
        occurrence that has run does not run again, if the clock was set back: `stores.matching.decide_once`.
        A job about which nothing is to be written (`Decision.is_nothing`) is passed over: it stays due for
        others and does not set `more`. Repeated claims make progress past such jobs, however many they are.

        `limits`: how many attempts of each group may run, over all nodes. An attempt counts in the group in
        which it was started until it has ended. A job of a full group, or of one without a limit, is asked
        about with room for 0 attempts; its place is for the job of the group that is due for longest.
        """
        ...

    async def finish(
        self, node: str, endings: Sequence[Ending], now: datetime, decide: DecideEnded
    ) -> Finished:
        """Record how attempts ended. One counts only if its own attempt is open under (node, token)."""
        ...

    async def recover(self, limit: int, now: datetime, decide: DecideLost) -> Recovered:
        """Bury the nodes whose lease is over, by the store's clock and by `now`; their attempts are lost.

        `now` is the caller's reckoning: it follows a jump of the store's clock when others had time to renew.
        A lease `CORRECTION` too long is of before a jump back: it is cut. Until its burial a node may renew.
        """
        ...

    async def update(self, job: str, decide: DecideCommand) -> Decision:
        """Do to one job what a person asked for. JobNotFoundError if there is none.

        CommandRefusedError if it would open an attempt that was there before, as far as history goes back.
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
        """Make the store agree with a source, all or nothing. StaleRevisionError if `base` is not there.

        The same revision again changes nothing.
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

        With `due_by`, also how many are due by then, and not claimed. With `after`: the next one after it.
        """
        ...

    async def jobs(self, query: JobQuery) -> JobPage:
        """Jobs, with their records."""
        ...

    async def runs(self, query: RunQuery) -> RunPage:
        """Attempts, open and ended. Those of one instant come in some order, always the same."""
        ...

    async def skips(self, query: SkipQuery) -> SkipPage:
        """Ranges of occurrences that did not run."""
        ...

    async def prune(self, now: datetime, limit: int) -> Pruned:
        """Forget history beyond what each job's policy keeps, at most so many attempts and skips.

        The newest attempt, the newest success and what is open stay. `last` counts attempts in the order of
        their opening. A history may grow to 2¼ times before it is cut; what is old may stay 1/30 longer.
        """
        ...


class OutputStore(Protocol):
    """Keeps what attempts wrote, for as long as the attempts are kept. Every store of ours is one."""

    async def write_outputs(self, outputs: Sequence[Output]) -> None:
        """Keep outputs whole, when their attempts have ended; what is there already is replaced."""
        ...

    async def append_outputs(self, parts: Sequence[OutputPart]) -> None:
        """Keep what attempts that run have written since. The same part again changes nothing."""
        ...

    async def output(self, run_key: str, number: int, after: int = 0) -> Output | None:
        """What an attempt wrote, so far, from a place on."""
        ...


class NodeStore(Protocol):
    """Tells who works on the store, what time it is there, and how much there is. All of ours are such."""

    async def now(self) -> datetime:
        """The store's time: by it jobs are declared and commands are given, whatever this host's clock."""
        ...

    async def overview(self) -> Overview:
        """The store at a glance. How many jobs there are may have been counted half a minute ago."""
        ...

    async def nodes(self) -> tuple[NodeView, ...]:
        """The nodes that are not buried, in the order of their ids; a lease among them may have run out."""
        ...

    async def running(self, group: str) -> int:
        """How many attempts run that were started in a group."""
        ...

    async def outages(self) -> tuple[Outage, ...]:
        """The times in which no node lived, the newest first; 1,000 are kept."""
        ...


class AlertStore(Protocol):
    """Keeps alerts until they are sent, and for 90 days: the outbox. Every store of ours is one.

    `Decision.alerts` are written in the step of their decision. The same alert again, for the same channel,
    changes nothing, whatever has become of it. `Store.prune` forgets the old ones, those that wait included.
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
        """Alerts were sent, refused, or are too old; how many waited. A ping that was sent is not kept."""
        ...

    async def alerts(self, query: AlertQuery) -> AlertPage:
        """Alerts, the newest first."""
        ...


@runtime_checkable
class Notifier(Protocol):
    """A store that can tell when the earliest wake moves earlier, or a cancel is asked. Hints only."""

    async def changed(self) -> None:
        """Return when something may have changed since the last call."""
        ...


OnEnd = Callable[[Run, Result], None]
OnEnds = Callable[[Iterable[tuple[Run, Result]]], None]
AskToEnd = Callable[[], None]


class Executor(Protocol):
    """Carries out one kind of action, or several."""

    def start(self, run: Run, on_end: OnEnd) -> AskToEnd:
        """Let an attempt begin, on the engine's loop; the answer asks it to end, and may be a `LetsGo`.

        `on_end` is called once, on that loop and not before this returns: when the action and everything that
        it started has ended. A failure, or an end that was asked for, is a result; nothing is raised.
        """
        ...


@runtime_checkable
class CountsRules(Protocol):
    """A store that counts the definitions of jobs by itself, instead of giving them one by one."""

    async def rules(self, source: str | None, after: str, most: int) -> RulePage:
        """How many jobs that are on have each definition, of the next `most` jobs after a key."""
        ...


@runtime_checkable
class StartsMany(Protocol):
    """An executor for which many attempts at once cost less than one by one."""

    def start_many(self, runs: Sequence[Run], on_ends: OnEnds) -> Sequence[AskToEnd]:
        """As `start`, for each of these runs. `on_ends` tells of each run once, of any number at a time."""
        ...


@runtime_checkable
class Selective(Protocol):
    """An executor that cannot carry out every job of its kinds, all the time: the rest is left to others."""

    def fits(self, job: Job) -> bool:
        """Whether the job can be started here, now. Quick, on any thread: it is asked within a claim."""
        ...

    def on_passed_over(self, jobs: Sequence[Job]) -> None:
        """A claim has left these to others, because they do not fit."""
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
        """Wait that long, or until the event is set; others have at least one turn."""
        ...


@runtime_checkable
class Listener(Protocol):
    """Is told what happened, in batches, after it was written."""

    def on_events(self, events: Sequence[Event]) -> None:
        """Events in the order they were decided."""
        ...

    def on_trouble(self, error: StoreError) -> None:
        """The store did not do what it was asked; the engine goes on by itself."""
        ...


@runtime_checkable
class Monitor(Protocol):
    """Is told how a node fares, beside what happens to jobs."""

    def on_turn(self, what: str, took: timedelta, held: int) -> None:
        """What was due is claimed and started (`claim`), what ended stored (`report`); how many are held."""
        ...

    def on_health(self, health: NodeHealth) -> None:
        """The lease was renewed."""
        ...

    def on_lease_lost(self, node: str) -> None:
        """The node was buried: what it ran is no longer its own, and it begins a new life."""
        ...

    def on_burial(self, node: str, dead: NodeView) -> None:
        """The node has buried another: what that held is lost, and goes on as each job's policy says."""
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
