"""An application stepped by hand: time, runs, failures, and an application that stays as it was."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from foliot import Cron, Every, Foliot, JobRun, Once, Outcome, Retry, Trigger, Verdict
from foliot.errors import AppStateError, FoliotError, JobNotFoundError
from foliot.testing.stepper import Stepper

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
Steppers = type[Stepper]


def instants(time: Stepper, name: str) -> list[datetime]:
    return [attempt.scheduled_for for attempt in time.runs(name)]


# -- time ------------------------------------------------------------------------------------------


def test_a_job_runs_at_its_times_and_at_no_other(app: Foliot, foliot_stepper: Steppers) -> None:
    seen: list[datetime] = []

    @app.job("0 0 1 * *", timezone="Europe/Berlin")
    def invoice(run: JobRun) -> None:
        seen.append(run.scheduled_for)

    with foliot_stepper(app, at="2026-01-31T23:00:00+01:00") as time:
        time.advance(minutes=59, seconds=59)
        assert (seen, time.now) == ([], datetime(2026, 1, 31, 22, 59, 59, tzinfo=UTC))
        time.advance(seconds=1)
        assert seen == [datetime(2026, 1, 31, 23, tzinfo=UTC)]
        assert time.runs("invoice")[0].outcome is Outcome.SUCCEEDED
        assert time.next("invoice") == datetime(2026, 2, 28, 23, tzinfo=UTC)
        time.run_until("2026-12-31T23:00:00+00:00")
        berlin = [instant.astimezone(ZoneInfo("Europe/Berlin")) for instant in seen]
        assert [(at.month, at.day, at.hour) for at in berlin] == [
            *((m, 1, 0) for m in range(2, 13)),
            (1, 1, 0),
        ]


@pytest.mark.prove
@pytest.mark.parametrize("rule", ["0 * * * *", "17 3 * * *", "*/7 4-6 * * 1-5"])
def test_a_year_has_all_its_runs_each_to_the_microsecond(
    app: Foliot, foliot_stepper: Steppers, rule: str
) -> None:
    @app.job(rule, timezone="Europe/Berlin")
    async def work() -> None: ...

    with foliot_stepper(app, at=NEW_YEAR) as time:
        time.advance(days=365)
        runs = time.runs("work")
        promised = Cron(rule, timezone="Europe/Berlin").upcoming(NEW_YEAR, len(runs) + 1)
        expected = [at.astimezone(UTC) for at in promised if at <= time.now]
        assert [run.scheduled_for for run in runs] == expected
        assert all(run.started_at == run.finished_at == run.scheduled_for for run in runs)
        assert Counter(run.outcome for run in runs) == {Outcome.SUCCEEDED: len(expected)}


def test_a_coroutine_sleeps_in_the_time_of_the_block(app: Foliot, foliot_stepper: Steppers) -> None:
    @app.job(Every("1h"), overlap="skip")
    async def slow() -> None:
        await asyncio.sleep(5400)  # noqa: TID251 - as a user's job does

    with foliot_stepper(app, at=NEW_YEAR) as time:
        time.advance("4h")
        first, second = time.runs("slow")
        assert (first.outcome, first.finished_at) == (Outcome.SUCCEEDED, NEW_YEAR + timedelta(hours=2.5))
        assert (second.scheduled_for, second.outcome) == (NEW_YEAR + timedelta(hours=3), None)


def test_a_job_that_hangs_times_out(app: Foliot, foliot_stepper: Steppers) -> None:
    @app.job("0 12 * * *", timeout="5m")
    async def hang() -> None:
        await asyncio.Event().wait()

    with foliot_stepper(app) as time:
        time.advance(days=1)
        (run,) = time.runs("hang")
        assert run.outcome is Outcome.TIMED_OUT
        assert run.finished_at == datetime(2026, 1, 1, 12, 5, tzinfo=UTC)


def test_timers_that_were_cancelled_do_not_pile_up(app: Foliot, foliot_stepper: Steppers) -> None:
    @app.job("0 * * * *", timeout="90d")
    async def work() -> None: ...

    with foliot_stepper(app) as time:
        time.advance(days=30)
        assert len(time.runs("work")) == 720
        assert len(time._loop._timers) < 250


def test_what_an_outage_has_missed_is_caught_up(app: Foliot, foliot_stepper: Steppers) -> None:
    @app.job("0 3 * * *", misfire="once")
    def backup() -> None: ...

    with foliot_stepper(app) as time:
        time.advance(days=1)
        time.outage(days=3)
        time.advance()
        normal, caught_up = time.runs("backup")
        assert (normal.trigger, caught_up.trigger) == (Trigger.SCHEDULE, Trigger.CATCH_UP)
        assert caught_up.covers_from == datetime(2026, 1, 2, 3, tzinfo=UTC)
        assert caught_up.started_at == time.now == datetime(2026, 1, 5, tzinfo=UTC)


@pytest.mark.parametrize(("on_lost", "outcomes"), [("restart", ["lost", "succeeded"]), ("give_up", ["lost"])])
def test_what_a_crash_takes_along_is_lost(
    app: Foliot, foliot_stepper: Steppers, on_lost: Any, outcomes: list[str]
) -> None:
    keys: list[str] = []

    @app.job("0 12 * * *", on_lost=on_lost)
    async def transfer(run: JobRun) -> None:
        keys.append(run.key)
        await asyncio.sleep(600)  # noqa: TID251 - as a user's job does

    with foliot_stepper(app) as time:
        time.run_until("2026-01-01T12:05:00Z")
        time.crash(minutes=30)
        time.advance(hours=1)
        assert [run.outcome for run in time.runs("transfer")] == outcomes
        assert keys == ["shop/transfer@2026-01-01T12:00:00Z"] * len(outcomes)


def test_an_outage_lets_end_what_runs(app: Foliot, foliot_stepper: Steppers) -> None:
    @app.job("0 12 * * *")
    async def work() -> None:
        await asyncio.sleep(10)  # noqa: TID251 - as a user's job does

    with foliot_stepper(app) as time:
        time.run_until("2026-01-01T12:00:05Z")
        time.outage(hours=1)
        assert [run.outcome for run in time.runs("work")] == [Outcome.SUCCEEDED]
        assert time.now == datetime(2026, 1, 1, 13, 0, 10, tzinfo=UTC)


def test_two_blocks_tell_the_same_story(app: Foliot, foliot_stepper: Steppers) -> None:
    @app.job("*/10 * * * *", retry=Retry(max=2, delay="1m", jitter=0.5))
    async def flaky(run: JobRun) -> None:
        if (run.scheduled_for.hour + run.attempt) % 3:
            raise ValueError

    stories = []
    for _ in range(2):
        with foliot_stepper(app) as time:
            time.advance(days=2)
            stories.append([run._replace(node="") for run in time.runs()])
    assert stories[0] == stories[1]
    assert len(stories[0]) > 288


# -- the application in the block ------------------------------------------------------------------


def test_plain_tests_use_the_application_by_wait(app: Foliot, foliot_stepper: Steppers) -> None:
    @app.action
    def greet(run: JobRun, name: str) -> None:
        run.log("hello", name)

    with foliot_stepper(app) as time:
        app.wait(app.schedule("later", Once("2026-01-02T00:00:00Z"), greet, payload={"name": "Ada"}))
        app.wait(app.pause("later"))
        time.advance(days=2)
        assert time.runs("later") == []
        app.wait(app.trigger("later", request="now"))
        (run,) = time.runs("later")
        assert app.wait(app.log(run)) == "hello Ada\n"


def test_asynchronous_tests_use_it_as_it_is(app: Foliot, foliot_stepper: Steppers) -> None:
    @app.job("0 12 * * *")
    async def work() -> None:
        await asyncio.sleep(1)  # noqa: TID251 - as a user's job does

    async def scene() -> None:
        outer, task = asyncio.get_running_loop(), asyncio.current_task()
        with foliot_stepper(app) as time:
            time.advance(days=1)
            await app.trigger("work")
            time.advance(seconds=1)
            assert [run.outcome for run in time.runs("work")] == [Outcome.SUCCEEDED] * 2
            assert len(await app.history("work")) == 2
            assert (await app.why("work")).verdict is Verdict.WILL_RUN
        assert (asyncio.get_running_loop(), asyncio.current_task()) == (outer, task)

    asyncio.run(asyncio.wait_for(scene(), 20))


@pytest.mark.parametrize("is_async", [True, False], ids=["from a coroutine", "from a plain function"])
def test_a_job_may_schedule_another(app: Foliot, foliot_stepper: Steppers, *, is_async: bool) -> None:
    done: list[str] = []
    follow_up = Once("2026-01-01T18:00:00Z")

    @app.action
    def second() -> None:
        done.append("second")

    async def from_coroutine() -> None:
        await app.schedule("follow-up", follow_up, second)

    def from_function() -> None:
        app.wait(app.schedule("follow-up", follow_up, second))

    app.job("0 12 * * *")(from_coroutine if is_async else from_function)
    with foliot_stepper(app, raise_failures=True) as time:
        time.run_until("2026-01-01T17:59:59Z")
        assert done == []
        time.advance(seconds=1)
        assert done == ["second"]


def test_a_plain_function_is_as_in_a_thread_of_its_own(app: Foliot, foliot_stepper: Steppers) -> None:
    answers: list[Any] = []

    async def answer() -> str:
        return "asked"

    @app.job("0 12 * * *")
    def plain() -> None:
        answers.append(asyncio.run(answer()))

    @app.job("0 13 * * *")
    async def in_thread() -> None:
        answers.append(await asyncio.to_thread(lambda: asyncio.run(answer())))

    with foliot_stepper(app, raise_failures=True) as time:
        time.advance(days=1)
    assert answers == ["asked", "asked"]


def test_a_program_that_starts_and_stops_it_finds_it_started(app: Foliot, foliot_stepper: Steppers) -> None:
    @app.job("0 12 * * *")
    def work() -> None: ...

    async def lifespan() -> None:
        async with app:
            await app.trigger("work", request="mine")

    with foliot_stepper(app) as time:
        served = threading.Thread(target=asyncio.run, args=(lifespan(),))  # as test clients do
        served.start()
        served.join()
        app.start()
        app.stop()
        app.close()
        time.advance(days=1)
        assert len(time.runs("work")) == 2


def test_a_coroutine_that_wants_a_socket_is_told_what_to_do(app: Foliot, foliot_stepper: Steppers) -> None:
    @app.job("0 12 * * *")
    async def ask() -> None:
        await asyncio.open_connection("localhost", 1)

    with foliot_stepper(app, raise_failures=True) as time:
        with pytest.raises(AppStateError, match="no create_connection") as caught:
            time.advance(days=1)
        assert "plain function" in str(caught.value.hint)


# -- and afterwards --------------------------------------------------------------------------------


def test_the_application_is_given_back_as_it_was(app: Foliot, foliot_stepper: Steppers) -> None:
    @app.job("0 12 * * *")
    def work() -> None: ...

    heard: list[object] = []
    app.listen(heard.append)
    jobs = app._registry.snapshot()
    before = dict(vars(app))
    inside = {name: dict(vars(before[name])) for name in ("_registry", "_core")}

    with foliot_stepper(app) as time:
        app.job("0 * * * *", name="only here")(lambda: None)
        app.listen(print)
        time.advance("90m")
        assert len(time.runs("only here")) == 1
    assert heard
    assert vars(app) == before
    assert {name: vars(before[name]) for name in inside} == inside
    assert app._registry.snapshot() == jobs


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_it_is_given_back_when_the_block_fails(
    app: Foliot, foliot_stepper: Steppers, error: type[BaseException]
) -> None:
    before = dict(vars(app))
    with pytest.raises(error), foliot_stepper(app):
        raise error
    assert vars(app) == before


def test_what_still_runs_at_the_end_is_cancelled(app: Foliot, foliot_stepper: Steppers) -> None:
    ended: list[str] = []

    @app.job("0 12 * * *")
    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cleaned up")

    with foliot_stepper(app) as time:
        time.advance(days=1)
        assert ended == []
    assert ended == ["cleaned up"]


def test_one_that_runs_is_not_stepped(foliot_stepper: Steppers) -> None:
    app = Foliot("memory://")
    app.start()
    try:
        with pytest.raises(AppStateError, match="it is running"), foliot_stepper(app):
            pass
    finally:
        app.stop()


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (lambda time: time.advance(days=-1), "backwards"),
        (lambda time: time.run_until("2025-12-31T23:59:59Z"), "backwards"),
        (lambda time: time.run_until("tomorrow"), "cannot be read"),
        (lambda time: time.run_until(7), "cannot be read"),
        (lambda time: time.run_until("2027-01-01"), "time zone"),
        (lambda time: time.run_until(datetime(2027, 1, 1)), "time zone"),
        (lambda time: time.advance("soon"), "duration"),
    ],
)
def test_what_cannot_be_right_is_refused(
    app: Foliot, foliot_stepper: Steppers, step: Any, words: str
) -> None:
    with foliot_stepper(app) as time:
        with pytest.raises(FoliotError, match=words):
            step(time)
        assert time.now == NEW_YEAR


def test_a_job_that_is_not_there_is_not_found(app: Foliot, foliot_stepper: Steppers) -> None:
    with foliot_stepper(app) as time:
        for ask in (time.runs, time.next):
            with pytest.raises(JobNotFoundError, match="nobody"):
                ask("nobody")


def test_a_run_that_was_asked_for_comes_after_the_one_that_started_before_it(
    app: Foliot, foliot_stepper: Steppers
) -> None:
    @app.job("0 * * * *")
    def hourly() -> None: ...

    with foliot_stepper(app, at=NEW_YEAR - timedelta(seconds=1)) as time:
        time.advance(seconds=1)
        app.wait(app.trigger("hourly"))
        time.advance(seconds=1)
        assert [attempt.trigger for attempt in time.runs("hourly")] == [Trigger.SCHEDULE, Trigger.MANUAL]
        assert len({attempt.scheduled_for for attempt in time.runs("hourly")}) == 1


def test_a_pause_with_an_end_is_over_by_itself(app: Foliot, foliot_stepper: Steppers) -> None:
    @app.job("0 * * * *")
    def hourly() -> None: ...

    with foliot_stepper(app, at=NEW_YEAR) as time:
        until = NEW_YEAR + timedelta(hours=3)
        app.wait(app.pause("hourly", until=until, reason="a move"))
        time.advance(hours=4)
        assert instants(time, "hourly") == [until, until + timedelta(hours=1)]
