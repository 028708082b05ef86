"""A flood of failures: few messages that name all of them, and other jobs that do not feel it.

Time is virtual, and each call to the store takes some of it, one after another: who asks more of the store
makes others late. So lateness is counted work, the same on every machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pytest

from foliot.alerts.channel import SENT, Sent
from foliot.alerts.rate import Rate
from foliot.app.alerts import AlertsPart
from foliot.app.part import Workplace
from foliot.clock import wait_on_loop
from foliot.engine.engine import Engine
from foliot.engine.reconciler import reconcile
from foliot.engine.settings import Settings
from foliot.model.alert import Alert
from foliot.model.attempt import Outcome
from foliot.model.job import Action, Job
from foliot.model.policy import Notify, Policy
from foliot.protocols import AlertQuery, AskToEnd, JobQuery, OnEnd, Result, Run, Snapshot
from foliot.schedules import Every
from foliot.stores.memory import MemoryStore
from foliot.testing.virtual_loop import run_virtually

NOW = datetime(2026, 11, 16, 9, 59, 50, tzinfo=UTC)
FAILING, PUNCTUAL = 2000, 20
CALL, ROW = 0.002, 0.00002  # seconds that the store needs for a call, and for each row that is asked for
MINUTE = timedelta(minutes=1)
DECIDING = ("claim", "finish", "update", "waiting", "waiting_channels", "settle", "alerts", "jobs", "wakes")


class LoopClock:
    """The time of the virtual loop."""

    def now(self) -> datetime:
        return NOW + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    async def wait(self, duration: timedelta, until: asyncio.Event | None = None) -> None:
        await wait_on_loop(duration, until)


class SlowStore(MemoryStore):
    """A store that does one thing at a time, and takes its time."""

    def __init__(self, clock: LoopClock) -> None:
        super().__init__(clock)
        self._turn = asyncio.Lock()
        for verb in DECIDING:
            setattr(self, verb, self._slowly(getattr(self, verb)))

    def _slowly(self, act: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def act_slowly(*arguments: Any, **options: Any) -> Any:
            rows = sum(map(rows_of, arguments))
            async with self._turn:
                await asyncio.sleep(CALL + rows * ROW)  # noqa: TID251 - virtual time
                return await act(*arguments, **options)

        return act_slowly


def rows_of(argument: object) -> int:
    """How many rows an argument asks for: by its number, its limit, or its ids."""
    if isinstance(argument, int | list):
        return argument if isinstance(argument, int) else len(argument)
    return argument.limit if isinstance(argument, AlertQuery | JobQuery) else 0


class Work:
    """Jobs that fail, and jobs that note how late they started."""

    def __init__(self, clock: LoopClock) -> None:
        self._clock = clock
        self.lateness: list[timedelta] = []
        self.failures = 0

    def start(self, run: Run, on_end: OnEnd) -> AskToEnd:
        fails = run.job.source == "failing"
        if fails:
            self.failures += 1
        else:
            self.lateness.append(self._clock.now() - run.attempt.scheduled_for)
        result = Result(Outcome.FAILED, "no route to host") if fails else Result(Outcome.SUCCEEDED)
        asyncio.get_running_loop().call_later(0.1, on_end, run, result)
        return lambda: None


class Recorder:
    """A channel that takes a second for each message."""

    rate = Rate()

    def __init__(self) -> None:
        self.messages: list[Sequence[Alert]] = []

    def describe(self) -> str:
        return "a recorder"

    def missing(self) -> None:
        return None

    async def send(self, messages: Sequence[Alert]) -> Sent:
        await asyncio.sleep(1)  # noqa: TID251 - virtual time
        self.messages.append(messages)
        return SENT


class Outcomes(NamedTuple):
    messages: list[Sequence[Alert]]
    lateness: list[timedelta]
    failures: int


async def flood(*, with_alerts: bool) -> Outcomes:
    """2,000 jobs fail within a minute, by their splay, beside 20 that run every second."""
    clock = LoopClock()
    store, work, recorder = SlowStore(clock), Work(clock), Recorder()
    policy = Policy(splay=MINUTE, notify=Notify("ops") if with_alerts else None)
    action = Action(kind="work")
    for source, count, schedule, kept in (
        ("failing", FAILING, Every("1h"), policy),
        ("punctual", PUNCTUAL, Every("1s"), Policy()),
    ):
        jobs = tuple(
            Job(source=source, name=f"job-{n}", schedule=schedule, action=action, policy=kept)
            for n in range(count)
        )
        await reconcile(store, source, Snapshot("r1", jobs), clock.now())
    executors: dict[str, Any] = {"work": work}
    part = AlertsPart({"ops": recorder} if with_alerts else {})
    place = Workplace(store, clock, MINUTE, lambda _: engine.wake(), lambda _: None, lambda *_: None)
    executors |= await part.begin(place)
    engine = Engine(
        store,
        executors,
        clock=clock,
        settings=Settings(slots={"default": 5000}),
        new_id=iter(f"id-{n}" for n in range(1_000_000)).__next__,
    )
    tasks = [asyncio.ensure_future(engine.run()), asyncio.ensure_future(part.live())]
    await clock.wait(6 * MINUTE)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return Outcomes(recorder.messages, work.lateness, work.failures)


@pytest.mark.prove
@pytest.mark.req("OWN-04")
def test_a_flood_is_twenty_messages_at_most_and_makes_no_other_job_late() -> None:
    calm, told = run_virtually(flood(with_alerts=False)), run_virtually(flood(with_alerts=True))

    assert calm.failures == told.failures == FAILING
    assert len(told.messages) <= 20
    names = [alert.job for message in told.messages for alert in message]
    assert sorted(names) == sorted(f"failing/job-{n}" for n in range(FAILING))
    assert len(told.lateness) == len(calm.lateness) > PUNCTUAL * 300
    # A call for alerts may be under way when a job comes due. None of them asks for thousands of rows.
    assert max(told.lateness) <= max(calm.lateness) + timedelta(seconds=CALL + 500 * ROW)
    assert sum(told.lateness, timedelta(0)) <= 1.1 * sum(calm.lateness, timedelta(0))
