"""Jobs that are scheduled while a program runs, and what people ask of them."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from app.scene import NEVER, ended, play, soon
from foliot import Cron, Every, Foliot, Once
from foliot.app.status import JobStatus
from foliot.clock import SystemClock
from foliot.errors import (
    JobNotFoundError,
)
from foliot.executors.python import JobRun
from foliot.model.attempt import Outcome
from foliot.model.decision import Event, Happening
from foliot.why import Verdict

# -- scheduling ------------------------------------------------------------------------------------


def test_jobs_are_scheduled_with_a_payload_while_the_program_runs(app: Foliot) -> None:
    async def scene() -> None:
        told: list[tuple[int, list[str]]] = []

        @app.action
        async def remind(run: JobRun, user_id: int, tags: list[str]) -> None:
            run.log(user_id)
            told.append((user_id, tags))
            tags.append("changed by the job")  # its own copy

        async with app:
            await app.schedule("r-42", soon(), remind, payload={"user_id": 42, "tags": ["a"]})
            await ended(app)
            await app.trigger("r-42")
            await ended(app, "r-42", count=2)
        assert told == [(42, ["a", "changed by the job"])] * 2

    play(scene)


def test_what_is_scheduled_for_a_moment_that_has_passed_runs_at_once(app: Foliot) -> None:
    async def scene() -> None:
        app.action(lambda: None, name="noop")

        def past() -> Once:
            return Once(SystemClock().now())

        async with app:
            await app.schedule("x", past(), "noop")
            await ended(app, "x")
            await app.schedule("x", past(), "noop")  # changed
            await ended(app, "x", count=2)
            await app.unschedule("x")
            await app.schedule("x", past(), "noop")  # back again
            await ended(app, "x", count=3)
            assert len({attempt.run_key for attempt in await app.history("x")}) == 3

    play(scene)


def test_many_are_scheduled_from_any_iterable_in_batches(app: Foliot) -> None:
    async def scene() -> None:
        app.action(lambda n: n, name="noop")

        async def stream() -> Any:
            for n in range(3):
                yield f"s{n}", NEVER, "noop", {"n": n}

        count = await app.schedule_many((f"j{n}", NEVER, "noop", {"n": n}) for n in range(10_001))
        assert count == 10_001
        assert await app.schedule_many(stream(), queue="slow") == 3
        assert await app.schedule_many([]) == 0
        assert len(await app.jobs()) == 10_004

    play(scene)


def test_scheduling_again_changes_and_unscheduling_removes(app: Foliot) -> None:
    async def scene() -> None:
        app.action(lambda: None, name="noop")
        await app.schedule("x", NEVER, "noop")
        await app.schedule("x", Cron("0 9 * * *"), "noop")
        [status] = await app.jobs()
        assert status.schedule == "0 9 * * *"
        await app.unschedule("x")
        assert await app.jobs() == []
        with pytest.raises(JobNotFoundError):
            await app.unschedule("x")

    play(scene)


def test_calls_at_the_same_time_share_their_writes_and_each_gets_its_own_answer(app: Foliot) -> None:
    async def scene() -> None:
        app.action(lambda: None, name="noop")
        await asyncio.gather(*(app.schedule(f"j{n}", NEVER, "noop") for n in range(50)))
        assert len(await app.jobs()) == 50

    play(scene)


def test_a_new_release_changes_the_codes_jobs_and_leaves_the_others_alone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db"

    async def release(*names: str) -> list[str]:
        app = Foliot(url)
        app.action(lambda: None, name="noop")
        for name in names:
            app.job(NEVER, name=name)(lambda: None)
        async with app:
            if names == ("a", "b"):
                await app.schedule("added", NEVER, "noop")
            found = sorted(status.name for status in await app.jobs())
        app.close()
        return found

    async def scene() -> None:
        assert await release("a", "b") == ["a", "added", "b"]
        assert await release("b", "c") == ["added", "b", "c"]

    play(scene)


def test_a_job_declared_while_it_runs_runs_too(app: Foliot) -> None:
    async def scene() -> None:
        async with app:
            ran = asyncio.Event()

            @app.job(soon(), first_seen="now")
            async def late() -> None:
                ran.set()

            await app.trigger("late")  # it is there at once
            await ran.wait()
            assert [status.name for status in await app.jobs()] == ["late"]

    play(scene)


# -- people ----------------------------------------------------------------------------------------


def test_a_request_that_is_made_twice_runs_once(app: Foliot) -> None:
    async def scene() -> None:
        app.job(NEVER, name="x")(lambda: None)
        async with app:
            key = await app.trigger("x", request="order-7")
            assert key == "test/x!order-7"
            assert await app.trigger("x", request="order-7") == key, "it may still be open"
            await ended(app)
            assert await app.trigger("x", request="order-7", payload={"more": 1}) == key
            assert [(a.number, a.payload) for a in await app.history("x")] == [(1, None)]

    play(scene)


def test_a_paused_job_rests_until_it_is_resumed(app: Foliot) -> None:
    async def scene() -> None:
        app.job(Every("1s"), name="x")(lambda: None)
        async with app:
            await app.pause("x")
            [status] = await app.jobs()
            assert status.is_paused
            assert (await app.why("x")).verdict is Verdict.WILL_NOT
            await app.resume("x")
            await ended(app)

    play(scene)


def test_an_action_that_is_registered_nowhere_is_not_run_and_is_shown(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db"

    async def scene() -> None:
        old, new = Foliot(url), Foliot(url)
        old.action(lambda: None, name="gone")
        new.job(soon(), first_seen="now", name="here")(lambda: None)
        await old.schedule("orphan", soon(), "gone")
        async with new:
            await ended(new, "here")
            statuses: dict[str, JobStatus] = {status.name: status for status in await new.jobs()}
            assert statuses["orphan"].problem == "its action python:gone is not registered in this program"
            assert statuses["here"].problem is None
            assert "not registered" in str(await new.why("orphan"))
            assert await new.history("orphan") == ()
        await asyncio.to_thread(new.close)
        async with old:
            assert [a.outcome for a in await ended(old, "orphan")] == [Outcome.SUCCEEDED]
        await asyncio.to_thread(old.close)

    play(scene)


def test_why_tells_past_and_future(app: Foliot) -> None:
    async def scene() -> None:
        at = soon()
        app.job(at, first_seen="now", name="x")(lambda: None)
        app.job(Cron("0 9 * * *"), name="daily")(lambda: None)
        async with app:
            await ended(app, "x")
            assert (await app.why("x", at.at)).verdict is Verdict.RAN
            nine = datetime(2099, 5, 1, 9, tzinfo=UTC)
            assert (await app.why("daily", nine)).verdict is Verdict.WILL_RUN
            assert (await app.why("daily", nine + timedelta(hours=1))).verdict is Verdict.WILL_NOT
            with pytest.raises(JobNotFoundError):
                await app.why("nobody")

    play(scene)


def test_listeners_are_told_and_one_that_raises_harms_nobody(app: Foliot, caplog: Any) -> None:
    async def scene() -> None:
        told: list[Event] = []

        @app.listen
        def broken(_: Event) -> None:
            raise RuntimeError("oops")

        app.listen(told.append)

        @app.job(soon(), first_seen="now")
        async def fail() -> None:
            raise ValueError("no")

        async with app:
            await ended(app)
        assert [e.what for e in told] == [Happening.STARTED, Happening.ENDED, Happening.FAILED_FOR_GOOD]

    play(scene)
    assert "listener_failed" in caplog.text
    assert "attempt=1 outcome=failed" in caplog.text


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()])
def test_a_listener_that_would_end_the_program_ends_nothing(
    app: Foliot, caplog: Any, error: BaseException
) -> None:
    async def scene() -> None:
        told: list[Event] = []

        @app.listen
        def rash(_: Event) -> None:
            raise error

        app.listen(told.append)
        app.job(NEVER, name="work")(lambda: None)
        async with app:
            for count in (1, 2):
                await app.trigger("work")
                await ended(app, count=count)
        assert [e.what for e in told].count(Happening.ENDED) == 2

    play(scene)
    assert "listener_failed listener=test_a_listener_that_would_end" in caplog.text


def test_a_job_that_was_set_aside_comes_back_with_the_next_start_of_the_same_code(tmp_path: Path) -> None:
    app = Foliot(f"sqlite:///{tmp_path}/jobs.db")
    app.job(NEVER, name="x")(lambda: None)

    async def scene() -> None:
        async with app:
            await app.trigger("x")
            await ended(app, "x")
        with closing(sqlite3.connect(tmp_path / "jobs.db")) as connection:
            connection.execute("UPDATE states SET damage = 'a bug of yesterday'")
            connection.commit()
        [status] = await app.jobs()
        assert status.problem == "a bug of yesterday"
        async with app:
            [status] = await app.jobs()
            assert status.problem is None
            await app.trigger("x")
            await ended(app, "x", count=2)

    play(scene)
    app.close()


def test_a_caller_that_is_cancelled_takes_nobody_along(app: Foliot) -> None:
    async def scene() -> None:
        app.action(lambda: None, name="noop")
        await app.jobs()  # the store is open
        calls = [asyncio.ensure_future(app.schedule(f"j{n}", NEVER, "noop")) for n in range(5)]
        await asyncio.sleep(0)  # noqa: TID251 - a turn for the others
        calls[0].cancel()
        await asyncio.gather(*calls[1:])
        assert {status.name for status in await app.jobs()} >= {"j1", "j2", "j3", "j4"}
        await app.schedule("later", NEVER, "noop")

    play(scene)
