"""Plans of jobs that run each minute, over a week and a month; and of jobs that are declared today."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from engine.change_stage import NOON, jobs_of, only, planned, record_of, text_of, warned
from foliot.engine.change import Code
from foliot.engine.plan_definition import plan_declared
from foliot.model.state import Record

pytestmark = pytest.mark.req("OWN-16")
MINUTELY = 'a: {schedule: "* * * * *", run: ./a}'


@pytest.mark.parametrize("days", [7, 31])
def test_a_job_of_each_minute_is_compared_to_the_end(days: int) -> None:
    after = 'a: {schedule: "*/2 * * * *", run: ./a}'
    plan = planned(MINUTELY, after, horizon=timedelta(days=days))
    change = only(plan)
    assert change.runs[:6] == (days * 1440, days * 720, days * 720, 0, days * 720, 0)
    assert change.runs.compared_until is None
    assert not plan.is_truncated


def test_runs_that_move_within_a_month_of_minutes_are_paired_exactly() -> None:
    after = 'a: {schedule: "* 0-11 * * *", run: ./a}'
    plan = planned('a: {schedule: "* 12-23 * * *", run: ./a}', after, horizon=timedelta(days=31))
    runs = only(plan).runs
    assert runs.kept + runs.moved + runs.removed == runs.before == 31 * 720
    assert runs.kept + runs.moved + runs.added == runs.after == 31 * 720
    assert not plan.is_truncated


def test_short_runs_of_each_minute_need_no_foretelling() -> None:
    took = {"a": [timedelta(seconds=5)] * 20}
    plan = planned({"a": record_of(MINUTELY)}, MINUTELY.replace("./a", "./b"), took=took)
    assert not plan.is_truncated
    assert text_of(only(plan), Code.OVERLAP_LIKELY) is None


def test_long_runs_of_each_minute_are_still_foretold() -> None:
    took = {"a": [timedelta(seconds=90)] * 20}
    change = only(planned({"a": record_of(MINUTELY)}, MINUTELY.replace("./a", "./b"), took=took))
    assert "overlap-likely" in warned(change)


def test_a_run_that_is_due_already_may_meet_the_next_one() -> None:
    """Due at 11:58, it starts at the change at 12:00:00, and takes 65 seconds: 12:01 meets it."""
    record = record_of(MINUTELY)
    waits = record._replace(
        state=record.state._replace(next_at=NOON - timedelta(minutes=2), wake_at=NOON - timedelta(minutes=2))
    )
    took = {"a": [timedelta(seconds=65)]}
    change = only(planned({"a": waits}, MINUTELY.replace("./a", "./b"), took=took))
    assert "overlap-likely" in warned(change)


def declared(line: str, at: datetime) -> Record:
    (job,) = jobs_of(line)
    return Record(job, plan_declared(job, None, at).state)


def test_a_job_declared_today_has_no_day_without_run_for_the_hours_before() -> None:
    """Declared at 09:00 for 08:00, changed at noon to 07:00: its first run was never to be today."""
    before = declared('a: {schedule: "0 8 * * *", run: ./a}', NOON - timedelta(hours=3))
    change = only(planned({"a": before}, 'a: {schedule: "0 7 * * *", run: ./a}'))
    assert text_of(change, Code.DAY_WITHOUT_RUN) is None


def test_a_job_declared_today_may_lose_the_run_that_was_still_to_come() -> None:
    before = declared('a: {schedule: "0 23 * * *", run: ./a}', NOON - timedelta(hours=3))
    change = only(planned({"a": before}, 'a: {schedule: "0 7 * * *", run: ./a}'))
    assert text_of(change, Code.DAY_WITHOUT_RUN) == "today has no run: 07:00 is over by then"
