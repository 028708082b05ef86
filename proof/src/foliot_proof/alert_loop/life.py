"""One life: an engine whose jobs fail, and that tells of it, and dies where it was told to."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import uuid4

from foliot.alerts.channel import Sent
from foliot.alerts.rate import Rate
from foliot.alerts.webhook import Webhook
from foliot.app.alerts import AlertsPart
from foliot.app.part import Workplace
from foliot.engine.engine import Engine
from foliot.engine.reconciler import reconcile
from foliot.engine.settings import Settings
from foliot.model.alert import Alert
from foliot.model.attempt import Outcome
from foliot.model.job import Action, Job
from foliot.model.policy import Keep, Notify, OnLost, Policy
from foliot.protocols import AskToEnd, OnEnd, Result, Run, Snapshot
from foliot.schedules import Every
from foliot.wiring import FullStore
from foliot_proof.kill_loop.life import BEGIN, LEASE, STEP, LifeClock, opened

SOURCE = "alert-loop"
CHANNELS = ("ops", "admins")
STEPS = (
    "before_finish", "finish:before_commit", "finish:after_commit", "finished", "update:before_commit",
    "update:after_commit", "claimed", "sending", "sent", "settle:before_commit", "settle:after_commit",
    "recover:before_commit", "recover:after_commit",
)  # fmt: skip
_KIND = "alert-loop"
_LOOKS = timedelta(milliseconds=30)
_RATE = Rate(100_000)
_SECOND = timedelta(seconds=1)


class Orders(NamedTuple):
    """Which life this is, where it leads, and where it ends; without a step it ends when all is told."""

    number: int
    store: str  # its URL
    hook: str
    step: str = ""


def jobs() -> tuple[Job, ...]:
    """Jobs that come due when a life begins; they differ in what follows if their node dies."""
    notify = Notify(CHANNELS, on=("failure", "recovery"), remind=None)
    keep = Keep(last=None, days=None)
    return tuple(
        Job(
            source=SOURCE, name=name, schedule=Every(STEP), action=Action(kind=_KIND),
            policy=Policy(notify=notify, keep=keep, on_lost=on_lost),
        )
        for name, on_lost in (("restarts", OnLost.RESTART), ("gives-up", OnLost.GIVE_UP))
    )  # fmt: skip


def is_to_fail(occurrence: datetime) -> bool:
    """Two of three occurrences fail; then one succeeds."""
    return (occurrence - BEGIN) // STEP % 3 != 0


def live(orders: Orders) -> None:
    """Lead a life; it returns only if it ends in peace."""
    asyncio.run(_live(orders))


async def _live(orders: Orders) -> None:
    clock = LifeClock(BEGIN + orders.number * STEP)

    def failpoint(step: str) -> None:
        if step == orders.step:
            os.kill(os.getpid(), signal.SIGKILL)

    async with opened(orders.store, clock, failpoint) as store:
        if not orders.number:
            await reconcile(store, SOURCE, Snapshot("r1", jobs()), clock.now())
            return
        part = AlertsPart({name: _Channel(f"{orders.hook}/{name}", failpoint) for name in CHANNELS}, _LOOKS)
        place = Workplace(store, clock, LEASE, lambda _: engine.wake(), _ignore, _ignore)
        executors = {_KIND: _Moody(), **await part.begin(place)}
        engine = Engine(
            store,
            executors,
            clock=clock,
            settings=Settings(slots={"default": 100}, beat=LEASE / 3, recover=LEASE / 3, poll=_SECOND),
            new_id=lambda: uuid4().hex,
            failpoint=failpoint,
        )
        parts = asyncio.ensure_future(engine.run()), asyncio.ensure_future(part.live())
        while orders.step or not await _is_done(store, executors[_KIND]):
            await clock.wait(_LOOKS)
        parts[1].cancel()
        engine.stop()
        await parts[0]


async def _is_done(store: FullStore, executor: object) -> bool:
    """Whether something has run, and nothing waits to be told."""
    return isinstance(executor, _Moody) and executor.has_acted and not await store.waiting_channels()


def _ignore(*_: object) -> None:
    """Metrics and logs are not looked at."""


class _Channel(Webhook):
    """A webhook with a place to die before its message is out, and one after."""

    def __init__(self, url: str, failpoint: Callable[[str], None]) -> None:
        super().__init__(url, rate=_RATE)
        self._failpoint = failpoint

    async def send(self, messages: Sequence[Alert]) -> Sent:
        self._failpoint("sending")
        answer = await super().send(messages)
        self._failpoint("sent")
        return answer


class _Moody:
    """An executor whose runs fail or succeed by their occurrence, however often they are tried."""

    def __init__(self) -> None:
        self.has_acted = False

    def start(self, run: Run, on_end: OnEnd) -> AskToEnd:
        self.has_acted = True
        fails = is_to_fail(run.attempt.scheduled_for)
        result = Result(Outcome.FAILED, "as it was told") if fails else Result(Outcome.SUCCEEDED)
        asyncio.get_running_loop().call_soon(on_end, run, result)
        return lambda: None
