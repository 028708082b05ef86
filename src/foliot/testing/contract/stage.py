"""The stage: one opened store, a clock that is moved by hand, and short words for what the cases do."""

# ruff: noqa: S101 - part of a test suite: it asserts, and pytest shows what was wrong

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from datetime import datetime, timedelta
from functools import wraps
from itertools import count
from typing import Any, ClassVar, NamedTuple, cast

import pytest

from foliot.engine.plan_definition import PlanDeclared, plan_removed
from foliot.errors import NodeBuriedError
from foliot.model.attempt import Attempt, Ending, Outcome
from foliot.model.decision import Decision
from foliot.model.job import Job
from foliot.model.state import Lease, Node, Record, Skip
from foliot.model.version import Version
from foliot.model.view import Overview
from foliot.protocols import (
    NO_LIMITS,
    Changes,
    Claimed,
    Clock,
    DecideDeclared,
    DecideDue,
    DecideEnded,
    DecideLost,
    DecideRemoved,
    Finished,
    JobQuery,
    NodeStore,
    RunQuery,
    SkipQuery,
    SourceStore,
    Store,
)
from foliot.testing.clock import ManualClock
from foliot.testing.contract.order import ROOM
from foliot.testing.contract.sample import MINUTE, SOURCE, declare_at, end, ending_of, lose, start_due

OpenStore = Callable[[], AbstractAsyncContextManager[Store]]
Damage = Callable[[Store, str], Awaitable[None]]
Factory = Callable[[str, Clock], AbstractAsyncContextManager[Store]]

PATIENCE = 120


class Sharing(NamedTuple):
    """From what another OS process opens the same store.

    `factory` is a function at the top of a module; `where` is what it needs to know: a URL, a path.
    """

    factory: Factory
    where: str


class Stage:
    """An opened, empty store, and its clock."""

    store: Store
    head_start: float = 0.25

    def __init__(self, open_store: OpenStore, clock: ManualClock, sharing: Sharing | None = None) -> None:
        self.open_store = open_store
        self.clock = clock
        self.sharing = sharing
        self._numbers = count(1)
        self._nodes: set[str] = set()

    @property
    def now(self) -> datetime:
        """The present instant, by the store's clock."""
        return self.clock.now()

    # -- nodes -------------------------------------------------------------------------------------

    async def join(self, *nodes: str, **facts: Any) -> Lease:
        """Nodes begin their lives; the lease of the last of them."""
        leases = [await self.store.join(Node(node, **facts)) for node in nodes]
        self._nodes.update(nodes)
        return leases[-1]

    async def advance(self, duration: timedelta) -> None:
        """Let time pass, and all nodes live on."""
        await self.clock.advance(duration)
        await self._renew_all_but("")

    async def outlive(self, lease: Lease) -> None:
        """Let a lease run out, by so much that no drift of a server's clock matters."""
        await self.clock.advance(lease.until - lease.store_now + MINUTE)

    async def die(self, node: str) -> None:
        """The lease of a node runs out, and all others live on. Nobody has noticed yet."""
        await self.outlive(await self.store.renew(node))
        await self._renew_all_but(node)

    async def bury(self, node: str, decide: DecideLost = lose) -> None:
        """A node dies, and somebody notices."""
        await self.die(node)
        await self.recover(decide)

    async def recover(self, decide: DecideLost = lose, limit: int = 1000) -> int:
        """Bury the dead, and lose what they held; how many events that gave."""
        return len((await self.store.recover(limit, self.now, decide)).events)

    async def _renew_all_but(self, dead: str) -> None:
        for node in self._nodes - {dead}:
            with suppress(NodeBuriedError):
                await self.store.renew(node)

    # -- jobs --------------------------------------------------------------------------------------

    async def declare(self, *jobs: Job, wake_at: datetime | None = None, source: str = SOURCE) -> None:
        """Declare jobs beside those that are there; they wake now, or at the time given."""
        declared = declare_at(wake_at or self.now, self.now)
        base, revision = await self.store.revision(source), f"r{next(self._numbers)}"
        await self.store.reconcile(source, base, revision, Changes(jobs), declared=declared, removed=_never)

    async def reconcile(
        self,
        *jobs: Job,
        declared: DecideDeclared,
        removed: tuple[str, ...] = (),
        decide_removed: DecideRemoved | None = None,
    ) -> None:
        """Declare jobs, and remove some, by decisions that a case is about."""
        base, revision = await self.store.revision(SOURCE), f"r{next(self._numbers)}"
        decide = decide_removed or _never
        await self.store.reconcile(
            SOURCE, base, revision, Changes(jobs, removed), declared=declared, removed=decide
        )

    async def plan(self, *jobs: Job, removed: tuple[str, ...] = ()) -> None:
        """Declare jobs, and remove some, the way the engine does: what follows is the planner's."""
        base, revision = await self.store.revision(SOURCE), f"r{next(self._numbers)}"
        await self.store.reconcile(
            SOURCE, base, revision, Changes(jobs, removed),
            declared=PlanDeclared(self.now),
            removed=lambda record: plan_removed(record, self.now),
        )  # fmt: skip

    async def record(self, key: str) -> Record:
        """A job's record."""
        views = await self.store.jobs(JobQuery(keys=frozenset((key,)), with_removed=True))
        assert len(views) == 1, f"{key} should be there, once"
        assert views[0].damage is None, f"{key} is damaged: {views[0].damage}"
        assert views[0].record is not None
        return views[0].record

    async def keys(self, **query: Any) -> list[str]:
        """The keys of jobs, as they are shown."""
        return [view.key for view in await self.store.jobs(JobQuery(**{"limit": 10_000} | query))]

    # -- runs --------------------------------------------------------------------------------------

    async def claim_whole(  # noqa: PLR0913 - the facts of a claim
        self,
        node: str,
        room: Mapping[str, int] = ROOM,
        decide: DecideDue = start_due,
        *,
        claim_id: str | None = None,
        now: datetime | None = None,
        limits: Mapping[str, int] = NO_LIMITS,
    ) -> Claimed:
        """One claim, with all of its answer."""
        id_ = claim_id or f"claim-{next(self._numbers)}"
        return await self.store.claim(node, now or self.now, room, decide, id_, limits)

    async def claim(
        self, node: str, room: Mapping[str, int] = ROOM, decide: DecideDue = start_due, **facts: Any
    ) -> list[Attempt]:
        """What one claim has started."""
        return [attempt for _, attempt in (await self.claim_whole(node, room, decide, **facts)).runs]

    async def claim_all(self, node: str, decide: DecideDue = start_due) -> list[Attempt]:
        """What a node starts if it claims until there is nothing more."""
        found: list[Attempt] = []
        for _ in range(1000):
            claimed = await self.claim_whole(node, ROOM, decide)
            found += (attempt for _, attempt in claimed.runs)
            if not claimed.runs and not claimed.more:
                return found
        raise AssertionError("a thousand claims in a row said that there was more")

    async def start_one(self, node: str, job: Job) -> Attempt:
        """Declare a job that is due, and let a node claim it."""
        await self.declare(job)
        (attempt,) = await self.claim(node, {job.queue: 1})
        return attempt

    async def finish(
        self,
        node: str,
        *attempts: Attempt,
        outcome: Outcome = Outcome.SUCCEEDED,
        decide: DecideEnded = end,
        error: str | None = None,
    ) -> Finished:
        """A node reports the end of attempts."""
        endings = [self.ending(a, outcome=outcome, error=error) for a in attempts]
        return await self.store.finish(node, endings, self.now, decide)

    def ending(self, attempt: Attempt, **facts: Any) -> Ending:
        """What a node would report of an attempt."""
        return ending_of(attempt, self.now)._replace(**facts)

    async def runs(self, **query: Any) -> tuple[Attempt, ...]:
        """Attempts, newest first."""
        return await self.store.runs(RunQuery(**{"limit": 10_000} | query))

    async def skips(self, job: str, limit: int = 10_000) -> tuple[Skip, ...]:
        """The newest so many skips of a job, oldest first."""
        return tuple(reversed(await self.store.skips(SkipQuery(job, limit=limit))))

    async def next_wake(
        self, queues: Iterable[str], kinds: Collection[str] | None = None, **facts: Any
    ) -> datetime | None:
        """When the next job is due."""
        return (await self.store.wakes(queues, kinds, **facts)).first

    async def running(self, group: str) -> int:
        """How many attempts of a group run: by the seam of nodes."""
        store: Any = self.store
        return await cast("NodeStore", store).running(group)

    async def backlog(
        self, queues: Iterable[str], due_by: datetime, kinds: Collection[str] | None = None
    ) -> int:
        """How many jobs are due."""
        return (await self.store.wakes(queues, kinds, due_by)).due

    async def versions(self, job: str) -> tuple[Version, ...]:
        """The definitions that a job has had: by the seam of sources."""
        store: Any = self.store
        return await cast("SourceStore", store).versions(job)

    async def overview(self) -> Overview:
        """The store at a glance: by its other seam."""
        store: Any = self.store
        return await cast("NodeStore", store).overview()

    async def open_keys(self, node: str) -> set[tuple[str, int]]:
        """What a node holds, by the store."""
        return {attempt.key for attempt in await self.store.held(node)}

    def later(self, duration: timedelta) -> datetime:
        """An instant after the present one."""
        return self.now + duration


def _never(_: Record) -> Decision:
    raise AssertionError("nothing was removed, so nobody should ask")


def scenario(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Play a case on an event loop of its own, with the store of `stage` opened in it.

    No plugin of pytest is needed, and a store may bind itself to the loop it was opened on.
    """

    @wraps(test)
    def play(self: object, stage: Stage, **fixtures: Any) -> None:
        async def act() -> None:
            async with asyncio.timeout(PATIENCE), stage.open_store() as stage.store:
                await test(self, stage=stage, **fixtures)

        asyncio.run(act())

    return play


class Contract:
    """What each topic needs of a back end: a subclass gives `open_store` or `sharing`, and `damage`.

    `head_start` is how many seconds a concurrent writer gets in the middle of a decision. A store that
    decides under a lock makes it wait, so there it is time lost; one that never does may give more.
    """

    head_start: ClassVar[float] = Stage.head_start

    @pytest.fixture
    def clock(self) -> ManualClock:
        """The time of the store: leases run by it."""
        return ManualClock()

    @pytest.fixture
    def sharing(self) -> Sharing | None:
        """How other processes open the same store; None: they cannot."""
        return None

    @pytest.fixture
    def open_store(self, sharing: Sharing | None, clock: ManualClock) -> OpenStore:
        """Opens the store of this test, empty at first; each further call opens the same data.

        It is called on the loop that then uses the store, from several threads at once too.
        """
        assert sharing is not None, "a back end gives the fixture open_store, or the fixture sharing"
        return lambda: sharing.factory(sharing.where, clock)

    @pytest.fixture
    def damage(self) -> Damage:
        """Damages what is stored of one job, in the back end's own way."""
        return pytest.skip("this back end does not say how a stored job is damaged")

    @pytest.fixture
    def stage(self, open_store: OpenStore, clock: ManualClock, sharing: Sharing | None) -> Stage:
        """What the cases play on."""
        stage = Stage(open_store, clock, sharing)
        stage.head_start = self.head_start
        return stage
