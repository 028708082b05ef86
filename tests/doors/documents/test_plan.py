"""What becomes of a job when its handler has ended: tables, and laws."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.doors.documents import Job, JobUpdate
from foliot.doors.documents.job import MILLISECOND
from foliot.doors.documents.plan import Plan, Rules, after_run

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
RULES = Rules(timedelta(0), "UTC")
MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
ENDED = Plan(JobUpdate(sleep_until=None))


def plan(now: datetime = NOON, rules: Rules = RULES, **fields: Any) -> Plan:
    return after_run(Job(id=1, **{"sleep_until": NOON, **fields}), now, rules)


def moved(at: datetime) -> Plan:
    return Plan(JobUpdate(sleep_until=at))


@pytest.mark.req("DOC-01", "DOC-09")
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ENDED),
        ({"interval": ""}, ENDED),
        ({"auto_remove": True}, Plan(None)),
        ({"auto_remove": 1}, Plan(None)),
        ({"auto_remove": 0}, ENDED),
        ({"interval": "0 * * * *"}, moved(NOON + HOUR)),
        ({"interval": "0 * * * *", "auto_remove": True}, moved(NOON + HOUR)),
        ({"interval": "*/10 * * * * *"}, moved(NOON + timedelta(seconds=10))),
        ({"interval": "0 * * * *", "repeat_until": NOON + HOUR}, moved(NOON + HOUR)),
        ({"interval": "0 * * * *", "repeat_until": NOON + HOUR - MILLISECOND}, ENDED),
        ({"interval": "0 * * * *", "repeat_until": NOON, "auto_remove": True}, Plan(None)),
        ({"interval": "0 * * * *", "repeat_until": "2026-03-02T14:00:00Z"}, moved(NOON + HOUR)),
        ({"interval": "0 * * * *", "repeat_until": "2026-03-02"}, ENDED),
        ({"interval": "0 * * * *", "sleep_until": None}, moved(NOON + HOUR)),
    ],
)
def test_the_next_time(fields: dict[str, Any], expected: Plan) -> None:
    assert plan(**fields) == expected


@pytest.mark.req("DOC-07", "DOC-09")
def test_reprocess_delay_counts_from_the_time_the_job_had() -> None:
    rules = RULES._replace(reprocess_delay=90 * MINUTE)
    assert plan(rules=rules, interval="0 * * * *") == moved(NOON + 2 * HOUR)
    late = NOON + 3 * HOUR
    assert plan(late, rules, interval="0 * * * *") == moved(late), "a slow handler swallows it"


@pytest.mark.req("DOC-09")
def test_a_job_that_is_far_behind_runs_again_now_or_at_its_next_time() -> None:
    late = NOON + timedelta(days=3, minutes=7)
    assert plan(late, interval="0 * * * *") == moved(late)
    rules = RULES._replace(catch_up="next")
    assert plan(late, rules, interval="0 * * * *") == moved(late + 53 * MINUTE)
    assert plan(late, rules, interval="0 * * * *", repeat_until=late) == ENDED


@pytest.mark.req("DOC-09")
def test_a_last_time_that_is_past_still_runs_if_its_turn_was_in_time() -> None:
    late = NOON + 5 * HOUR
    assert plan(late, interval="0 * * * *", repeat_until=NOON + HOUR) == moved(late), "as the seed has it"


def test_a_next_time_is_never_rounded_to_the_past() -> None:
    late = NOON + HOUR + timedelta(microseconds=1)
    assert plan(late, interval="0 * * * *") == moved(NOON + HOUR + MILLISECOND)


def test_a_text_without_a_zone_means_the_zone_of_the_intervals() -> None:
    berlin = RULES._replace(timezone="Europe/Berlin")
    last = "2026-03-02T14:00:00"  # 13:00 in UTC
    assert plan(rules=berlin, interval="0 * * * *", repeat_until=last) == moved(NOON + HOUR)
    assert plan(rules=berlin, interval="30 * * * *", sleep_until=NOON + HOUR, repeat_until=last) == ENDED


@pytest.mark.req("DOC-20")
@pytest.mark.parametrize(
    "fields",
    [
        {"interval": "x"}, {"interval": 5}, {"interval": ["* * * * *"]}, {"interval": "0 0 30 2 *"},
        {"interval": "* * * * * * *"}, {"interval": "@daily", "repeat_until": "soon"},
        {"interval": "@daily", "repeat_until": 7},
    ],
)  # fmt: skip
def test_what_cannot_be_understood_is_told_and_ends_the_job(fields: dict[str, Any]) -> None:
    ended = plan(**fields)
    assert ended.update == JobUpdate(sleep_until=None)
    assert len(ended.troubles) == 1
    assert str(ended.troubles[0]).startswith("document 1: ")
    assert "no next time" in str(ended.troubles[0])
    assert plan(**fields, auto_remove=True).update is None


@pytest.mark.parametrize("value", ["yes", "true", 2, [], {}, "", float("nan")])
def test_a_document_is_never_removed_on_a_doubt(value: Any) -> None:
    ended = plan(auto_remove=value)
    assert ended.update == JobUpdate(sleep_until=None)
    assert "nothing is removed" in str(ended.troubles[0])


def test_the_end_of_the_calendar_is_no_error() -> None:
    last = datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    rules = RULES._replace(reprocess_delay=timedelta(days=400))
    assert plan(rules=rules, interval="* * * * *", sleep_until=last) == ENDED
    assert plan(interval="0 * * * *", repeat_until=last) == moved(NOON + HOUR)


@given(
    st.sampled_from(["* * * * *", "*/7 * * * * *", "0 0 1 * *", "30 2 * * *", "@every 7s"]),
    st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)),
    st.timedeltas(timedelta(0), timedelta(days=40)),
    st.timedeltas(timedelta(0), timedelta(days=2)),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York"]),
    st.sampled_from(["now", "next"]),
)
def test_a_next_time_is_never_before_now_and_a_whole_millisecond(  # noqa: PLR0917 - Hypothesis gives them
    interval: str, base: datetime, late: timedelta, delay: timedelta, zone: str, catch_up: Any
) -> None:
    base = base.replace(tzinfo=UTC)
    found = after_run(
        Job(id=1, sleep_until=base, interval=interval), base + late, Rules(delay, zone, catch_up)
    )
    assert found.troubles == ()
    assert found.update is not None
    following = found.update.sleep_until
    assert isinstance(following, datetime)
    assert following >= base + late
    assert following > base + delay or following >= base + late
    assert following.microsecond % 1000 == 0
