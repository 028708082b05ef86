"""The next occurrences by Celery's own objects beside ours: what differs has a cause."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from celery.schedules import crontab, schedule

from doors.celery_beat.beat_stage import NOON, carried, entry, make_app
from foliot.doors.celery_beat.proof import Proof, prove
from foliot.schedules import Cron

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def proof_of(given: Any, start: datetime = NEW_YEAR, zone: str = "Europe/Berlin") -> Proof:
    app = make_app({"a": entry(given)}, timezone=zone)
    return prove(carried(app)["a"], app, start)


@pytest.mark.parametrize(
    "given",
    [
        crontab(),
        crontab(0, 9, day_of_month="1-7", day_of_week="mon"),
        crontab("*/7", "22-2", day_of_week="fri-mon"),
        crontab(0, 0, day_of_month=29, month_of_year=2),
        crontab(30, 3),  # the hour after the gap
    ],
)
def test_away_from_changes_of_the_clocks_there_is_no_difference(given: Any) -> None:
    proof = proof_of(given)

    assert proof.differences == ()
    assert proof.compared in (1000, 24)  # leap days of a hundred years


def test_times_that_clocks_leave_out_or_show_twice_are_named_with_their_cause() -> None:
    proof = proof_of(crontab(30, 2))

    gap, overlap = proof.differences
    assert proof.compared == 1000
    assert gap.total == 3
    assert "does not exist that day: Celery runs it so much later, Foliot leaves it out" in gap.cause
    assert gap.times[0].isoformat() == "2026-03-29T03:30:00+02:00"
    assert overlap.total == 2
    assert "comes twice: Celery runs it the first time, Foliot both times" in overlap.cause
    assert overlap.times[0].isoformat() == "2026-10-25T02:30:00+01:00"


@pytest.mark.parametrize("given", [crontab(minute="*/20"), crontab(minute=0), crontab(15, "0-6")])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo"])
def test_every_difference_around_a_change_has_a_known_cause(given: Any, zone: str) -> None:
    for start in (datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 10, 1, tzinfo=UTC)):
        for difference in proof_of(given, start, zone).differences:
            assert "the clocks go" in difference.cause


def test_in_utc_nothing_differs() -> None:
    assert proof_of(crontab(30, 2), zone="UTC") == Proof(1000, ())


def test_an_interval_has_no_phase_to_compare() -> None:
    assert proof_of(300.0) == Proof(1000, ())


def test_a_relative_interval_that_follows_the_clock_is_the_same() -> None:
    assert proof_of(schedule(timedelta(hours=1), relative=True)) == Proof(1000, ())


def test_a_relative_interval_of_days_begins_at_another_midnight() -> None:
    (difference,) = proof_of(schedule(timedelta(days=1), relative=True), NOON).differences

    assert "relative=True rounds to the clock of Celery's zone" in difference.cause


def test_a_wrong_rule_is_found() -> None:
    app = make_app({"a": entry(crontab(0, 9, day_of_month="1-7", day_of_week="mon"))})
    right = carried(app)["a"]
    wrong = right._replace(job=replace(right.job, schedule=Cron("0 9 1-7 * 1")))  # either day

    (difference,) = prove(wrong, app, NEW_YEAR).differences

    assert "no cause is known" in difference.cause
