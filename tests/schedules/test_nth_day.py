"""`L`, `5L` and `1#2`: the days that the dialect `seconds` counts within their month."""

from __future__ import annotations

import calendar
from datetime import UTC, date, datetime, timedelta

import pytest

from foliot.errors import InvalidCronExpressionError
from foliot.schedules import Cron
from foliot.schedules.explain import explain
from foliot.schedules.lint import lint

START = datetime(2026, 1, 1, tzinfo=UTC)


def days(expression: str, count: int) -> list[str]:
    found = Cron(expression, dialect="seconds").upcoming(START - timedelta(seconds=1), count)
    return [f"{at:%m-%d}" for at in found]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 0 L * *", ["01-31", "02-28", "03-31", "04-30"]),
        ("0 0 l 2 *", ["02-28", "02-28", "02-29"]),
        ("0 0 1,L * *", ["01-01", "01-31", "02-01", "02-28"]),
        ("0 0 * * 5L", ["01-30", "02-27", "03-27"]),
        ("0 0 * * 7L", ["01-25", "02-22", "03-29"]),
        ("0 0 * * friL", ["01-30", "02-27"]),
        ("0 0 * * 1#2", ["01-12", "02-09", "03-09"]),
        ("0 0 * * MON#5", ["03-30", "06-29", "08-31"]),
        ("0 0 * * 1#1,5L", ["01-05", "01-30", "02-02", "02-27"]),
        ("0 0 L * 1#1", ["01-05", "01-31", "02-02", "02-28"]),
        ("30 0 0 L * *", ["01-31", "02-28"]),
    ],
)
def test_the_days(expression: str, expected: list[str]) -> None:
    assert days(expression, len(expected)) == expected


def test_every_day_of_years_is_as_a_calendar_counts_it() -> None:
    rules = {
        (weekday, nth): Cron(f"0 0 * * {weekday}#{nth}", dialect="seconds")
        for weekday in range(7) for nth in range(1, 6)
    }  # fmt: skip
    lasts = {weekday: Cron(f"0 0 * * {weekday}L", dialect="seconds") for weekday in range(7)}
    last_day = Cron("0 0 L * *", dialect="seconds")
    day = date(2023, 12, 1)
    while day < date(2025, 2, 1):
        at = datetime(day.year, day.month, day.day, tzinfo=UTC)
        length = calendar.monthrange(day.year, day.month)[1]
        weekday, nth = day.isoweekday() % 7, (day.day + 6) // 7
        assert [key for key, rule in rules.items() if rule.matches(at)] == [(weekday, nth)]
        assert [key for key, rule in lasts.items() if rule.matches(at)] == [weekday] * (day.day + 7 > length)
        assert last_day.matches(at) == (day.day == length)
        day += timedelta(days=1)


def test_they_are_counted_and_searched_backward() -> None:
    rule = Cron("0 0 * * 5L", dialect="seconds")
    year = datetime(2027, 1, 1, tzinfo=UTC)
    assert rule.count(START, year) == 12
    latest = rule.previous(year)
    assert latest is not None
    assert f"{latest:%m-%d}" == "12-25"


@pytest.mark.parametrize(
    ("expression", "canonical", "said"),
    [
        ("0 9 L * *", "0 9 L * *", "at 09:00 on the last day of every month, UTC"),
        ("0 9 * 3 MONL", "0 9 * 3 1L", "at 09:00 on the last Monday of March, UTC"),
        ("0 9 1,L * *", "0 9 1,L * *", "at 09:00 on the 1st and the last day of every month, UTC"),
        ("0 9 * * 1#2,3#2", "0 9 * * 1#2,3#2",
         "at 09:00 on the second Monday and the second Wednesday of every month, UTC"),
        ("0 9 L * 1", "0 9 L * 1",
         "at 09:00 on the last day of every month, and also on every Monday, UTC"),
        ("0 9 *,L * *", "0 9 * * *", "at 09:00 every day, UTC"),
    ],
)  # fmt: skip
def test_they_are_written_and_said(expression: str, canonical: str, said: str) -> None:
    rule = Cron(expression, dialect="seconds")
    assert rule.canonical == canonical
    assert Cron(canonical, dialect="seconds").fields == rule.fields
    assert explain(rule) == said
    assert isinstance(lint(rule, after=START), tuple | list)


@pytest.mark.parametrize(
    "expression",
    ["0 L * * *", "0 0 * L *", "0 0 * * L", "0 0 L-3 * *", "0 0 15W * *", "0 0 * * 1#6", "0 0 * * 1#0",
     "0 0 1#2 * *", "0 0 5L * *", "0 0 * * xyzL", "0 0 * * 8L", "0 0 * * 1-5L", "0 0 * * 1#2/2"],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(expression: str) -> None:
    with pytest.raises(InvalidCronExpressionError):
        Cron(expression, dialect="seconds")
