"""`await app.finished(key)`: whoever asked for a run learns how it ended, wherever it runs."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from app.scene import NEVER, PATIENCE, play
from foliot import Foliot, JobRun, Outcome, Retry
from foliot.clock import SystemClock
from foliot.errors import (
    AppStateError,
    FoliotError,
    InvalidJobError,
    InvalidPolicyError,
    RunNotFoundError,
    WaitTimeoutError,
)
from foliot.model.decision import Event, Happening
from foliot.testing.stepper import Stepper


def test_the_last_attempt_is_the_answer(app: Foliot) -> None:
    @app.job(NEVER, retry=Retry(max=1, delay="0s"))
    def flaky(run: JobRun) -> None:
        if run.attempt == 1:
            raise ValueError("not yet")

    async def scene() -> None:
        async with app:
            key = await app.trigger("flaky")
            last = await app.finished(key, timeout="20s")
            assert (last.run_key, last.number, last.outcome) == (key, 2, Outcome.SUCCEEDED)
            assert await app.finished(key) == last

    play(scene)


def test_what_is_given_with_a_request_is_for_that_run(app: Foliot) -> None:
    seen = []

    @app.job(NEVER, retry=Retry(max=1, delay="0s"))
    def work(run: JobRun) -> None:
        seen.append(run.payload)
        if run.attempt == 1:
            raise ValueError("not yet")

    async def scene() -> None:
        async with app:
            await app.finished(await app.trigger("work", payload={"month": "2026-10"}), timeout="20s")
            await app.finished(await app.trigger("work"), timeout="20s")
            with pytest.raises(InvalidJobError, match="payload"):
                await app.trigger("work", payload=[1])  # type: ignore[arg-type] # that is the point

    play(scene)
    assert seen == [{"month": "2026-10"}] * 2 + [None] * 2


def test_an_end_in_this_process_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing but the news of its end wakes whoever waits: the looks at the store are an hour apart."""
    monkeypatch.setattr("foliot.operations.questions._LOOK_EVERY", timedelta(hours=1))
    app, go = Foliot("memory://", name="test"), asyncio.Event()

    @app.job(NEVER)
    async def work() -> None:
        await go.wait()

    async def scene() -> None:
        async with app:
            key = await app.trigger("work")
            waiting = [asyncio.ensure_future(app.finished(key)) for _ in range(3)]
            while not any(attempt.is_running for attempt in await app.history()):
                await SystemClock().wait(timedelta(milliseconds=5))
            await SystemClock().wait(timedelta(milliseconds=100))  # all of them wait by then
            go.set()
            assert {last.outcome for last in await asyncio.gather(*waiting)} == {Outcome.SUCCEEDED}

    play(scene)
    app.close()


def test_a_run_of_another_process_is_waited_for(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db"
    here, there = Foliot(url, name="test"), Foliot(url, name="test", poll="20ms")
    there.job(NEVER, name="work")(lambda: None)

    async def scene() -> None:
        async with there:
            last = await here.finished(await here.trigger("work"), timeout="20s")
            assert last.outcome is Outcome.SUCCEEDED

    play(scene)
    here.close()


def test_it_waits_from_plain_code_and_from_a_job(tmp_path: Path) -> None:
    app = Foliot(f"sqlite:///{tmp_path}/jobs.db", name="test")
    app.job(NEVER, name="first")(lambda: None)
    seen: list[Outcome | None] = []

    @app.job(NEVER)
    async def second() -> None:
        seen.append((await app.finished(await app.trigger("first"))).outcome)

    app.start()
    try:
        last = app.wait(app.finished(app.wait(app.trigger("second")), timeout="20s"))
    finally:
        app.stop()
    assert (seen, last.outcome) == ([Outcome.SUCCEEDED], Outcome.SUCCEEDED)


def test_a_time_that_is_up_is_an_error_and_the_run_goes_on(app: Foliot) -> None:
    app.job(NEVER, name="work")(lambda: None)

    async def scene() -> None:
        async with app:
            pass  # it is declared, and nobody runs it
        if app.store == "memory://":
            return
        key = await app.trigger("work")
        with pytest.raises(WaitTimeoutError, match="is still pending after"):
            await app.finished(key, timeout="10ms")
        with pytest.raises(InvalidPolicyError, match="must be a positive duration"):
            await app.finished(key, timeout="0s")
        assert (await app.history("work"))[0].is_open

    play(scene)


@pytest.mark.parametrize("odd", [5, b"x", [], "", "a\0b", "nothing", "test/work!never", None])
def test_what_is_no_run_is_not_found(app: Foliot, odd: Any) -> None:
    app.job(NEVER, name="work")(lambda: None)

    async def scene() -> None:
        async with app:
            with pytest.raises(RunNotFoundError):
                await app.finished(odd)
            with pytest.raises(FoliotError):
                await app.finished("test/work!x", timeout=odd or 5)  # type: ignore[arg-type] # that is odd, too

    play(scene)


def test_who_waits_while_the_application_stops_is_told(tmp_path: Path) -> None:
    app = Foliot(f"sqlite:///{tmp_path}/jobs.db", name="test", drain="10ms")

    @app.job(NEVER)
    async def endless() -> None:
        await asyncio.Event().wait()

    async def scene() -> None:
        async with app:
            key = await app.trigger("endless")
            waiting = asyncio.ensure_future(app.finished(key))
            while not any(attempt.is_running for attempt in await app.history()):
                await SystemClock().wait(timedelta(milliseconds=5))
        with pytest.raises(AppStateError, match="was stopped while a run was waited for"):
            await asyncio.wait_for(waiting, PATIENCE)

    play(scene)


def test_a_step_takes_as_long_as_the_run() -> None:
    app = Foliot("memory://", name="test")

    @app.job(NEVER)
    async def slow() -> None:
        await asyncio.sleep(3600)  # noqa: TID251 - of the step's own time

    with Stepper(app, at="2026-01-31T23:00:00Z") as time:
        last = app.wait(app.finished(app.wait(app.trigger("slow"))))
        assert last.outcome is Outcome.SUCCEEDED
        assert time.now.isoformat() == "2026-02-01T00:00:00+00:00"


def test_a_pause_tells_its_reason_to_listeners(app: Foliot) -> None:
    app.job(NEVER, name="work")(lambda: None)
    told: list[Event] = []
    app.listen(told.append)

    async def scene() -> None:
        async with app:
            await app.pause("work", reason="the disk is full")
            reasons = [event.reason for event in told if event.what is Happening.PAUSED]
            assert reasons == ["paused by a person: the disk is full"]

    play(scene)
