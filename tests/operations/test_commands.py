"""Each command does what it says, says what it did, and refuses what cannot be done."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from foliot.errors import (
    CommandRefusedError,
    InvalidJobError,
    JobNotFoundError,
    NaiveInstantError,
    RunNotFoundError,
    StoreError,
)
from foliot.model.attempt import AttemptState, Outcome, Trigger
from foliot.model.damage import Damage
from foliot.model.decision import Happening
from foliot.model.policy import Overlap, OverlapMode, Policy, Retry
from foliot.operations import Effect, Start, Which
from foliot.protocols import JobQuery, JobView, SkipQuery
from operations.desk import HOUR, HOURLY, START, Desk, at
from operations.scene import scenario

KEY = "shop/hourly"


@scenario
async def test_a_pause_is_told_with_its_reason(desk: Desk) -> None:
    effect = await desk.ops.pause("hourly", reason="the disk is full")
    assert effect.text == "shop/hourly is paused: the disk is full"
    assert (effect.has_changed, effect.paused_at, effect.next_at) == (True, START, at(7))
    assert effect.consequences == ("2026-03-02T07:00:00Z would be next, and passes",)
    [event] = desk.told
    assert (event.what, event.reason) == (Happening.PAUSED, "paused by a person: the disk is full")
    again = await desk.ops.pause("hourly", reason="the disk is full")
    assert (again.text, again.has_changed) == ("shop/hourly was paused already", False)
    assert len(desk.told) == 1


@scenario
async def test_a_resume_tells_what_was_skipped(desk: Desk) -> None:
    assert (await desk.ops.resume("hourly")).text == "shop/hourly was not paused"
    await desk.ops.pause("hourly")
    await desk.advance(at(9, 10))
    dry = await desk.ops.resume("hourly", dry_run=True)
    assert dry.text == "shop/hourly would run again"
    assert dry.consequences == (
        "all from 2026-03-02T07:00:00Z to 2026-03-02T09:00:00Z are skipped: the job was paused",
        "2026-03-02T10:00:00Z is next",
    )
    assert (await desk.ops.resume(KEY)).text == "shop/hourly runs again"
    [skip] = await desk.store.skips(SkipQuery(KEY))
    assert dry.skips == (skip,)


@scenario
async def test_a_pause_of_one_occurrence_is_told_in_the_singular_and_an_end_as_an_end(desk: Desk) -> None:
    await desk.declare(replace(HOURLY, repeat_until=at(7)))
    await desk.ops.pause("hourly")
    await desk.advance(at(9))
    effect = await desk.ops.resume("hourly")
    assert effect.consequences == (
        "2026-03-02T07:00:00Z is skipped: the job was paused",
        "no occurrence is left",
    )


@scenario
async def test_a_trigger_asks_for_a_run(desk: Desk) -> None:
    effect = await desk.ops.trigger("hourly")
    assert (effect.text, effect.run) == ("shop/hourly!id-0 is requested", "shop/hourly!id-0")
    assert effect.starts == (Start("shop/hourly!id-0", 1, START, "triggered manually"),)
    assert effect.consequences == ("shop/hourly!id-0 starts now",)
    assert effect.attempt is not None
    assert (effect.attempt.state, effect.attempt.trigger) == (AttemptState.PENDING, Trigger.MANUAL)
    assert not effect.is_served


@scenario
async def test_a_trigger_beside_an_open_run_waits_for_its_end(desk: Desk) -> None:
    await desk.ops.trigger("hourly", request="a")
    await desk.claim()
    effect = await desk.ops.trigger("hourly", request="b", dry_run=True)
    assert [start.at for start in effect.starts] == [None]
    assert effect.consequences == ("shop/hourly!b starts when a run that is open has ended",)
    await desk.declare(replace(HOURLY, policy=Policy(overlap=Overlap(mode=OverlapMode.PARALLEL, limit=2))))
    effect = await desk.ops.trigger("hourly", request="b", dry_run=True)
    assert effect.consequences == ("shop/hourly!b starts now",)


@scenario
async def test_the_same_request_counts_once(desk: Desk) -> None:
    assert (await desk.ops.trigger("hourly", request="a", dry_run=True)).text == (
        "shop/hourly!a would be requested"
    )
    await desk.ops.trigger("hourly", request="a")
    again = await desk.ops.trigger("hourly", request="a")
    assert again.text == "shop/hourly!a was requested before, and counts once"
    assert (again.has_changed, again.is_served, again.starts) == (False, False, ())
    await desk.run_due(Outcome.FAILED)
    for dry_run in (True, False):
        served = await desk.ops.trigger("hourly", request="a", dry_run=dry_run)
        assert (served.text, served.is_served) == (again.text, True)
        assert served.attempt is not None
        assert served.attempt.outcome is Outcome.FAILED
    assert len(await desk.ops.attempts(KEY)) == 1


@scenario
async def test_a_payload_is_that_of_the_run_and_of_its_repetition(desk: Desk) -> None:
    await desk.ops.trigger("hourly", payload={"b": 1, "a": ["ü"]})
    [first] = await desk.run_due(Outcome.FAILED)
    await desk.ops.rerun(first.run_key)
    [again] = await desk.run_due()
    await desk.ops.trigger("hourly")
    [other] = await desk.run_due()
    text = '{"a":["\\u00fc"],"b":1}'
    assert (first.payload, again.payload, other.payload) == (text, text, None)
    assert "to repeat" in again.reason


@scenario
async def test_a_payload_that_is_no_object_is_refused(desk: Desk) -> None:
    for payload in ([1], "text", {"x": object()}):
        with pytest.raises(InvalidJobError, match="payload"):
            await desk.ops.trigger("hourly", payload=payload)
    assert await desk.ops.attempts(KEY) == ()


@scenario
async def test_a_rerun_is_a_new_request_that_names_the_run_it_repeats(desk: Desk) -> None:
    await desk.advance(at(7))
    [attempt] = await desk.run_due(Outcome.FAILED)
    await desk.advance(at(7, 1))
    effect = await desk.ops.rerun(attempt.run_key)
    assert effect.text == "shop/hourly!id-0 is requested"
    [again] = await desk.run_due()
    assert (again.trigger, again.number) == (Trigger.MANUAL, 1)
    assert again.reason == "triggered manually, to repeat shop/hourly@2026-03-02T07:00:00Z"
    assert (await desk.ops.rerun("hourly", request="x")).run == "shop/hourly!x"
    [last] = await desk.run_due()
    assert last.reason.endswith("to repeat shop/hourly!id-0")
    assert (await desk.ops.rerun("hourly", request="x")).is_served


@scenario
async def test_only_what_has_ended_is_repeated(desk: Desk) -> None:
    await desk.ops.trigger("hourly", request="a")
    await desk.claim()
    with pytest.raises(CommandRefusedError, match="a: the run has not ended: it is running") as caught:
        await desk.ops.rerun("hourly!a")
    assert caught.value.hint == "wait for its end, or cancel it"


@scenario
async def test_a_run_that_waits_never_starts_and_one_that_runs_is_asked_to_end(desk: Desk) -> None:
    await desk.ops.trigger("hourly", request="a")
    [a] = await desk.claim()
    await desk.ops.trigger("hourly", request="b")
    dry = await desk.ops.cancel("hourly!b", dry_run=True)
    assert (dry.text, dry.drops, dry.consequences) == (
        "shop/hourly!b would not start",
        ("shop/hourly!b",),
        (),
    )
    effect = await desk.ops.cancel("hourly!b")
    assert effect.text == "shop/hourly!b will not start"
    assert effect.attempt is not None
    assert effect.attempt.outcome is Outcome.CANCELLED
    assert (await desk.ops.cancel("hourly!a", dry_run=True)).text == "shop/hourly!a would be asked to end"
    effect = await desk.ops.cancel(a.run_key)
    assert (effect.text, effect.cancels) == ("shop/hourly!a is asked to end", ("shop/hourly!a",))
    assert effect.runs == ()
    assert effect.attempt is not None
    assert effect.attempt.state is AttemptState.CANCELLING
    again = await desk.ops.cancel(a.run_key)
    assert (again.text, again.has_changed) == (effect.text, False)
    await desk.finish(a, Outcome.CANCELLED)
    with pytest.raises(CommandRefusedError, match="shop/hourly!a: the run has ended: cancelled"):
        await desk.ops.cancel(a.run_key)


@scenario
async def test_what_a_cancel_sets_free_is_told(desk: Desk) -> None:
    await desk.declare(
        replace(HOURLY, policy=Policy(overlap=Overlap(mode=OverlapMode.WAIT), retry=Retry(max=1)))
    )
    await desk.advance(at(7))
    [first] = await desk.claim()
    await desk.advance(at(8))
    await desk.claim()  # the occurrence of 8:00 waits for the run to end
    await desk.finish(first, Outcome.FAILED)
    waiting = "shop/hourly@2026-03-02T08:00:00Z"
    effect = await desk.ops.cancel(first.run_key)
    assert effect.drops == (first.run_key,)
    assert f"{waiting} starts now" in effect.consequences or waiting in [
        a.run_key for a in await desk.claim()
    ]


async def _past(desk: Desk) -> None:
    """7:00 succeeded, 8:00 failed, 9:00 and 10:00 were skipped, 11:00 never started, 12:00 runs."""
    await desk.advance(at(7))
    await desk.run_due()
    await desk.advance(at(8))
    await desk.run_due(Outcome.FAILED)
    await desk.ops.pause("hourly")
    await desk.advance(at(10, 30))
    await desk.ops.resume("hourly")
    await desk.ops.trigger("hourly", request="busy")
    [busy] = await desk.claim()
    await desk.declare(replace(HOURLY, policy=Policy(overlap=Overlap(mode=OverlapMode.WAIT))))
    await desk.advance(at(11))
    await desk.claim()
    await desk.ops.cancel("hourly@2026-03-02T11:00:00Z")
    await desk.finish(busy)
    await desk.advance(at(12))
    await desk.claim()


@pytest.mark.parametrize(
    ("which", "hours"),
    [(Which.MISSED, [9, 10, 11]), (Which.FAILED, [8]), (None, None), (Which.ALL, None)],
)
def test_a_backfill_chooses(which: Which | None, hours: list[int] | None) -> None:
    @scenario
    async def play(desk: Desk) -> None:
        await _past(desk)
        if hours is None:
            refusal = "has run already" if which is None else "12:00:00Z is still open"
            with pytest.raises(CommandRefusedError, match=refusal):
                await desk.ops.backfill("hourly", at(7), at(12), which=which)
            return
        effect = await desk.ops.backfill("hourly", at(7), at(12), which=which)
        assert effect.runs == tuple(f"shop/hourly@2026-03-02T{hour:02}:00:00Z" for hour in hours)
        assert effect.text == f"requested: {len(hours)}"
        numbers = {attempt.run_key: attempt.number for attempt in await desk.ops.attempts(is_open=True)}
        assert {run: numbers[run] for run in effect.runs} == {
            f"shop/hourly@2026-03-02T{hour:02}:00:00Z": 2 if hour in (8, 11) else 1 for hour in hours
        }

    play()


@scenario
async def test_a_run_whose_retry_never_started_has_failed_and_was_not_missed(desk: Desk) -> None:
    await desk.declare(replace(HOURLY, policy=Policy(retry=Retry(max=1, delay="10m"))))
    await desk.advance(at(7))
    [attempt] = await desk.run_due(Outcome.FAILED)
    await desk.ops.cancel(attempt.run_key)
    assert (await desk.ops.backfill("hourly", at(7), at(7), which=Which.MISSED)).runs == ()
    effect = await desk.ops.backfill("hourly", at(7), at(7), which=Which.FAILED)
    assert [start.number for start in effect.starts] == [3]


@scenario
async def test_as_many_start_now_as_may_run_at_once(desk: Desk) -> None:
    await desk.declare(replace(HOURLY, policy=Policy(overlap=Overlap(mode=OverlapMode.PARALLEL, limit=3))))
    await desk.advance(at(7))
    await desk.claim()
    effect = await desk.ops.backfill("hourly", at(3), at(6), dry_run=True)
    assert [start.at is None for start in effect.starts] == [False, False, True, True]
    await desk.ops.trigger("hourly")
    await desk.claim()
    await desk.declare(HOURLY)  # one at a time from now on, and two run
    effect = await desk.ops.backfill("hourly", at(3), at(6))
    assert {start.at for start in effect.starts} == {None}


@scenario
async def test_a_backfill_of_all_tries_again_under_the_same_key(desk: Desk) -> None:
    await _past(desk)
    dry = await desk.ops.backfill("hourly", at(7), at(9), which=Which.ALL, dry_run=True)
    assert dry.text == "3 would run"
    assert [start.number for start in dry.starts] == [2, 2, 1]
    assert dry.consequences[-1].endswith("starts when a run that is open has ended")
    none = await desk.ops.backfill("hourly", at(7, 1), at(7, 59), which=Which.ALL)
    assert (none.text, none.has_changed) == ("no occurrence lies in that time", False)
    await desk.declare(HOURLY, removed=())
    nothing_failed = await desk.ops.backfill("hourly", at(9), at(10), which=Which.FAILED)
    assert (nothing_failed.runs, nothing_failed.text) == ((), "no occurrence failed in that time")
    nothing_missed = await desk.ops.backfill("hourly", at(7), at(8), which=Which.MISSED, dry_run=True)
    assert nothing_missed.text == "no occurrence was missed in that time"


REFUSALS: list[tuple[Callable[[Desk], Awaitable[Effect]], type[Exception], str]] = [
    (lambda d: d.ops.trigger("hourli"), JobNotFoundError, "there is no job hourli"),
    (lambda d: d.ops.trigger("hourly", request=""), CommandRefusedError, "shop/hourly: a request must be"),
    (lambda d: d.ops.trigger("hourly", request="x" * 201), CommandRefusedError, "of 1 to 200 characters"),
    (lambda d: d.ops.trigger("hourly", request="a@b"), CommandRefusedError, "without ! and @"),
    (lambda d: d.ops.pause("hourly", reason="a\nb"), CommandRefusedError, "a reason must be a printable"),
    (lambda d: d.ops.pause(5), JobNotFoundError, "there is no job 5"),
    (lambda d: d.ops.resume("removed"), JobNotFoundError, "there is no job removed"),
    (lambda d: d.ops.cancel("hourly!x"), RunNotFoundError, "there is no run hourly!x"),
    (lambda d: d.ops.cancel(b"x"), RunNotFoundError, "there is no run b'x'"),
    (lambda d: d.ops.rerun("hourly"), RunNotFoundError, "there is no run hourly"),
    (lambda d: d.ops.rerun("removed!a"), CommandRefusedError, "the job was removed"),
    (
        lambda d: d.ops.backfill("hourly", at(6), at(5)),
        CommandRefusedError,
        "the period ends before it begins",
    ),
    (lambda d: d.ops.backfill("hourly", at(6), at(23)), CommandRefusedError, "only past occurrences"),
    (
        lambda d: d.ops.backfill("hourly", datetime(2026, 3, 2), at(23)),
        NaiveInstantError,
        "expected a datetime with a time zone",
    ),
    (lambda d: d.ops.backfill("hourly", at(5) - 9999 * HOUR, at(5)), CommandRefusedError, "more than 1000"),
]


@pytest.mark.parametrize("dry_run", [False, True])
@pytest.mark.parametrize(("asked", "kind", "words"), REFUSALS)
def test_what_cannot_be_done_is_refused(
    asked: Callable[[Desk], Awaitable[Effect]], kind: type[Exception], words: str, *, dry_run: bool
) -> None:
    @scenario
    async def play(desk: Desk) -> None:
        removed = replace(HOURLY, name="removed")
        await desk.declare(HOURLY, removed)
        await desk.ops.trigger("removed", request="a")
        await desk.run_due()
        await desk.declare(HOURLY, removed=("removed",))
        before = await desk.everything()
        if dry_run:
            desk.ops = _AlwaysDry(desk.ops)  # type: ignore[assignment] # it has all that is called
        with pytest.raises(kind, match=words):
            await asked(desk)
        assert await desk.everything() == before

    play()


class _AlwaysDry:
    """Operations of which every command is a dry run."""

    def __init__(self, ops: Any) -> None:
        self._ops = ops

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *given, **options: getattr(self._ops, name)(*given, **options, dry_run=True)


@scenario
async def test_a_job_that_cannot_be_read_takes_no_command(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def damaged(_: JobQuery) -> tuple[JobView, ...]:
        return (JobView(KEY, None, damage=Damage("no JSON")),)

    monkeypatch.setattr(desk.store, "jobs", damaged)
    with pytest.raises(StoreError, match="shop/hourly cannot be read: no JSON") as caught:
        await desk.ops.pause("hourly")
    assert caught.value.hint == "let its source declare it anew"
