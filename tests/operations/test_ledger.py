"""The ledger tells of each occurrence what became of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from foliot.errors import NaiveInstantError
from foliot.model.attempt import Outcome
from foliot.model.policy import Misfire, MisfireMode, Overlap, OverlapMode, Policy
from foliot.operations import Fate, Ledger, questions
from foliot.protocols import RunQuery, SkipQuery
from foliot.schedules import Cron, Every
from operations.desk import HOURLY, START, Desk, at
from operations.scene import scenario


def fates(ledger: Ledger) -> list[tuple[int, str]]:
    return [(occurrence.at.hour, occurrence.fate.value) for occurrence in ledger.occurrences]


async def _ledger(desk: Desk, *span: int, limit: int = 100) -> Ledger:
    return await desk.ops.occurrences(await desk.ops.find("hourly"), *map(at, span), limit=limit)


@scenario
async def test_what_ran_what_was_skipped_and_what_is_planned(desk: Desk) -> None:
    await desk.advance(at(7))
    await desk.run_due(Outcome.FAILED)
    await desk.ops.pause("hourly")
    await desk.advance(at(9, 30))
    await desk.ops.resume("hourly")
    ledger = await _ledger(desk)
    assert fates(ledger) == [(7, "ran"), (8, "skipped"), (9, "skipped"), (10, "planned")]
    ran, skipped, *_ = ledger.occurrences
    assert (ran.run, ran.outcome) == ("shop/hourly@2026-03-02T07:00:00Z", Outcome.FAILED)
    assert ran.reason.startswith("attempt 1 failed on node n1")
    assert (skipped.run, skipped.outcome) == (None, None)
    assert skipped.reason.startswith("skipped: the job was paused")
    assert ledger.occurrences[-1].reason == "2026-03-02T10:00:00Z is an occurrence of 0 * * * *"
    assert ledger.next is None


@scenario
async def test_what_a_later_run_has_caught_up_is_covered(desk: Desk) -> None:
    await desk.advance(at(9, 30))
    ledger = await _ledger(desk)
    assert fates(ledger) == [(7, "missed"), (8, "missed"), (9, "missed"), (10, "planned")]
    assert ledger.occurrences[0].reason == "it has come, and no node has taken it yet"
    await desk.run_due()
    ledger = await _ledger(desk)
    assert fates(ledger) == [(7, "covered"), (8, "covered"), (9, "ran"), (10, "planned")]
    assert ledger.occurrences[0].run == "shop/hourly@2026-03-02T09:00:00Z"


@scenario
async def test_what_has_just_come_waits_and_what_runs_runs(desk: Desk) -> None:
    await desk.advance(at(7))
    assert fates(await _ledger(desk))[0] == (7, "waits")
    await desk.claim()
    assert fates(await _ledger(desk))[0] == (7, "runs")
    await desk.advance(at(8, 30))
    assert fates(await _ledger(desk))[:2] == [(7, "runs"), (8, "missed")]


@scenario
async def test_a_skip_names_the_run_that_was_in_its_way(desk: Desk) -> None:
    await desk.advance(at(7))
    [attempt] = await desk.claim()
    await desk.advance(at(8))
    await desk.claim()
    await desk.finish(attempt)
    _, skipped, _ = (await _ledger(desk)).occurrences
    assert skipped.fate is Fate.SKIPPED
    assert "shop/hourly@2026-03-02T07:00:00Z (from 2026-03-02T07:00:00Z" in skipped.reason


@scenario
async def test_a_paused_job_skips_what_has_come_and_will_not_run(desk: Desk) -> None:
    await desk.ops.pause("hourly")
    await desk.advance(at(7, 30))
    ledger = await _ledger(desk)
    assert fates(ledger) == [(7, "skipped"), (8, "will_not")]
    assert ledger.occurrences[0].reason == "it is paused since 2026-03-02T06:30:00Z"


@scenario
async def test_what_lies_before_the_job_is_unknown_unless_it_was_filled_in(desk: Desk) -> None:
    await desk.advance(at(7))
    await desk.run_due()
    await desk.ops.backfill("hourly", at(5), at(5))
    await desk.run_due()
    assert fates(await _ledger(desk, 4, 7)) == [(4, "unknown"), (5, "ran"), (6, "unknown"), (7, "ran")]
    assert fates(await _ledger(desk)) == [(7, "ran"), (8, "planned")]


@scenario
async def test_a_long_ledger_comes_in_parts_and_without_a_beginning_its_end_is_shown(desk: Desk) -> None:
    await desk.advance(at(12))
    await desk.run_due()
    first = await _ledger(desk, 7, 12, limit=4)
    assert [hour for hour, _ in fates(first)] == [7, 8, 9, 10]
    assert first.next == at(11)
    rest = await _ledger(desk, 11, 12, limit=4)
    assert ([hour for hour, _ in fates(rest)], rest.next) == ([11, 12], None)
    assert [hour for hour, _ in fates(await _ledger(desk, limit=3))] == [11, 12, 13]
    view = await desk.ops.find("hourly")
    assert [hour for hour, _ in fates(await desk.ops.occurrences(view, last=at(9), limit=2))] == [8, 9]


@scenario
async def test_runs_of_a_rule_that_was_changed_stay_in_the_ledger(desk: Desk) -> None:
    await desk.advance(at(7))
    await desk.run_due()
    await desk.declare(replace(HOURLY, schedule=Cron("15 * * * *", timezone="Asia/Kolkata")))
    ledger = await _ledger(desk, limit=2)
    assert fates(ledger) == [(7, "ran"), (7, "planned")]
    planned = ledger.occurrences[-1]
    assert (planned.at, planned.wall.isoformat()) == (at(7, 45), "2026-03-02T13:15:00+05:30")


@scenario
async def test_a_job_without_occurrences_has_an_empty_ledger(desk: Desk) -> None:
    await desk.declare(replace(HOURLY, repeat_until=START))
    assert await _ledger(desk) == Ledger("shop/hourly")
    assert await _ledger(desk, 7, 9) == Ledger("shop/hourly")
    view = await desk.ops.find("hourly")
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    assert len((await desk.ops.occurrences(view, first, limit=1)).occurrences) == 1
    assert await desk.ops.occurrences(view, last) == Ledger("shop/hourly")
    with pytest.raises(NaiveInstantError):
        await desk.ops.occurrences(view, first.replace(tzinfo=None))


@pytest.mark.parametrize("mode", MisfireMode)
@pytest.mark.parametrize("overlap", [OverlapMode.SKIP, OverlapMode.WAIT])
def test_every_occurrence_has_a_line_and_none_that_was_served_is_missed(
    mode: MisfireMode, overlap: OverlapMode
) -> None:
    @scenario
    async def play(desk: Desk) -> None:
        policy = Policy(misfire=Misfire(mode=mode, limit=2), overlap=Overlap(mode=overlap))
        await desk.declare(replace(HOURLY, schedule=Every("10m"), policy=policy))
        for minutes in (10, 35, 10, 120, 10):
            await desk.clock.advance(timedelta(minutes=minutes))
            for _ in range(3):
                await desk.run_due()
        view = await desk.ops.find("hourly")
        ledger = await desk.ops.occurrences(view, START, desk.clock.now())
        expected = [START + number * timedelta(minutes=10) for number in range(19)]
        assert [occurrence.at for occurrence in ledger.occurrences] == expected
        told = {occurrence.fate for occurrence in ledger.occurrences[1:]}
        assert told <= {Fate.RAN, Fate.COVERED, Fate.SKIPPED}

    play()


@scenario
async def test_a_long_history_is_read_up_to_a_bound(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for hour in range(7, 17):
        await desk.advance(at(hour))
        await desk.run_due()
    monkeypatch.setattr(questions, "MOST_TRACES", 4)
    limits: list[int] = []
    for name in ("runs", "skips"):
        ask = getattr(desk.ops.store, name)

        async def noted(query: RunQuery | SkipQuery, ask: Any = ask) -> Any:
            if getattr(query, "run_key", None) is None:
                limits.append(query.limit)
            return await ask(query)

        monkeypatch.setattr(desk.ops.store, name, noted)
    old = await desk.ops.why("hourly", datetime(1970, 1, 1, tzinfo=UTC))
    assert old.text == "the job is known only since 2026-03-02T06:30:00Z"
    assert (await desk.ops.why("hourly", at(8))).text.startswith("attempt 1 succeeded on node n1"), (
        "by its key"
    )
    assert (await desk.ops.why("hourly", at(14))).verdict.value == "ran"
    view = await desk.ops.find("hourly")
    ledger = await desk.ops.occurrences(view, datetime(1970, 1, 1, tzinfo=UTC), at(16), limit=1000)
    assert len(ledger.occurrences) == 1000
    assert fates(await _ledger(desk, 7, 16)) == [
        *((hour, "unknown") for hour in range(7, 13)), *((hour, "ran") for hour in range(13, 17)),
    ]  # fmt: skip
    assert set(limits) == {4}
