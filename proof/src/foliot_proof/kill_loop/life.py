"""One life: an engine that claims, starts, finishes, and dies where it was told to."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from uuid import uuid4

from foliot.clock import SystemClock
from foliot.engine.engine import Engine
from foliot.engine.settings import Settings
from foliot.model.attempt import Outcome
from foliot.model.job import Action, Job
from foliot.model.policy import Keep, Overlap, OverlapMode, Policy, parallel
from foliot.protocols import AskToEnd, OnEnd, Result, Run
from foliot.schedules import Every
from foliot.wiring import FullStore
from foliot_proof.kill_loop.revision import Revisions
from foliot_proof.stores import kind_of

SOURCE = "kill-loop"
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
STEP = timedelta(seconds=10)  # from one life to the next, and from one occurrence to the next
LEASE = timedelta(seconds=3)
STEPS = (
    "claimed", "before_start", "effect", "before_finish", "finished",
    *(
        f"{verb}:{side}_commit"
        for verb in ("join", "claim", "finish", "recover", "renew", "reconcile")
        for side in ("before", "after")
    ),
)  # fmt: skip
_KIND = "kill-loop"
_QUIET = timedelta(milliseconds=200)
_MOST_WAITS = 25
_SECOND = timedelta(seconds=1)
_Failpoint = Callable[[str], None]


class Orders(NamedTuple):
    """Which life this is, where it leads, and where it ends; without a step it ends in peace."""

    number: int
    url: str
    witness: str
    step: str = ""


class LifeClock:
    """Real time, counted from the moment at which a life begins."""

    def __init__(self, begin: datetime) -> None:
        self._real = SystemClock()
        self._offset = begin - self._real.now()
        self.monotonic = self._real.monotonic
        self.wait = self._real.wait

    def now(self) -> datetime:
        """The present instant of this life."""
        return self._real.now() + self._offset


def jobs() -> tuple[Job, ...]:
    """Jobs that all come due when a life begins, and differ in what an open run means to the next."""
    overlaps = {
        "skips": Overlap(mode=OverlapMode.SKIP),
        "waits": Overlap(mode=OverlapMode.WAIT),
        "joins": parallel(20),
        "other": Overlap(mode=OverlapMode.SKIP),
    }
    return tuple(
        Job(
            source=SOURCE,
            name=name,
            schedule=Every(STEP),
            action=Action(kind=_KIND),
            policy=Policy(overlap=overlap, keep=Keep(last=None, days=None)),
        )
        for name, overlap in overlaps.items()
    )


def live(orders: Orders) -> None:
    """Lead a life; it returns only if it ends in peace."""
    asyncio.run(_live(orders))


async def _live(orders: Orders) -> None:
    clock = LifeClock(BEGIN + orders.number * STEP)

    def failpoint(step: str) -> None:
        if step == orders.step:
            os.kill(os.getpid(), signal.SIGKILL)

    async with opened(orders.url, clock, failpoint) as store:
        if not orders.number or orders.step.startswith("reconcile"):
            revisions = Revisions(store, SOURCE, jobs(), orders.witness)
            await revisions.declare(orders.number, clock.now())
        if not orders.number:
            return
        executor = _Witness(orders.witness, failpoint)
        engine = Engine(
            store,
            {_KIND: executor},
            clock=clock,
            settings=Settings(slots={"default": 100}, beat=LEASE / 3, recover=LEASE / 3, poll=_SECOND),
            new_id=lambda: uuid4().hex,
            failpoint=failpoint,
        )
        running = asyncio.ensure_future(engine.run())
        waits = 0
        # Something is due in each life; on a busy machine it may be long in coming.
        while executor.was_busy or (not executor.has_begun and waits < _MOST_WAITS):
            await clock.wait(_QUIET)
            waits += 1
        engine.stop()
        await running


def opened(url: str, clock: LifeClock, failpoint: _Failpoint) -> AbstractAsyncContextManager[FullStore]:
    """The store of a life; its leases are short, and who died is known to be dead."""
    return kind_of(url).open(url, clock, lease=LEASE, failpoint=failpoint)


class _Witness:
    """An executor whose every run is a line in a file."""

    def __init__(self, path: str, failpoint: _Failpoint) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._failpoint = failpoint
        self._has_acted = True
        self.has_begun = False

    @property
    def was_busy(self) -> bool:
        """Whether there was anything to do since the last asking."""
        had, self._has_acted = self._has_acted, False
        return had

    def start(self, run: Run, on_end: OnEnd) -> AskToEnd:
        """The effect comes first, then the end; a life may be over between the two."""
        attempt = run.attempt
        self._has_acted = self.has_begun = True
        os.write(self._file, f"{attempt.run_key} {attempt.number} {attempt.token} {attempt.node}\n".encode())
        self._failpoint("effect")
        asyncio.get_running_loop().call_soon(on_end, run, Result(Outcome.SUCCEEDED))
        return lambda: None
