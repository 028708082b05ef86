"""`failed_for_good`: a listener learns that a run is over without success, and need not guess."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from foliot import Event, Foliot, JobRun, Outcome, Retry
from foliot.testing.stepper import Stepper

Told = list[tuple[str, int, Outcome | None]]


def listening(policy: dict[str, object], work: Callable[..., Awaitable[None]]) -> tuple[Foliot, Told]:
    """An application with a job at each full hour, and what it tells of runs that have failed for good."""
    app, told = Foliot("memory://", name="shop"), Told()

    @app.listen
    def note(event: Event) -> None:
        if event.what == "failed_for_good":
            assert event.attempt is not None
            told.append((event.reason, event.number, event.attempt.outcome))

    app.job("@hourly", name="work", **policy)(work)  # type: ignore[arg-type] # as parameters are
    return app, told


async def fail() -> None:
    raise ValueError("no such table")


async def hang() -> None:
    await asyncio.Event().wait()


async def recover(run: JobRun) -> None:
    if run.attempt == 1:
        raise ValueError("not yet")


CASES = [
    ("a failure without retries", {}, fail, [("failed: ValueError: no such table", 1, Outcome.FAILED)]),
    (
        "a failure whose retries are used up: once, with the last attempt",
        {"retry": Retry(max=2, delay="10s")},
        fail,
        [("failed: ValueError: no such table", 3, Outcome.FAILED)],
    ),
    ("a retry that helps", {"retry": Retry(max=2, delay="10s")}, recover, []),
    ("a retry that still waits", {"retry": Retry(max=2, delay="2h")}, fail, []),
    ("a timeout", {"timeout": "10s"}, hang, [("timed_out: did not end within 10s", 1, Outcome.TIMED_OUT)]),
]


@pytest.mark.parametrize(
    ("policy", "work", "expected"), [row[1:] for row in CASES], ids=[row[0] for row in CASES]
)
def test_how_a_run_ends(
    policy: dict[str, object], work: Callable[..., Awaitable[None]], expected: Told
) -> None:
    app, told = listening(policy, work)
    with Stepper(app, at="2026-03-01T11:59:00Z") as time:
        time.advance(minutes=2)
        assert told == expected


@pytest.mark.parametrize(
    "policy",
    [{"overlap": "replace"}, {"retry": Retry(max=3, delay="90m", longest="2h", is_preempted=True)}],
)
def test_a_failed_run_whose_retry_gives_way_to_the_next_occurrence(policy: dict[str, object]) -> None:
    app, told = listening({"retry": Retry(max=3, delay="90m", longest="2h")} | policy, fail)
    with Stepper(app, at="2026-03-01T11:59:00Z") as time:
        time.advance(hours=3)
        assert [(number, outcome) for _, number, outcome in told] == [(2, Outcome.CANCELLED)] * 2


@pytest.mark.parametrize(
    ("on_lost", "expected"),
    [("give_up", [("its node was declared dead", 1, Outcome.LOST)]), ("restart", [])],
)
def test_a_run_whose_process_was_killed(on_lost: str, expected: Told) -> None:
    app, told = listening({"on_lost": on_lost}, hang)
    with Stepper(app, at="2026-03-01T11:59:00Z") as time:
        time.advance(minutes=2)
        time.crash(minutes=5)
        time.advance(minutes=1)
        assert told == expected


@pytest.mark.parametrize(("on_lost", "count"), [("give_up", 1), ("restart", 0)])
def test_a_run_that_was_cut_off_by_a_stop(on_lost: str, count: int) -> None:
    app, told = listening({"on_lost": on_lost}, hang)
    with Stepper(app, at="2026-03-01T11:59:00Z") as time:
        time.advance(minutes=2)
        time.outage(minutes=5)
        assert [outcome for *_, outcome in told] == [Outcome.INTERRUPTED] * count


def test_what_a_person_cancels_has_not_failed() -> None:
    app, told = listening({"retry": Retry(max=1, delay="10m")}, hang)
    with Stepper(app, at="2026-03-01T11:59:00Z") as time:
        time.advance(minutes=2)
        app.wait(app.cancel("work"))
        time.advance(minutes=1)
        assert [run.outcome for run in time.runs()] == [Outcome.CANCELLED]
        assert told == []


def test_nor_has_a_run_whose_retry_a_person_cancels() -> None:
    app, told = listening({"retry": Retry(max=1, delay="10m")}, fail)
    with Stepper(app, at="2026-03-01T11:59:00Z") as time:
        time.advance(minutes=2)
        app.wait(app.cancel("work"))
        time.advance(minutes=20)
        assert [run.outcome for run in time.runs()] == [Outcome.FAILED, Outcome.CANCELLED]
        assert told == []


def test_a_replaced_run_has_not_failed() -> None:
    app, told = listening({"overlap": "replace"}, hang)
    with Stepper(app, at="2026-03-01T11:59:00Z") as time:
        time.advance(hours=1, minutes=2)
        assert [run.outcome for run in time.runs()] == [Outcome.CANCELLED, None]
        assert told == []
