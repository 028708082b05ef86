"""Who may end an application, from where, and what is left of it then."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.scene import NEVER, PATIENCE, ended, play
from foliot import Event, Foliot
from foliot.errors import AppStateError, InvalidJobError
from foliot.model.attempt import Outcome


def engine_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("foliot-")}


# -- what is left ----------------------------------------------------------------------------------


def test_an_application_that_has_ended_leaves_no_thread(tmp_path: Path) -> None:
    async def scene() -> None:
        before = engine_threads()
        for number in range(5):
            async with Foliot(f"sqlite:///{tmp_path}/{number}.db") as app:
                await app.jobs()
        assert engine_threads() == before

    play(scene)


def test_an_application_that_cannot_begin_leaves_no_thread(tmp_path: Path) -> None:
    async def scene() -> None:
        before = engine_threads()
        app = Foliot(f"sqlite:///{tmp_path}/nowhere/jobs.db")
        with pytest.raises(ValueError, match="there is no folder"):
            await app.__aenter__()
        with pytest.raises(ValueError, match="there is no folder"):
            await app.run()
        with pytest.raises(ValueError, match="there is no folder"):
            await asyncio.to_thread(app.start)
        assert engine_threads() == before

    play(scene)


def test_calls_that_are_under_way_when_the_block_ends_are_answered(tmp_path: Path) -> None:
    async def scene() -> None:
        before = engine_threads()
        app = Foliot(f"sqlite:///{tmp_path}/jobs.db")
        app.action(lambda: None, name="work")
        async with app:
            calls = [asyncio.ensure_future(app.schedule(f"j{n}", NEVER, "work")) for n in range(50)]
            await asyncio.sleep(0)  # noqa: TID251 - a turn: they have begun
        await asyncio.gather(*calls)
        assert engine_threads() == before
        assert len(await app.jobs()) == 50
        app.close()
        assert engine_threads() == before

    play(scene)


# -- from where ------------------------------------------------------------------------------------


def refusal_of(stop: Callable[[], None], refusals: list[AppStateError]) -> None:
    try:
        stop()
    except AppStateError as error:
        refusals.append(error)
        raise


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("has_loop", [False, True])
def test_a_job_cannot_stop_what_runs_it_and_is_told_so_at_once(
    tmp_path: Path, *, is_async: bool, has_loop: bool
) -> None:
    app, refusals = Foliot(f"sqlite:///{tmp_path}/jobs.db"), list[AppStateError]()

    async def coroutine() -> None:
        refusal_of(app.stop, refusals)

    def plain() -> None:
        refusal_of(app.stop, refusals)

    app.job(NEVER, name="work")(coroutine if is_async else plain)

    async def scene() -> None:
        async with app:
            await app.trigger("work")
            [attempt] = await ended(app)
        assert attempt.outcome is Outcome.FAILED
        assert "cannot stop what runs it" in str(attempt.error)

    if has_loop:
        play(scene)
    else:
        app.start()
        app.wait(app.trigger("work"))
        [attempt] = app.wait(ended(app))
        app.stop()
        assert attempt.outcome is Outcome.FAILED
    assert "have the program stop it" in str(refusals[0].hint)


def test_a_thread_and_a_task_of_a_job_are_part_of_it(tmp_path: Path) -> None:
    app, refusals = Foliot(f"sqlite:///{tmp_path}/jobs.db"), list[AppStateError]()

    @app.job(NEVER)
    async def work() -> None:
        with pytest.raises(AppStateError):
            await asyncio.to_thread(refusal_of, app.stop, refusals)

    async def scene() -> None:
        async with app:
            await app.trigger("work")
            [attempt] = await ended(app)
            assert attempt.outcome is Outcome.SUCCEEDED
        assert len(refusals) == 1

    play(scene)


def test_a_job_may_stop_another_application(tmp_path: Path) -> None:
    app, other = Foliot(f"sqlite:///{tmp_path}/jobs.db"), Foliot("memory://", name="other")
    app.job(NEVER, name="work")(other.stop)

    async def scene() -> None:
        other.start()
        async with app:
            await app.trigger("work")
            [attempt] = await ended(app)
        assert attempt.outcome is Outcome.SUCCEEDED
        assert not any("other" in thread.name for thread in engine_threads())

    play(scene)


def test_a_listener_cannot_stop_what_tells_it(tmp_path: Path) -> None:
    app, refusals = Foliot(f"sqlite:///{tmp_path}/jobs.db"), list[AppStateError]()
    app.job(NEVER, name="work")(lambda: None)

    @app.listen
    def listener(_: Event) -> None:
        refusal_of(app.stop, refusals)

    async def scene() -> None:
        async with app:
            await app.trigger("work")
            await ended(app)
        assert "cannot stop what runs it" in str(refusals[0])

    play(scene)


@pytest.mark.parametrize("listener", [7, None, "print"])
def test_what_the_engine_cannot_call_is_no_listener(listener: Any) -> None:
    with pytest.raises(InvalidJobError, match="listener"):
        Foliot("memory://").listen(listener)


def test_a_coroutine_function_is_no_listener() -> None:
    async def listener(_: Event) -> None: ...

    with pytest.raises(InvalidJobError, match="listener") as caught:
        Foliot("memory://").listen(listener)  # type: ignore[arg-type] # what people write by mistake
    assert caught.value.hint


def test_stop_on_the_loop_of_the_jobs_is_refused_at_once_and_the_block_still_ends_well(
    tmp_path: Path,
) -> None:
    app = Foliot(f"sqlite:///{tmp_path}/jobs.db")
    began, ends = asyncio.Event(), asyncio.Event()

    @app.job(NEVER)
    async def work() -> None:
        began.set()
        await ends.wait()

    async def scene() -> None:
        async with app:
            await app.trigger("work")
            await began.wait()
            with pytest.raises(AppStateError, match="block the event loop") as caught:
                app.stop()
            assert "async with" in str(caught.value.hint)
            ends.set()
        [attempt] = await app.history()
        assert attempt.outcome is Outcome.SUCCEEDED
        app.close()

    play(scene)


def test_a_thread_of_the_program_may_stop_what_a_block_has_started(tmp_path: Path) -> None:
    app = Foliot(f"sqlite:///{tmp_path}/jobs.db")

    async def scene() -> None:
        before = engine_threads()
        async with app:
            await asyncio.wait_for(asyncio.to_thread(app.stop), PATIENCE)
        assert engine_threads() == before

    play(scene)
