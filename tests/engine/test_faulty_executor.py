"""Executors are somebody else's code: breaking the contract costs a run at most, never the node."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, cast

import pytest

from engine.stage import LEASE, MINUTE, SECOND, Player, Stage, job, staged
from foliot.engine.plan_command import Cancel, plan_command
from foliot.errors import StoreError, StoreUnavailableError
from foliot.executors.task import TaskExecutor
from foliot.model.attempt import Outcome
from foliot.model.job import Job
from foliot.protocols import AskToEnd, OnEnd, Pruned, Result, Run
from foliot.stores.memory import MemoryStore

HOUR = timedelta(hours=1)
QUITS = [OSError("the broker is away"), SystemExit(1), KeyboardInterrupt(), asyncio.CancelledError()]


def _names(error: BaseException) -> str:
    return type(error).__name__


class Stubborn(Player):
    """Cannot be asked to end: asking raises."""

    def __init__(self, stage: Stage, error: BaseException) -> None:
        super().__init__(stage)
        self.error = error
        self.asked = 0

    def start(self, run: Run, on_end: OnEnd) -> AskToEnd:
        super().start(run, on_end)
        return self._ask

    def _ask(self) -> None:
        self.asked += 1
        raise self.error


@pytest.mark.parametrize("error", QUITS, ids=_names)
def test_an_executor_that_cannot_be_asked_to_end_costs_no_node(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    @staged
    async def life(stage: Stage) -> None:
        stage.takes = 90 * SECOND
        executor = Stubborn(stage, error)
        await stage.declare(
            job("a", "1 0 * * *"), job("b", "1 0 * * *"), job("c", "1 0 * * *", timeout=10 * SECOND)
        )
        await stage.start(executors={"x": executor})
        await stage.clock.advance(MINUTE + SECOND)
        now = stage.clock.now()
        for _, key, _ in stage.starts[:2]:
            name = key.partition("@")[0]
            await stage.store.update(name, lambda record, key=key: plan_command(record, Cancel(key), now))  # type: ignore[misc]

        await stage.clock.advance(30 * SECOND)

        assert executor.asked == 3
        assert len(await stage.runs(is_open=True)) == 3, "what cannot be ended is held until it ends"
        await stage.clock.advance(2 * MINUTE)
        outcomes = {attempt.job: attempt.outcome for attempt in await stage.runs()}
        assert outcomes == {
            "code/a": Outcome.CANCELLED,
            "code/b": Outcome.CANCELLED,
            "code/c": Outcome.TIMED_OUT,
        }

    with caplog.at_level(logging.ERROR, "foliot"):
        life()
    assert [r.getMessage() for r in caplog.records] == ["executor_failed kind=x"], "once for each kind"


class Odd(Player):
    """Reports ends as a test says."""

    def __init__(self, stage: Stage, report: Callable[[Run, OnEnd], None]) -> None:
        super().__init__(stage)
        self.report = report

    def start(self, run: Run, on_end: OnEnd) -> AskToEnd:
        self.stage.starts.append((self.stage.clock.now(), run.attempt.run_key, run.attempt.number))
        asyncio.get_running_loop().call_soon(self.report, run, on_end)
        return lambda: None


@staged
async def test_an_end_that_is_told_twice_counts_once_and_frees_one_slot(stage: Stage) -> None:
    def report(run: Run, on_end: OnEnd) -> None:
        on_end(run, Result(Outcome.SUCCEEDED))
        on_end(run, Result(Outcome.FAILED, "again"))

    await stage.declare(*(job(f"n{number}", "1 0 * * *") for number in range(4)))
    engine = await stage.start(executors={"x": Odd(stage, report)}, slots=2)
    await stage.clock.advance(2 * MINUTE)

    assert {attempt.outcome for attempt in await stage.runs()} == {Outcome.SUCCEEDED}
    assert engine._runner.busy("default") == 0


@staged
async def test_an_end_is_that_of_the_run_that_it_was_made_for(stage: Stage) -> None:
    """An executor that mixes up its runs: the callback knows whose it is."""
    others: list[Run] = []

    def report(run: Run, on_end: OnEnd) -> None:
        others.append(run)
        on_end(others[0], Result(Outcome.SUCCEEDED))

    await stage.declare(job("a", "1 0 * * *"), job("b", "1 0 * * *"))
    await stage.start(executors={"x": Odd(stage, report)})
    await stage.clock.advance(2 * MINUTE)

    assert {a.job: a.outcome for a in await stage.runs()} == {
        "code/a": Outcome.SUCCEEDED,
        "code/b": Outcome.SUCCEEDED,
    }


@staged
async def test_an_end_without_a_result_is_a_failure(stage: Stage) -> None:
    def report(run: Run, on_end: OnEnd) -> None:
        on_end(run, cast("Any", None))

    await stage.declare(job(rule="1 0 * * *"))
    await stage.start(executors={"x": Odd(stage, report)})
    await stage.clock.advance(2 * MINUTE)

    [attempt] = await stage.runs()
    assert (attempt.outcome, attempt.error) == (Outcome.FAILED, "its executor gave no result, but None")


@staged
async def test_an_end_that_is_told_within_the_start_leaves_no_watch_behind(stage: Stage) -> None:
    class Hasty(Player):
        def start(self, run: Run, on_end: OnEnd) -> AskToEnd:
            on_end(run, Result(Outcome.SUCCEEDED))
            return lambda: None

    await stage.declare(job(rule="1 0 * * *", timeout=HOUR))
    await stage.start(executors={"x": Hasty(stage)})
    before = len(asyncio.all_tasks())
    await stage.clock.advance(2 * MINUTE)

    [attempt] = await stage.runs()
    assert attempt.outcome is Outcome.SUCCEEDED
    assert len(asyncio.all_tasks()) == before


@pytest.mark.parametrize("error", QUITS, ids=_names)
def test_an_executor_that_raises_anything_at_a_start_fails_the_run(error: BaseException) -> None:
    class Broken(Player):
        def start(self, *_: object) -> AskToEnd:
            raise error

    @staged
    async def life(stage: Stage) -> None:
        await stage.declare(job())
        await stage.start(executors={"x": Broken(stage)})
        await stage.clock.advance(2 * MINUTE + SECOND)
        assert [a.outcome for a in await stage.runs()] == [Outcome.FAILED] * 2

    life()


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt()], ids=_names)
def test_a_task_that_wants_to_end_the_program_fails_the_run(error: BaseException) -> None:
    class Quitter(TaskExecutor):
        async def execute(self, _: Run) -> Result:
            raise error

    @staged
    async def life(stage: Stage) -> None:
        await stage.declare(job(rule="1 0 * * *"))
        await stage.start(executors={"x": Quitter()})
        await stage.clock.advance(2 * MINUTE + SECOND)
        [attempt] = await stage.runs()
        assert attempt.outcome is Outcome.FAILED
        assert (attempt.error or "").startswith(type(error).__name__)

    life()


@pytest.mark.parametrize("error", QUITS, ids=_names)
def test_an_executor_that_cannot_say_what_fits_is_told_of_once(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    class Picky(Player):
        def fits(self, _: Job) -> bool:
            raise error

        def on_passed_over(self, jobs: Sequence[Job]) -> None:
            """Nothing can be done about it."""

    @staged
    async def life(stage: Stage) -> None:
        await stage.declare(job())
        await stage.start(executors={"x": Picky(stage)})
        await stage.clock.advance(3 * MINUTE)
        assert not stage.starts

    with caplog.at_level(logging.ERROR, "foliot"):
        life()
    assert [r.getMessage() for r in caplog.records] == ["executor_failed kind=x"]


# -- what nobody expected --------------------------------------------------------------------------


class Doomed(MemoryStore):
    """A store with a defect that shows when the test says so, in a verb that the test names."""

    error: Exception | None = None
    verb = "prune"

    async def prune(self, *args: Any, **options: Any) -> Pruned:
        self._perhaps("prune")
        return await super().prune(*args, **options)

    async def recover(self, *args: Any, **options: Any) -> Any:
        self._perhaps("recover")
        return await super().recover(*args, **options)

    async def finish(self, *args: Any) -> Any:
        self._perhaps("finish")
        return await super().finish(*args)

    async def leave(self, node: str) -> None:
        self._perhaps("leave")
        await super().leave(node)

    def _perhaps(self, verb: str) -> None:
        if self.error is not None and verb == self.verb:
            raise self.error


async def _fail(stage: Stage, store: Doomed, error: Exception, verb: str = "prune") -> None:
    """A node with one run that has just ended and one that goes on; then the store's defect shows."""
    stage.store = store
    stage.takes = HOUR
    await stage.declare(job(rule="1 0 * * *"))
    await stage.start(store)
    await stage.clock.advance(MINUTE + SECOND)
    assert len(stage.starts) == 1
    store.verb, store.error = verb, error
    await stage.clock.advance(2 * MINUTE)
    [(_, life)] = stage._lives
    stage._lives.clear()
    async with asyncio.timeout(60):
        with pytest.raises(type(error)):
            await life


@pytest.mark.parametrize(
    ("verb", "error"),
    [
        ("prune", TypeError("a defect")),
        ("recover", TypeError("a defect")),
        ("recover", StoreError("a newer schema")),
    ],
    ids=_names,
)
def test_a_defect_ends_what_runs_and_the_node_leaves(verb: str, error: Exception) -> None:
    @staged
    async def life(stage: Stage) -> None:
        store = Doomed(stage.clock, lease=LEASE)
        await _fail(stage, store, error, verb)

        store.error = None
        assert (await store.overview()).nodes == (), "others need not wait for its lease to run out"
        await stage.clock.advance(MINUTE)
        assert not [task for task in asyncio.all_tasks() if "Player" in repr(task)], "nothing runs on"

    life()


@pytest.mark.parametrize("error", [TypeError("a defect"), StoreUnavailableError("leave", "gone")], ids=_names)
def test_a_node_that_cannot_even_leave_raises_what_was_first(error: Exception) -> None:
    @staged
    async def life(stage: Stage) -> None:
        store = Doomed(stage.clock, lease=LEASE)
        real = Doomed.leave

        async def leave(node: str) -> None:
            await real(store, node)
            raise error

        store.leave = leave  # type: ignore[method-assign] # a second defect
        await _fail(stage, store, ValueError("the first"))

    life()


@staged
async def test_what_had_ended_before_a_defect_showed_is_still_reported(stage: Stage) -> None:
    class Stuck(Doomed):
        is_stuck = False

        async def finish(self, *args: Any) -> Any:
            if self.is_stuck:
                raise StoreUnavailableError("finish", "not now")
            return await super().finish(*args)

    store = Stuck(stage.clock, lease=LEASE)
    stage.store = store
    await stage.declare(job(rule="1 0 * * *"))
    await stage.start(store)
    store.is_stuck = True
    await stage.clock.advance(MINUTE + 3 * SECOND)
    [attempt] = await stage.runs()
    assert attempt.outcome is None

    def show() -> None:
        store.is_stuck, store.error = False, TypeError("a defect")
        raise TypeError("a defect")

    async def prune(*_: Any) -> Pruned:
        show()
        return Pruned()

    store.prune = prune  # type: ignore[method-assign] # shows its defect and is back in the same moment
    store.verb = "prune"
    await stage.clock.advance(2 * MINUTE)
    [(_, life)] = stage._lives
    stage._lives.clear()
    with pytest.raises(TypeError):
        await life
    [attempt] = await stage.runs()
    assert attempt.outcome is Outcome.SUCCEEDED
