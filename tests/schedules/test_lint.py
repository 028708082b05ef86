from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foliot.errors import InvalidScheduleError, NaiveInstantError
from foliot.schedules import Cron, Every, Once, Schedule
from foliot.schedules.lint import Finding, lint
from oracle import AWKWARD_ZONES

BERLIN = "Europe/Berlin"
CODES = ("never-again", "past", "dst-gap", "dst-overlap", "either-day", "short-month", "rare", "uneven-step")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


NEW_YEAR_2026 = at("2026-01-01")


def found(schedule: Schedule, code: str, after: datetime = NEW_YEAR_2026) -> list[Finding]:
    return [finding for finding in lint(schedule, after) if finding.code == code]


def messages(schedule: Schedule, code: str) -> list[str]:
    return [finding.message for finding in found(schedule, code)]


BOTH = (
    "; only dialect='celery' asks for both at once: choose it, or write * in one of the two fields"
    " and check the other condition in the job"
)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("0 0 13 * 5", f"on the 13th of every month, and also on every Friday{BOTH}"),
        ("0 0 1-7 6 1", f"every day from 1 to 7 June, and also on every Monday in June{BOTH}"),
        ("0 0 1-31 * 5", "every day"),
        ("0 0 */2 4 0-6", "every day in April"),
        ("0 0 30 2 5", "on Fridays in February"),
    ],
)
def test_warns_that_either_day_field_may_match(expression: str, words: str) -> None:
    [finding] = found(Cron(expression), "either-day")
    assert finding.severity == "warning"
    assert finding.message == (
        f"both day fields are restricted, so a day matches if either does: it runs {words}"
    )


SHORT_MONTHS = (
    "February, April, June, September and November have no 31st:"
    " they are skipped, and it runs in 7 months of the year only"
)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("0 0 31 * *", SHORT_MONTHS),
        ("0 0 30 * *", "February has no 30th: it is skipped, and it runs in 11 months of the year only"),
        ("0 0 30,31 2,3 *", "February has no 30th: it is skipped, and it runs in 1 month of the year only"),
        ("0 0 29-31 * *", "February has a 29th in leap years only: it is skipped in all others"),
        ("0 0 29 2,3 *", "February has a 29th in leap years only: it is skipped in all others"),
        ("0 0 29 2 *", None),
        ("0 0 28-31 * *", None),
        ("0 0 31 1,3 *", None),
        ("0 0 31 * 1", None),
    ],
)
def test_notes_months_that_lack_the_day(expression: str, message: str | None) -> None:
    assert messages(Cron(expression), "short-month") == ([message] if message else [])


@pytest.mark.parametrize(
    ("schedule", "after", "dates"),
    [
        (Cron("0 0 29 2 *"), "2026-01-01", ["2028-02-29", "2032-02-29"]),
        (Cron("0 0 29 2 *"), "2028-02-01", ["2028-02-29", "2032-02-29"]),
        (Cron("0 0 29 2 *"), "2095-01-01", ["2096-02-29", "2104-02-29"]),
        (Cron("30 2 29 3 *", timezone=BERLIN), "2025-06-01", ["2027-03-29", "2028-03-29"]),
        (Every("500d"), "2026-01-01", ["2026-02-16", "2027-07-01"]),
        (Cron("0 0 1 1 *"), "2026-01-01", []),
        (Cron("0 0 1 3 *"), "2027-03-01", []),
        (Cron("0 3 29 3 *", timezone=BERLIN), "2023-01-01", []),  # 366 days and an hour later
        (Every("366d"), "2026-01-01", []),
    ],
)
def test_notes_runs_more_than_a_year_apart(schedule: Schedule, after: str, dates: list[str]) -> None:
    findings = found(schedule, "rare", at(after))
    assert [str(day.date()) for finding in findings for day in finding.times] == dates


def test_names_the_next_dates_of_a_rare_rule() -> None:
    assert messages(Cron("0 0 29 2 *"), "rare") == [
        "it runs rarely: next on 29 February 2028 and 29 February 2032"
    ]


SEVEN_MINUTES = (
    "a step of 7 minutes does not divide an hour: after minute 56 it starts again at minute 0,"
    " 4 minutes later"
)
FIVE_HOURS = "a step of 5 hours does not divide a day: after hour 20 it starts again at hour 0, 4 hours later"
TWENTY_NINE_SECONDS = (
    "a step of 29 seconds does not divide a minute: after second 58 it starts again at second 0,"
    " 2 seconds later"
)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("0 */7 * * * *", SEVEN_MINUTES),
        ("0 */7 9,10 * * *", SEVEN_MINUTES),
        ("0 */7 23,0 * * *", SEVEN_MINUTES),
        ("0 0 */5 * * *", FIVE_HOURS),
        ("0 0 */5 1 * 1", FIVE_HOURS),
        ("*/59 * * * * *", None),  # two values make no rhythm
        ("*/29 * * * * *", TWENTY_NINE_SECONDS),
        ("0 0 0,5,10,15,20 * * 1,2", FIVE_HOURS),
        ("0 */5 * * * *", None),
        ("0 * * * * *", None),
        ("0 1/7 * * * *", None),
        ("0 0-49/7 * * * *", None),
        ("0 */7 9 * * *", None),  # there is no next hour
        ("0 */7 9,17 * * *", None),
        ("0 0 */5 * * 1,3", None),  # nor a next day
        ("0 0 */5 1,15 * *", None),
    ],
)  # fmt: skip
def test_notes_a_step_that_does_not_come_round(expression: str, message: str | None) -> None:
    assert messages(Cron(expression, dialect="seconds"), "uneven-step") == ([message] if message else [])


@pytest.mark.parametrize(
    ("instant", "is_past"), [("17:59:59", False), ("18:00:00", True), ("18:00:01", True)]
)
def test_warns_of_a_single_time_that_is_past(instant: str, is_past: bool) -> None:  # noqa: FBT001
    moment = datetime(2026, 12, 24, 18, tzinfo=timezone(timedelta(hours=1)))
    findings = lint(Once(moment), datetime.fromisoformat(f"2026-12-24T{instant}+01:00"))
    message = "its only time is past: at 18:00 on 24 December 2026, UTC+01:00"
    past = Finding(code="past", severity="warning", message=message, times=(moment,))
    assert findings == ([past] if is_past else [])


@pytest.mark.parametrize("schedule", [Cron("0 0 1 1 *"), Every("500d"), Cron("@every 9d")], ids=str)
def test_warns_of_a_rule_at_the_end_of_the_calendar(schedule: Schedule) -> None:
    [finding] = lint(schedule, at("9999-12-31T23:00:00"))
    assert (finding.code, finding.severity) == ("never-again", "warning")
    assert finding.message == "it never runs again after 31 December 9999"


def test_puts_warnings_before_notes_and_the_worst_first() -> None:
    findings = lint(Cron("*/7 * 13 * 0", timezone="Australia/Lord_Howe"), NEW_YEAR_2026)
    assert [(finding.severity, finding.code) for finding in findings] == [
        ("warning", "dst-gap"),
        ("warning", "dst-overlap"),
        ("warning", "either-day"),
        ("note", "uneven-step"),
    ]
    findings = lint(Cron("*/7 * 29-31 3,10 *", timezone=BERLIN), at("2023-01-01"))
    assert [finding.code for finding in findings] == ["dst-gap", "dst-overlap", "uneven-step"]
    assert {finding.severity for finding in findings} == {"note"}


@pytest.mark.parametrize("years", [-1, 1.5, None])
def test_refuses_a_number_of_years_that_is_none(years: Any) -> None:
    with pytest.raises(InvalidScheduleError, match="years"):
        lint(Every("1h"), NEW_YEAR_2026, years=years)


def test_refuses_a_naive_time() -> None:
    with pytest.raises(NaiveInstantError):
        lint(Every("1h"), datetime(2026, 1, 1))


MINUTES = st.sampled_from(["*", "0", "30", "59", "*/7", "*/20", "1-10", "0,45"])
HOURS = st.sampled_from(["*", "0", "1", "2", "23", "0-3", "*/2", "22-23"])
DATES = st.sampled_from(["*", "1-15", "16-31", "*/2", "31"])
MONTHS = st.sampled_from(["*", "1-6", "10", "12"])
WEEKDAYS = st.sampled_from(["*", "0", "5,6", "1-5"])
EXPRESSIONS = st.tuples(MINUTES, HOURS, DATES, MONTHS, WEEKDAYS).map(" ".join)


@given(
    EXPRESSIONS,
    st.sampled_from(AWKWARD_ZONES),
    st.datetimes(
        timezones=st.sampled_from([UTC, timezone(timedelta(hours=14)), timezone(-timedelta(hours=12))])
    ),
    st.integers(0, 6),
)
@settings(max_examples=60)
def test_never_fails_and_never_differs(expression: str, zone: str, after: datetime, years: int) -> None:
    rule = Cron(expression, timezone=zone)
    findings = lint(rule, after, years=years)
    assert findings == lint(Cron(expression, timezone=zone), after, years=years)
    order = [(finding.severity != "warning", CODES.index(finding.code)) for finding in findings]
    assert order == sorted(order)
    assert all(len(finding.times) <= 50 for finding in findings)


@pytest.mark.parametrize("hours", [-12, 0, 14])
@pytest.mark.parametrize("edge", ["0001-01-01T00:00:00", "9999-12-31T23:59:59"])
def test_holds_at_the_ends_of_the_calendar(edge: str, hours: int) -> None:
    after = datetime.fromisoformat(edge).replace(tzinfo=timezone(timedelta(hours=hours)))
    for schedule in (Cron("30 2 * * *", timezone=BERLIN), Every("1h"), Once(after)):
        assert all(finding.code in CODES for finding in lint(schedule, after, years=2))


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (
            "*/90 * * * *",
            "a step of 90 does not fit into its minute field (0-59): */90 is only its first value",
        ),
        (
            "0 */25 * * *",
            "a step of 25 does not fit into its hour field (0-23): */25 is only its first value",
        ),
        (
            "TZ=UTC 0 0 */40 * *",
            "a step of 40 does not fit into its day field (1-31): */40 is only its first value",
        ),
    ],
)
def test_warns_of_a_step_that_is_wider_than_its_field(expression: str, message: str) -> None:
    found = [
        finding
        for finding in lint(Cron(expression), datetime(2026, 1, 1, tzinfo=UTC))
        if finding.code == "wide-step"
    ]

    assert [(finding.severity, finding.message) for finding in found] == [("warning", message)]


@pytest.mark.parametrize(
    "expression", ["*/30 * * * *", "*/59 * * * *", "@daily", "@every 90m", "0 0 */15 * *"]
)
def test_is_silent_about_steps_that_fit(expression: str) -> None:
    assert not [
        finding
        for finding in lint(Cron(expression), datetime(2026, 1, 1, tzinfo=UTC))
        if finding.code == "wide-step"
    ]
