"""What jobs raise: noted as in production, or raised by the step."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import NoReturn

import pytest

from foliot import Foliot, JobRun, Outcome, Retry
from foliot.testing.stepper import Stepper

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
Steppers = type[Stepper]


def fail() -> NoReturn:
    raise LookupError("no such customer")


async def fail_later() -> None:
    await asyncio.sleep(60)  # noqa: TID251 - as a user's job does
    fail()


async def hang() -> None:
    await asyncio.Event().wait()


def leave() -> NoReturn:
    raise SystemExit(3)


async def give_up() -> None:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("job", "error", "words", "minute"),
    [
        (fail, LookupError, "no such customer", 0),
        (fail_later, LookupError, "no such customer", 1),
        (hang, TimeoutError, "did not end within 5m", 5),
        (leave, RuntimeError, "SystemExit: 3", 0),
        (give_up, RuntimeError, "the job cancelled itself", 0),
    ],
)
def test_a_failure_ends_the_step_where_it_happens(
    app: Foliot, foliot_stepper: Steppers, *, job: object, error: type[Exception], words: str, minute: int
) -> None:
    app.job("0 12 * * *", name="job", timeout="5m")(job)  # type: ignore[type-var] # a function of the table
    with foliot_stepper(app, raise_failures=True) as time:
        with pytest.raises(error, match=words) as caught:
            time.advance(days=2)
        assert time.now == NOON.replace(minute=minute)
        assert caught.value.__notes__[-1].startswith("raised by shop/job@2026-01-01T12:00:00Z, attempt 1")
        time.run_until("2026-01-02T11:00:00Z")  # and life goes on
        assert [run.scheduled_for for run in time.runs("job")] == [NOON]


def test_without_being_asked_for_a_failure_is_only_noted(app: Foliot, foliot_stepper: Steppers) -> None:
    app.job("0 12 * * *", name="job")(fail)
    with foliot_stepper(app) as time:
        time.advance(days=2)
        assert [run.outcome for run in time.runs("job")] == [Outcome.FAILED] * 2
        assert (time.runs("job")[0].error or "").startswith("LookupError: no such customer")


def test_a_failure_that_is_tried_again_is_none_until_the_last(app: Foliot, foliot_stepper: Steppers) -> None:
    @app.job("0 12 * * *", retry=Retry(max=2, delay="10m", backoff=1, jitter=0))
    def flaky(run: JobRun) -> None:
        if run.scheduled_for.day > 1 or run.attempt < 3:
            raise ConnectionError(f"attempt {run.attempt}")

    with foliot_stepper(app, raise_failures=True) as time:
        time.advance(days=1)
        assert [run.outcome for run in time.runs("flaky")] == ["failed", "failed", "succeeded"]
        with pytest.raises(ConnectionError, match="attempt 3"):
            time.advance(days=1)
        assert time.now == datetime(2026, 1, 2, 12, 20, tzinfo=UTC)


def test_a_failure_between_steps_is_raised_by_the_next_one(app: Foliot, foliot_stepper: Steppers) -> None:
    app.job("0 12 * * *", name="job")(fail)
    with foliot_stepper(app, raise_failures=True) as time:
        assert app.wait(app.trigger("job", request="mine")) == "shop/job!mine"
        with pytest.raises(LookupError, match="no such customer"):
            time.advance(days=1)
        assert len(time.runs("job")) == 1


def test_a_failure_after_the_last_step_is_raised_by_the_block(app: Foliot, foliot_stepper: Steppers) -> None:
    app.job("0 12 * * *", name="job")(fail)
    before = dict(vars(app))
    with pytest.raises(LookupError, match="no such"), foliot_stepper(app, raise_failures=True):
        app.wait(app.trigger("job"))
    assert vars(app) == before


@pytest.mark.parametrize("is_async", [True, False])
def test_what_is_meant_for_the_test_reaches_it(
    app: Foliot, foliot_stepper: Steppers, *, is_async: bool
) -> None:
    async def in_coroutine() -> None:
        pytest.fail("the invoice is wrong")

    def in_function() -> None:
        pytest.fail("the invoice is wrong")

    app.job("0 12 * * *")(in_coroutine if is_async else in_function)
    with foliot_stepper(app) as time, pytest.raises(pytest.fail.Exception, match="the invoice is wrong"):
        time.advance(days=1)
