"""The executor of Python functions, without an engine: what comes back, and when."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import closing
from contextvars import ContextVar
from datetime import timedelta
from typing import Any

import pytest

from foliot.app.thread import LoopThread
from foliot.clock import SystemClock
from foliot.errors import InvalidJobError
from foliot.executors.python import JobRun, PythonExecutor, _Act, describe
from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.job import Action, Job
from foliot.protocols import AskToEnd, Result, Run
from foliot.schedules import Cron
from foliot.testing.clock import ManualClock

PATIENCE = 20


def a_run(**data: Any) -> Run:
    job = Job(source="s", name="n", schedule=Cron("@daily"), action=Action(kind="python:f", data=data))
    attempt = Attempt("s/n", 1, Trigger.SCHEDULE, AttemptState.RUNNING, ManualClock().now(), token=7)
    return Run(job, attempt)


class Stage:
    """An executor between two loops: this one is the engine's, the other the program's."""

    def __init__(self, function: Callable[..., Any], jobs_loop: asyncio.AbstractEventLoop) -> None:
        self.executor = PythonExecutor({"python:f": describe(function)}, jobs_loop=jobs_loop)
        self.results: asyncio.Queue[Result] = asyncio.Queue()

    def start(self, run: Run) -> AskToEnd:
        return self.executor.start(run, lambda _, result: self.results.put_nowait(result))

    async def result(self) -> Result:
        return await asyncio.wait_for(self.results.get(), PATIENCE)


def play(function: Callable[..., Any], scene: Callable[[Stage], Coroutine[Any, Any, None]]) -> None:
    async def act() -> None:
        thread = LoopThread("program")
        try:
            await scene(Stage(function, thread.loop))
        finally:
            thread.close()

    asyncio.run(act())


def test_a_thousand_starts_come_back_each_once() -> None:
    seen: list[int] = []

    async def work(n: int) -> None:
        seen.append(n)

    async def scene(stage: Stage) -> None:
        for n in range(1000):
            stage.start(a_run(n=n))
        results = [await stage.result() for _ in range(1000)]
        assert {result.outcome for result in results} == {Outcome.SUCCEEDED}
        assert stage.results.empty()

    play(work, scene)
    assert seen == list(range(1000))


def test_nothing_ends_before_start_has_returned() -> None:
    async def scene(stage: Stage) -> None:
        stage.start(a_run())
        assert stage.results.empty()
        await stage.result()

    play(lambda: None, scene)


@pytest.mark.parametrize("is_async", [True, False])
def test_what_is_asked_to_end_before_it_begins_never_begins(is_async: bool) -> None:  # noqa: FBT001 - a case
    calls: list[str] = []

    async def coroutine() -> None:
        calls.append("ran")

    def plain() -> None:
        calls.append("ran")

    async def scene(stage: Stage) -> None:
        stage.start(a_run())()
        assert (await stage.result()).outcome is Outcome.CANCELLED

    play(coroutine if is_async else plain, scene)
    assert calls == []


def test_a_coroutine_may_clean_up_when_it_is_asked_to_end() -> None:
    began = threading.Event()

    async def work(run: JobRun) -> None:
        began.set()
        try:
            await SystemClock().wait(timedelta(hours=1))
        finally:
            run.log("cleaned up")

    async def scene(stage: Stage) -> None:
        ask = stage.start(a_run())
        await asyncio.to_thread(began.wait, PATIENCE)
        ask()
        assert await stage.result() == Result(Outcome.CANCELLED, None, "cleaned up\n")

    play(work, scene)


def test_a_coroutine_that_cancels_itself_has_failed() -> None:
    async def work() -> None:
        raise asyncio.CancelledError

    async def scene(stage: Stage) -> None:
        stage.start(a_run())
        result = await stage.result()
        assert result.outcome is Outcome.FAILED
        assert "cancelled itself" in (result.error or "")

    play(work, scene)


def test_a_deep_traceback_is_cut_to_its_end() -> None:
    def fall(depth: int) -> None:
        if depth == 0:
            raise LookupError("bottom")
        fall(depth - 1)

    async def scene(stage: Stage) -> None:
        stage.start(a_run(depth=50))
        lines = ((await stage.result()).error or "").splitlines()
        assert lines[0] == "LookupError: bottom"
        assert lines[1] == "  …"
        assert len(lines) == 7

    play(fall, scene)


def test_a_program_whose_loop_has_ended_interrupts_its_runs() -> None:
    async def work() -> None: ...

    async def scene() -> None:
        gone = asyncio.new_event_loop()
        gone.close()
        stage = Stage(work, gone)
        stage.start(a_run())
        result = await stage.result()
        assert result.outcome is Outcome.INTERRUPTED
        assert result.error == "the program's event loop is closed"

    asyncio.run(scene())


def test_the_run_shows_itself() -> None:
    function = describe(lambda run: run)
    with closing(asyncio.new_event_loop()) as loop:
        executor = PythonExecutor({}, jobs_loop=loop)
    act = _Act(executor, a_run(), lambda *_: None, function)
    run: JobRun = act
    assert run is not None
    assert repr(run) == "<JobRun s/n@2026-01-01T00:00:00Z#1>"
    assert (run.token, run.is_asked_to_end, run.payload) == (7, False, None)


def test_the_run_shows_what_was_given_with_its_request() -> None:
    with closing(asyncio.new_event_loop()) as loop:
        executor = PythonExecutor({}, jobs_loop=loop)
    job, attempt = a_run()
    given = Run(job, attempt._replace(payload='{"a":[1]}'))
    run: JobRun = _Act(executor, given, lambda *_: None, describe(lambda run: run))
    assert run.payload == {"a": [1]}
    assert run.payload is not run.payload, "each look is a copy"


@pytest.mark.parametrize(("looks", "outcome"), [(True, Outcome.CANCELLED), (False, Outcome.SUCCEEDED)])
def test_a_function_that_was_asked_to_end_has_succeeded_unless_it_looked(
    looks: bool,  # noqa: FBT001 - a case
    outcome: Outcome,
) -> None:
    began, asked = threading.Event(), threading.Event()

    def work(run: JobRun) -> None:
        began.set()
        assert asked.wait(PATIENCE)
        if looks:
            assert run.is_asked_to_end

    async def scene(stage: Stage) -> None:
        ask = stage.start(a_run())
        await asyncio.to_thread(began.wait, PATIENCE)
        ask()
        asked.set()
        assert (await stage.result()).outcome is outcome

    play(work, scene)


def test_one_that_waits_does_not_hold_up_the_others_and_is_cancelled_alone() -> None:
    waiting = threading.Event()
    done: list[int] = []

    async def work(n: int) -> None:
        if n % 10 == 0:
            waiting.set()
            await SystemClock().wait(timedelta(hours=1))
        done.append(n)

    async def scene(stage: Stage) -> None:
        asks = [stage.start(a_run(n=n)) for n in range(100)]
        outcomes = [(await stage.result()).outcome for _ in range(90)]
        assert set(outcomes) == {Outcome.SUCCEEDED}
        for ask in asks:
            ask()  # most have ended: nothing must come of it
        late = [(await stage.result()).outcome for _ in range(10)]
        assert set(late) == {Outcome.CANCELLED}
        stage.start(a_run(n=1))
        assert (await stage.result()).outcome is Outcome.SUCCEEDED

    play(work, scene)
    assert sorted(done) == sorted([n for n in range(100) if n % 10] + [1])


def test_what_a_job_keeps_in_its_context_is_not_seen_by_the_next() -> None:
    secret: ContextVar[str] = ContextVar("secret", default="nothing")
    seen: list[str] = []

    async def work(n: int) -> None:
        seen.append(secret.get())
        secret.set(f"of {n}")

    async def scene(stage: Stage) -> None:
        for n in range(20):
            stage.start(a_run(n=n))
        for _ in range(20):
            await stage.result()

    play(work, scene)
    assert seen == ["nothing"] * 20


class Telling:
    """An object whose call is a coroutine."""

    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self) -> None:
        self.calls += 1


def test_an_object_whose_call_is_a_coroutine_is_awaited() -> None:
    work = Telling()

    async def scene(stage: Stage) -> None:
        stage.start(a_run())
        assert (await stage.result()).outcome is Outcome.SUCCEEDED

    play(work, scene)
    assert work.calls == 1


def test_a_plain_function_that_returns_a_coroutine_has_failed() -> None:
    async def inner() -> None: ...

    def wrapper() -> object:
        return inner()

    async def scene(stage: Stage) -> None:
        stage.start(a_run())
        result = await stage.result()
        assert result.outcome is Outcome.FAILED
        assert "declare the function `async def`" in (result.error or "")

    play(wrapper, scene)


def test_a_generator_is_refused_when_it_is_registered() -> None:
    def work() -> Iterator[int]:
        yield 1

    with pytest.raises(InvalidJobError, match="is a generator"):
        describe(work)


def test_an_end_that_cannot_be_told_is_an_end_all_the_same() -> None:
    def work() -> None:
        raise SyntaxError("x", ("f", 1, "bad", "text"))  # type: ignore[arg-type] # that is the trick

    async def scene(stage: Stage) -> None:
        stage.start(a_run())
        result = await stage.result()
        assert result.outcome is Outcome.FAILED
        assert "cannot be told" in (result.error or "")

    play(work, scene)
