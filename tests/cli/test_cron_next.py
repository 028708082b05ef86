"""`foliot cron next`."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from cli.calls import call
from foliot.clock import SystemClock

AUTUMN = ("*/30 2 * * *", "--tz", "Europe/Berlin", "--from", "2026-10-25")


def test_shows_wall_time_utc_and_wait() -> None:
    result = call(
        "cron", "next", "5 9 * * 1-5", "--tz", "Europe/Berlin", "--from", "2026-03-27T07:00", "-n", "2"
    )
    assert result.code == 0
    assert result.err == ""
    assert result.out.splitlines() == [
        "OCCURRENCE                   UTC               DUE",
        "Fri 2026-03-27 09:05 +01:00  2026-03-27 08:05  in 2 h 5 min",
        "Mon 2026-03-30 09:05 +02:00  2026-03-30 07:05  in 3 d 1 h",
    ]


def test_marks_the_second_pass_of_a_repeated_hour() -> None:
    lines = call("cron", "next", *AUTUMN, "-n", "4").out.splitlines()
    assert [line.split()[1:4] for line in lines[1:5]] == [
        ["2026-10-25", "02:00", "+02:00"],
        ["2026-10-25", "02:30", "+02:00"],
        ["2026-10-25", "02:00", "+01:00"],
        ["2026-10-25", "02:30", "+01:00"],
    ]
    assert [line.endswith("2nd time") for line in lines[1:5]] == [False, False, True, True]
    assert lines[5:] == ["2nd time: the clocks go back, so this wall time comes twice"]


def test_shows_seconds_only_where_there_are_some() -> None:
    row = call(
        "cron", "next", "*/20 * * * * *", "--dialect", "seconds", "--from", "2026-01-01", "-n", "1"
    ).out
    assert "Thu 2026-01-01 00:00:20 +00:00  2026-01-01 00:00:20  in 20 s" in row


def test_shows_five_unless_told_otherwise() -> None:
    assert len(call("cron", "next", "* * * * *", "--from", "2026-01-01").out.splitlines()) == 1 + 5


def test_gives_json_with_instants_that_have_offsets() -> None:
    result = call("cron", "next", *AUTUMN, "-n", "3", "-o", "json")
    assert result.code == 0
    assert result.json() == {
        "expression": "*/30 2 * * *",
        "dialect": "standard",
        "dst": "exact",
        "timezone": "Europe/Berlin",
        "from": "2026-10-25T00:00:00+02:00",
        "occurrences": [
            {
                "at": "2026-10-25T02:00:00+02:00",
                "utc": "2026-10-25T00:00:00+00:00",
                "in_seconds": 7200.0,
                "second_pass": False,
            },
            {
                "at": "2026-10-25T02:30:00+02:00",
                "utc": "2026-10-25T00:30:00+00:00",
                "in_seconds": 9000.0,
                "second_pass": False,
            },
            {
                "at": "2026-10-25T02:00:00+01:00",
                "utc": "2026-10-25T01:00:00+00:00",
                "in_seconds": 10800.0,
                "second_pass": True,
            },
        ],
    }


@pytest.mark.parametrize(
    ("start", "instant"),
    [
        ("2026-03-28", "2026-03-28T00:00:00+01:00"),
        ("2026-03-28T12:00", "2026-03-28T12:00:00+01:00"),
        ("2026-03-28T12:00:30.5", "2026-03-28T12:00:30.500000+01:00"),
        ("2026-03-28T12:00Z", "2026-03-28T13:00:00+01:00"),
        ("2026-03-28T12:00-05:00", "2026-03-28T18:00:00+01:00"),
        pytest.param("2026-03-29T02:30", "2026-03-29T03:30:00+02:00", id="a wall time that is left out"),
        pytest.param("2026-10-25T02:30", "2026-10-25T02:30:00+02:00", id="the first of a repeated hour"),
    ],
)
def test_from_is_wall_time_of_the_zone_unless_it_has_an_offset(start: str, instant: str) -> None:
    facts = call("cron", "next", "0 0 * * *", "--tz", "Europe/Berlin", "--from", start, "-o", "json").json()
    assert facts["from"] == instant


def test_starts_now_unless_told_otherwise() -> None:
    before = SystemClock().now()
    facts = call("cron", "next", "* * * * *", "-n", "1", "-o", "json").json()
    assert before <= datetime.fromisoformat(facts["from"]) <= SystemClock().now()
    wait = datetime.fromisoformat(facts["occurrences"][0]["at"]) - datetime.fromisoformat(facts["from"])
    assert wait.total_seconds() == facts["occurrences"][0]["in_seconds"]
    assert timedelta(0) < wait <= timedelta(minutes=1)


def test_a_zone_in_the_expression_goes_before_the_option() -> None:
    facts = call(
        "cron",
        "next",
        "TZ=Asia/Tokyo 0 9 * * *",
        "--from",
        "2026-01-01",
        "--tz",
        "Europe/Berlin",
        "-o",
        "json",
    ).json()
    assert facts["timezone"] == "Asia/Tokyo"


@pytest.mark.parametrize("expression", ["@every 3650000d", "59 23 31 12 *"])
def test_says_where_the_calendar_ends(expression: str) -> None:
    call_on = ("cron", "next", expression, "--tz", "America/New_York", "--from", "9999-12-31T12:00")
    result = call(*call_on)
    assert result.code == 0
    assert result.out == "No occurrence follows before the end of the calendar, in the year 9999.\n"
    assert call(*call_on, "-o", "json").json()["occurrences"] == []


def test_lists_what_lies_before_the_end_of_the_calendar() -> None:
    lines = call("cron", "next", "0 12 * * *", "--from", "9999-12-30T13:00").out.splitlines()
    assert [line.split()[0] for line in lines] == ["OCCURRENCE", "Fri", "No"]


@pytest.mark.parametrize("start", ["9999-12-31T23:00", "0001-01-01"])
def test_refuses_a_start_that_has_no_name_in_utc(start: str) -> None:
    zone = "America/New_York" if start.startswith("9") else "Asia/Tokyo"
    result = call("cron", "next", "* * * * *", "--tz", zone, "--from", start)
    assert result.code == 2
    assert "Invalid value for '--from': it lies at the very edge of the calendar" in result.err


@pytest.mark.parametrize("count", ["0", "-1", "10001", "1.5", "many", "9" * 5000])
def test_refuses_a_count_that_makes_no_sense(count: str) -> None:
    result = call("cron", "next", "* * * * *", "-n", count)
    assert result.code == 2
    assert "Invalid value for '-n' / '--count'" in result.err
    assert result.out == ""


def test_shows_as_many_as_ten_thousand() -> None:
    assert (
        len(call("cron", "next", "* * * * *", "-n", "10000", "--from", "2026-01-01").out.splitlines())
        == 10_001
    )


@pytest.mark.parametrize("start", ["tomorrow", "", "2026-13-01", "12:00", "1e9", "2026-01-01T25:00"])
def test_refuses_a_start_that_is_no_time(start: str) -> None:
    result = call("cron", "next", "* * * * *", "--from", start)
    assert result.code == 2
    assert f"Invalid value for '--from': \"{start}\" is not an ISO 8601 time" in result.err
