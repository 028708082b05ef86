"""Jobs in Python code: functions, failures, time, and what a run knows of itself."""

from __future__ import annotations

import asyncio
import threading
from datetime import timedelta
from typing import Any

import pytest

from app.scene import NEVER, PATIENCE, ended, play, soon
from foliot import Foliot, Retry
from foliot.clock import SystemClock
from foliot.errors import (
    CommandRefusedError,
    InvalidPolicyError,
)
from foliot.executors.python import JobRun
from foliot.model.attempt import Outcome, Trigger

# -- jobs ------------------------------------------------------------------------------------------


def test_a_coroutine_runs_on_the_programs_loop_and_knows_its_run(app: Foliot) -> None:
    seen: list[tuple[Any, ...]] = []

    async def scene() -> None:
        loop, at = asyncio.get_running_loop(), soon()

        @app.job(at, first_seen="now")
        async def hello(run: JobRun) -> None:
            is_at_home = asyncio.get_running_loop() is loop
            seen.append((is_at_home, run.key, run.id, run.job, run.scheduled_for, run.attempt, run.trigger))
            run.log("hello", 42)
            print("there", file=run.log)

        async with app:
            [attempt] = await ended(app)
            assert attempt.outcome is Outcome.SUCCEEDED
            assert await app.log(attempt) == "hello 42\nthere\n"
        key = attempt.run_key
        assert seen == [(True, key, f"{key}#1", "hello", at.at, 1, Trigger.SCHEDULE)]

    play(scene)


@pytest.mark.parametrize("is_async", [True, False])
def test_what_a_function_logs_can_be_read_while_it_runs(app: Foliot, is_async: bool) -> None:  # noqa: FBT001
    async def scene() -> None:
        release = threading.Event()

        @app.job(NEVER)
        async def coroutine(run: JobRun) -> None:
            run.log("half of it")
            while not release.is_set():
                await SystemClock().wait(timedelta(milliseconds=10))
            run.log("all of it")

        @app.job(NEVER)
        def plain(run: JobRun) -> None:
            run.log("half of it")
            assert release.wait(PATIENCE)
            run.log("all of it")

        async with app:
            key = await app.trigger("coroutine" if is_async else "plain")
            [attempt] = await app.history()
            while await app.log(attempt) != "half of it\n":
                await SystemClock().wait(timedelta(milliseconds=20))
            release.set()
            await app.finished(key)
            assert await app.log(attempt) == "half of it\nall of it\n"

    play(scene)


def test_a_plain_function_runs_in_a_thread_and_does_not_block_the_loop(app: Foliot) -> None:
    async def scene() -> None:
        home, release = threading.current_thread(), threading.Event()
        threads: list[threading.Thread] = []

        @app.job(NEVER)
        def block() -> None:
            threads.append(threading.current_thread())
            assert release.wait(PATIENCE)

        async with app:
            for _ in range(2):
                await app.trigger("block")
            while not threads:
                await SystemClock().wait(timedelta(milliseconds=5))
            release.set()
            assert [a.outcome for a in await ended(app, count=2)] == [Outcome.SUCCEEDED] * 2
        assert home not in threads

    play(scene)


def test_a_function_that_takes_no_run_gets_none(app: Foliot) -> None:
    async def scene() -> None:
        calls: list[str] = []

        @app.job(soon(), first_seen="now")
        async def one() -> None:
            calls.append("one")

        @app.job(soon(), first_seen="now")
        def two() -> None:
            calls.append("two")

        async with app:
            await ended(app, count=2)
        assert sorted(calls) == ["one", "two"]

    play(scene)


def test_the_decorator_returns_the_function_unchanged(app: Foliot) -> None:
    async def work() -> int:
        return 7

    assert app.job("@hourly")(work) is work
    assert app.action(work, name="other") is work
    assert app.action(name="third")(work) is work


def test_an_exception_is_the_failures_text_with_a_short_traceback(app: Foliot) -> None:
    async def scene() -> None:
        @app.job(soon(), first_seen="now")
        async def fail(run: JobRun) -> None:
            run.log("before")
            raise ValueError("no money\nleft")

        @app.job(soon(), first_seen="now")
        def leave() -> None:
            raise SystemExit(3)

        async with app:
            attempts = {attempt.job: attempt for attempt in await ended(app, count=2)}
            error = attempts["test/fail"].error or ""
            assert error.startswith("ValueError: no money\nleft\n  ")
            assert __file__ in error
            assert "in fail" in error
            assert "foliot/executors" not in error
            assert await app.log(attempts["test/fail"]) == "before\n"
            assert (attempts["test/leave"].error or "").startswith("SystemExit: 3")
        assert {attempt.outcome for attempt in attempts.values()} == {Outcome.FAILED}

    play(scene)


def test_a_failure_is_tried_again_under_the_same_key(app: Foliot) -> None:
    async def scene() -> None:
        tries: list[str] = []

        @app.job(soon(), first_seen="now", retry=Retry(max=2, delay="1s"))
        async def flaky(run: JobRun) -> None:
            tries.append(run.key)
            if run.attempt == 1:
                raise OSError("not yet")

        async with app:
            attempts = await ended(app, count=2)
        assert [a.outcome for a in attempts] == [Outcome.FAILED, Outcome.SUCCEEDED]
        assert len(set(tries)) == 1

    play(scene)


def test_a_coroutine_that_takes_too_long_is_cancelled(app: Foliot) -> None:
    async def scene() -> None:
        cleaned_up = asyncio.Event()

        @app.job(soon(), first_seen="now", timeout="100ms")
        async def slow(run: JobRun) -> None:
            run.log("begins")
            try:
                await SystemClock().wait(timedelta(seconds=PATIENCE))
            finally:
                cleaned_up.set()

        async with app:
            [attempt] = await ended(app)
            assert attempt.outcome is Outcome.TIMED_OUT
            assert attempt.error == "did not end within 100ms"
            assert await app.log(attempt) == "begins\n"
        assert cleaned_up.is_set()

    play(scene)


def test_a_person_cancels_a_run_and_a_thread_can_see_it(app: Foliot) -> None:
    async def scene() -> None:
        began = threading.Event()

        @app.job(NEVER)
        def stubborn(run: JobRun) -> None:
            began.set()
            while not run.is_asked_to_end:
                SystemClock().sleep(0.01)

        async with app:
            key = await app.trigger("stubborn")
            await asyncio.to_thread(began.wait, PATIENCE)
            await app.cancel(key)
            [attempt] = await ended(app)
            with pytest.raises(CommandRefusedError, match="the run has ended: cancelled"):
                await app.cancel(key)
        assert attempt.outcome is Outcome.CANCELLED

    play(scene)


def test_a_splay_is_a_duration_of_a_second_to_a_day() -> None:
    app = Foliot("memory://")
    app.job("@daily", name="good", splay="30m")(lambda: None)
    with pytest.raises(InvalidPolicyError, match="must lie between 1s and 1d"):
        app.job("@daily", name="long", splay="25h")(lambda: None)
    with pytest.raises(InvalidPolicyError, match="splay"):
        app.job("@daily", name="wrong", splay="soon")(lambda: None)
