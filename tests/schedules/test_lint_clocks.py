from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foliot.schedules import Cron, Every, Once, Schedule
from foliot.schedules.cron_syntax import Dialect
from foliot.schedules.lint import Finding, lint
from oracle import read

BERLIN = "Europe/Berlin"
DAY, MINUTE = timedelta(days=1), timedelta(minutes=1)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


NEW_YEAR_2026 = at("2026-01-01")


def found(rule: Cron, code: str, after: datetime = NEW_YEAR_2026, *, years: int = 5) -> list[Finding]:
    return [finding for finding in lint(rule, after, years=years) if finding.code == code]


@pytest.mark.parametrize(
    ("zone", "expression", "wall", "date", "clocks"),
    [
        (BERLIN, "30 2 * * *", "2026-03-29 02:30", "29 March 2026", "at 02:00"),
        ("America/New_York", "0 2 * * *", "2024-03-10 02:00", "10 March 2024", "at 02:00"),
        ("Africa/Cairo", "0 0 * * *", "2023-04-28 00:00", "28 April 2023", "at 00:00"),
        ("America/Sao_Paulo", "30 0 * * *", "2018-11-04 00:30", "4 November 2018", "at 00:00"),
        ("America/Havana", "59 0 * * *", "2023-03-12 00:59", "12 March 2023", "at 00:00"),
        ("Africa/Casablanca", "45 2 * * *", "2022-05-08 02:45", "8 May 2022", "at 02:00"),
        ("Antarctica/Troll", "30 2 * * *", "2023-03-26 02:30", "26 March 2023", "by 2 hours at 01:00"),
        ("Pacific/Apia", "0 9 * * *", "2011-12-30 09:00", "30 December 2011", "by 1 day at 00:00"),
        ("Australia/Lord_Howe", "15 2 * * *", "2023-10-01 02:15", "1 October 2023", "by 30 minutes at 02:00"),
        ("Pacific/Kwajalein", "0 9 * * *", "1993-08-21 09:00", "21 August 1993", "by 1 day at 00:00"),
    ],
)
def test_warns_of_a_time_that_the_clocks_leave_out(
    zone: str, expression: str, wall: str, date: str, clocks: str
) -> None:
    fact = f"{wall[11:]} on {date} does not exist in {city(zone)}"
    message = f"{fact} (the clocks go forward {clocks}): it will not run that day"
    expected = Finding(
        code="dst-gap", severity="warning", message=message, times=(datetime.fromisoformat(wall),)
    )
    assert found(Cron(expression, timezone=zone), "dst-gap", at(f"{wall[:4]}-01-01"), years=1) == [expected]


@pytest.mark.parametrize(
    ("zone", "expression", "wall", "date", "clocks"),
    [
        (BERLIN, "30 2 * * *", "2026-10-25 02:30", "25 October 2026", "at 03:00"),
        ("America/New_York", "30 1 * * *", "2024-11-03 01:30", "3 November 2024", "at 02:00"),
        ("America/Havana", "0 0 * * *", "2023-11-05 00:00", "5 November 2023", "at 01:00"),
        ("Africa/Casablanca", "0 2 * * *", "2022-03-27 02:00", "27 March 2022", "at 03:00"),
        ("America/Sao_Paulo", "30 23 * * *", "2018-02-17 23:30", "17 February 2018", "at 24:00"),
        (
            "America/St_Johns",
            "30 23 * * *",
            "2010-11-06 23:30",
            "6 November 2010",
            "at 00:01 on 7 November 2010",
        ),
        ("Antarctica/Troll", "30 2 * * *", "2023-10-29 02:30", "29 October 2023", "by 2 hours at 03:00"),
        ("Australia/Lord_Howe", "45 1 * * *", "2023-04-02 01:45", "2 April 2023", "by 30 minutes at 02:00"),
        ("Pacific/Kwajalein", "0 1 * * *", "1969-09-30 01:00", "30 September 1969", "by 23 hours at 24:00"),
    ],
)
def test_warns_of_a_time_that_comes_twice(
    zone: str, expression: str, wall: str, date: str, clocks: str
) -> None:
    fact = f"{wall[11:]} comes twice on {date} in {city(zone)}"
    message = f"{fact} (the clocks go back {clocks}): it will run twice"
    expected = Finding(
        code="dst-overlap", severity="warning", message=message, times=(datetime.fromisoformat(wall),)
    )
    assert found(Cron(expression, timezone=zone), "dst-overlap", at(f"{wall[:4]}-01-01"), years=1) == [
        expected
    ]


def city(zone: str) -> str:
    return zone.rsplit("/", maxsplit=1)[-1].replace("_", " ")


@pytest.mark.parametrize(
    ("expression", "dialect", "years", "tail", "listed"),
    [
        ("30 2 * * *", "standard", 5, "it will not run that day; 5 such times in the next 5 years", 5),
        ("0,30 2 * * *", "standard", 1, "it will not run then; 2 such times in the next year", 2),
        ("* 2 * * *", "standard", 1, "it will not run then; 60 such times in the next year", 50),
        ("* * 2 * * *", "seconds", 5, "it will not run then; 18000 such times in the next 5 years", 50),
        ("7,9 */10 2 * * *", "seconds", 1, "it will not run then; 12 such times in the next year", 12),
        ("30 2 * * *", "posix", 2, "it will not run that day; 2 such times in the next 2 years", 2),
    ],
)
def test_counts_all_times_and_lists_the_first(
    expression: str, dialect: Dialect, years: int, tail: str, listed: int
) -> None:
    [finding] = found(Cron(expression, timezone=BERLIN, dialect=dialect), "dst-gap", years=years)
    assert finding.message.endswith(f"(the clocks go forward at 02:00): {tail}")
    assert len(finding.times) == listed
    assert list(finding.times) == sorted(set(finding.times))


@pytest.mark.parametrize(
    ("zone", "expression", "severities"),
    [
        (BERLIN, "*/5 * * * *", {"note"}),
        (BERLIN, "7 * * * *", {"note"}),
        (BERLIN, "*/5 * * * 0", {"note"}),
        (BERLIN, "0 */2 * * *", {"warning"}),
        (BERLIN, "*/5 1-22 * * *", {"warning"}),
        ("Antarctica/Troll", "0 * * * *", {"note"}),
        ("Australia/Lord_Howe", "0 * * * *", {"warning"}),
        ("Australia/Lord_Howe", "*/30 * * * *", {"note"}),
        ("Australia/Lord_Howe", "*/20 * * * *", {"warning"}),
        ("Pacific/Apia", "0 * * * *", {"note"}),
        ("Pacific/Apia", "0 * 30 9,12 *", {"warning", "note"}),
    ],
)
def test_a_rule_that_keeps_its_rhythm_gets_a_note_only(
    zone: str, expression: str, severities: set[str]
) -> None:
    findings = found(Cron(expression, timezone=zone), "dst-gap", at("2011-07-01"))
    assert {finding.severity for finding in findings} == severities


def test_says_that_the_rhythm_stays_the_same() -> None:
    rule = Cron("*/30 * * * *", timezone=BERLIN)
    tail = ", but the rhythm in elapsed time stays the same; 2 such times in the next year"
    assert [finding.message for finding in lint(rule, NEW_YEAR_2026, years=1)] == [
        f"02:00 on 29 March 2026 does not exist in Berlin (the clocks go forward at 02:00){tail}",
        f"02:00 comes twice on 25 October 2026 in Berlin (the clocks go back at 03:00){tail}",
    ]


@pytest.mark.parametrize(
    ("code", "after", "times"),
    [
        ("dst-gap", "2025-03-29T00:59:59", []),
        ("dst-gap", "2025-03-29T01:00:00", ["02:00", "02:30"]),
        ("dst-gap", "2026-03-29T00:59:59", ["02:00", "02:30"]),
        ("dst-gap", "2026-03-29T01:00:00", []),
        ("dst-overlap", "2025-10-25T00:59:59", []),
        ("dst-overlap", "2025-10-25T01:00:00", ["02:00", "02:30"]),
        ("dst-overlap", "2026-10-24T23:59:59", ["02:00", "02:30"]),
        ("dst-overlap", "2026-10-25T00:00:00", ["02:30"]),  # the clocks show 02:00 for the first time
        ("dst-overlap", "2026-10-25T00:30:00", []),
    ],
)
def test_tells_only_of_what_is_still_to_come(code: str, after: str, times: list[str]) -> None:
    rule = Cron("*/30 2 29,25 3,10 *", timezone=BERLIN)  # each once on the day of a change: in 2026
    findings = found(rule, code, at(after), years=1)
    assert [f"{wall:%H:%M}" for finding in findings for wall in finding.times] == times


def test_counts_to_the_second_where_the_clocks_are_moved_by_seconds() -> None:
    after = at("1972-01-01")
    [finding] = lint(Cron("15,45 44 0 * * *", timezone="Africa/Monrovia", dialect="seconds"), after)
    assert finding.message == (
        "00:44:15 on 7 January 1972 does not exist in Monrovia"
        " (the clocks go forward by 44 minutes and 30 seconds at 00:00): it will not run then"
    )
    [finding] = lint(Cron("* * * * *", timezone="Africa/Monrovia"), after)
    assert finding.severity == "warning"
    assert finding.message.endswith("; 45 such times in the next 5 years")


def test_looks_ahead_to_the_last_year_of_the_calendar_and_no_further() -> None:
    rule = Cron("30 2 * * *", timezone=BERLIN)
    for years, count in ((5, 5), (6, 6), (7, 6)):
        [finding] = found(rule, "dst-gap", at("9994-01-01"), years=years)
        assert len(finding.times) == count


def test_a_leap_day_is_a_day_to_count_years_from() -> None:
    rule = Cron("30 2 * * *", timezone=BERLIN)
    [finding] = found(rule, "dst-gap", at("2024-02-29"), years=1)
    assert finding.times == (datetime(2024, 3, 31, 2, 30),)


@pytest.mark.parametrize(
    "schedule",
    [
        Every("1h", timezone=BERLIN),
        Cron("@every 5m", timezone=BERLIN),
        Cron("30 2 * * *"),
        Cron("30 2 * * *", timezone="Asia/Tokyo"),
        Cron("30 4 * * *", timezone=BERLIN),
        Cron("30 2 1-20 * *", timezone=BERLIN),
        Cron("30 2 * * 1-6", timezone=BERLIN),
        Cron("0 9 * * 1-5", timezone=BERLIN),
        Once(at("2026-03-29T01:30:00")),
    ],
    ids=str,
)
def test_finds_nothing_where_there_is_nothing(schedule: Schedule) -> None:
    assert lint(schedule, NEW_YEAR_2026) == []


def test_looks_no_years_ahead_if_told_so() -> None:
    assert lint(Cron("30 2 * * *", timezone=BERLIN), NEW_YEAR_2026, years=0) == []


MINUTES = st.sampled_from(["*", "0", "30", "59", "*/7", "*/20", "1-10", "0,45"])
HOURS = st.sampled_from(["*", "0", "1", "2", "23", "0-3", "*/2", "22-23"])
DATES = st.sampled_from(["*", "1-15", "16-31", "*/2", "31"])
MONTHS = st.sampled_from(["*", "1-6", "10", "12"])
WEEKDAYS = st.sampled_from(["*", "0", "5,6", "1-5"])
EXPRESSIONS = st.tuples(MINUTES, HOURS, DATES, MONTHS, WEEKDAYS).map(" ".join)
ODD_YEARS = [
    (BERLIN, 2026),
    ("America/New_York", 2024),
    ("Australia/Lord_Howe", 2023),
    ("Pacific/Apia", 2011),
    ("Antarctica/Troll", 2023),
    ("Africa/Cairo", 2014),  # four changes
    ("Africa/Casablanca", 2013),  # four changes
    ("America/Sao_Paulo", 2018),
    ("America/Havana", 2023),
    ("America/St_Johns", 1988),  # at one minute past midnight
    ("Asia/Pyongyang", 2015),
    ("Pacific/Kwajalein", 1969),
]


@lru_cache
def odd_minutes(zone_name: str, year: int) -> dict[str, list[datetime]]:
    """The wall minutes of a year that do not come back from UTC, and those with two offsets."""
    zone = ZoneInfo(zone_name)
    odd: dict[str, list[datetime]] = {"dst-gap": [], "dst-overlap": []}
    day = datetime(year, 1, 1)
    while day.year == year:
        edges = {(day + n * DAY).replace(tzinfo=zone).utcoffset() for n in (-1, 0, 1, 2)}
        for minute in range(1440 if len(edges) > 1 else 0):
            naive = day + minute * MINUTE
            wall = naive.replace(tzinfo=zone)
            if wall.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != naive:
                odd["dst-gap"].append(naive)
            elif wall.utcoffset() != wall.replace(fold=1).utcoffset():
                odd["dst-overlap"].append(naive)
        day += DAY
    return odd


@given(st.sampled_from(ODD_YEARS), EXPRESSIONS)
@settings(max_examples=400)
def test_agrees_with_a_walk_over_every_minute(odd_year: tuple[str, int], expression: str) -> None:
    zone, year = odd_year
    fields = read(expression)
    findings = lint(Cron(expression, timezone=zone), at(f"{year}-01-01"), years=1)
    for code, minutes in odd_minutes(zone, year).items():
        expected = [minute for minute in minutes if fields.match(minute)]
        group = [finding for finding in findings if finding.code == code]
        assert sum(total(finding) for finding in group) == len(expected)
        listed = [wall for finding in group for wall in finding.times]
        if len(expected) <= 50:
            assert sorted(listed) == expected
        else:
            assert set(listed) <= set(expected)


def total(finding: Finding) -> int:
    found = re.search(r"; (\d+) such times", finding.message)
    return int(found[1]) if found else len(finding.times)


@given(
    st.sampled_from([BERLIN, "Australia/Lord_Howe", "Antarctica/Troll", "America/Havana"]),
    st.sets(st.sampled_from(range(0, 60, 5)), min_size=1),
)
@settings(max_examples=60)
def test_the_rhythm_stays_the_same_exactly_where_it_is_said(zone: str, minutes: set[int]) -> None:
    rule = Cron(f"{','.join(map(str, sorted(minutes)))} * * * *", timezone=zone)
    for finding in lint(rule, at("2023-01-01"), years=1):
        if finding.code.startswith("dst"):
            change = finding.times[0].replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)
            past, coming = (
                {when.astimezone(UTC).minute for when in rule.upcoming(change + hours, len(minutes))}
                for hours in (-timedelta(hours=6), timedelta(hours=6))
            )
            assert (finding.severity == "note") == (past == coming)
