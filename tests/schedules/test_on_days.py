"""A rule on some days only: it equals filtering the plain rule, in zones with odd clocks, too."""

from __future__ import annotations

from copy import copy
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from foliot.errors import InvalidScheduleError
from foliot.model.codec import decode_job, encode_job
from foliot.model.job import Action, Job
from foliot.schedules import Calendar, Cron, Every, OnDays, Schedule
from foliot.schedules.day_filter import MOST_DATES
from foliot.schedules.explain import explain
from foliot.schedules.lint import lint

BERLIN = ZoneInfo("Europe/Berlin")
DAY, TICK = timedelta(days=1), timedelta(microseconds=1)
CHRISTMAS = Calendar("de", [date(2026, 12, 25), date(2026, 12, 26), date(2027, 1, 1)])
MONDAYS = Calendar("mondays", cron="* * * * MON")
DAILY = Cron("0 9 * * *", timezone="Europe/Berlin")


def days_of(rule: Schedule, after: datetime, count: int) -> list[str]:
    return [f"{at:%m-%d}" for at in rule.upcoming(after, count)]


@pytest.mark.req("OWN-21")
def test_a_day_of_an_excepted_calendar_has_no_occurrence() -> None:
    rule = OnDays(DAILY, exclude=CHRISTMAS)
    eve = datetime(2026, 12, 24, tzinfo=BERLIN)

    assert days_of(rule, eve, 3) == ["12-24", "12-27", "12-28"]
    assert not rule.matches(datetime(2026, 12, 25, 9, tzinfo=BERLIN))
    assert rule.matches(datetime(2026, 12, 27, 9, 0, 30, tzinfo=BERLIN))
    assert rule.count(eve, datetime(2027, 1, 2, tzinfo=BERLIN)) == 9 - 3


@pytest.mark.req("OWN-21")
def test_only_and_the_rule_must_both_agree() -> None:
    first_monday = OnDays(Cron("0 7 1-7 * *", timezone="Europe/Berlin"), only=MONDAYS)
    start = datetime(2026, 11, 15, tzinfo=BERLIN)
    assert days_of(first_monday, start, 3) == ["12-07", "01-04", "02-01"]


def test_days_are_those_of_the_zone() -> None:
    """25 December begins in Berlin at 23:00 UTC of the day before."""
    rule = OnDays(Every("1h", timezone="Europe/Berlin"), exclude=CHRISTMAS)
    last = rule.previous(datetime(2026, 12, 25, 12, tzinfo=UTC))
    assert last is not None
    assert last.astimezone(UTC) == datetime(2026, 12, 24, 22, tzinfo=UTC)


@pytest.mark.parametrize(
    ("rule", "exclude", "only"),
    [
        (Cron("0 9 * * MON"), (MONDAYS,), ()),
        (Cron("0 9 * * SUN"), (), (MONDAYS,)),
        (DAILY, (CHRISTMAS,), (CHRISTMAS,)),
        (DAILY, (), (CHRISTMAS, Calendar("own", [date(2026, 1, 1)]))),
        (Cron("30 2 * * *", timezone="Europe/Berlin"), (), (Calendar("gap", [date(2026, 3, 29)]),)),
    ],
)
def test_a_rule_that_can_never_match_is_refused(
    rule: Cron, exclude: tuple[Calendar, ...], only: tuple[Calendar, ...]
) -> None:
    with pytest.raises(InvalidScheduleError, match="leave no occurrence"):
        OnDays(rule, exclude=exclude, only=only)


@pytest.mark.parametrize(
    ("dates", "cron"),
    [
        ((), None),
        ((date(2026, 1, 1),), "* * * * MON"),
        ((), "0 9 * * MON"),
        ((), "@every 5m"),
        ((), "CRON_TZ=UTC * * * * MON"),
        ([datetime(2026, 1, 1, tzinfo=UTC)], None),
        ([date.fromordinal(n) for n in range(1, MOST_DATES + 2)], None),
    ],
)
def test_what_is_no_calendar_is_refused(dates: list[date], cron: str | None) -> None:
    with pytest.raises(InvalidScheduleError):
        Calendar("own", dates, cron=cron)


@pytest.mark.parametrize("name", ["", "x" * 101, "a\nb"])
def test_a_calendar_needs_a_name(name: str) -> None:
    with pytest.raises(InvalidScheduleError):
        Calendar(name, [date(2026, 1, 1)])


# -- laws ------------------------------------------------------------------------------------------

# Clocks that are moved at midnight, across it, by half an hour, and by a whole day.
ZONES = (
    "UTC", "Europe/Berlin", "America/Sao_Paulo", "America/St_Johns", "Australia/Lord_Howe", "Pacific/Apia",
    "Africa/Cairo", "Asia/Beirut", "America/Havana",
)  # fmt: skip
# Times with such changes: Apia had no 30 December 2011; St John's moved its clocks at 00:01 until then.
YEARS = (1995, 2005, 2010, 2011, 2018, 2026)
EXPRESSIONS = ("0 0 * * *", "*/30 * * * *", "1 0,23 * * *", "59 23 * * *", "0 */6 1-15 * *", "@every 7h")
CRONS = ("* * * * MON", "* * 1-7 * *", "* * * 3,10 *", "* * 29 2 *")
days = st.builds(lambda year, n: date(year, 1, 1) + n * DAY, st.sampled_from(YEARS), st.integers(0, 365))
calendars = st.one_of(
    st.builds(lambda dates: Calendar("own", dates), st.lists(days, min_size=1, max_size=40)),
    st.builds(lambda cron: Calendar("rule", cron=cron), st.sampled_from(CRONS)),
)
rules = st.builds(
    lambda text, zone: Cron(text, timezone=zone), st.sampled_from(EXPRESSIONS), st.sampled_from(ZONES)
)
starts = st.builds(
    lambda day, minute: datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(minutes=minute),
    days,
    st.integers(0, 1440),
)


def is_left(at: datetime, exclude: list[Calendar], only: list[Calendar]) -> bool:
    day = at.date()
    return all(day in one for one in only) and not any(day in one for one in exclude)


def filtered(
    rule: Cron, exclude: list[Calendar], only: list[Calendar], first: datetime, last: datetime
) -> list[datetime]:
    """By the plain rule, one occurrence after the other, in UTC."""
    found, at = [], rule.next_after(first - TICK)
    while at is not None and at.astimezone(UTC) <= last:
        if is_left(at, exclude, only):
            found.append(at.astimezone(UTC))
        at = rule.next_after(at)
    return found


@pytest.mark.req("OWN-21")
@settings(max_examples=150, deadline=None)
@given(rules, st.lists(calendars, max_size=2), st.lists(calendars, max_size=1), starts, st.integers(1, 40))
@example(
    Cron("*/30 * * * *", timezone="America/St_Johns"),
    [Calendar("x", [date(2010, 11, 7)])],
    [],
    datetime(2010, 11, 6, tzinfo=UTC),
    4,
)
@example(
    Cron("*/30 * * * *", timezone="America/St_Johns"),
    [Calendar("x", [date(2010, 11, 6)])],
    [],
    datetime(2010, 11, 5, tzinfo=UTC),
    4,
)
@example(
    Cron("*/30 * * * *", timezone="Pacific/Apia"),
    [Calendar("x", [date(2011, 12, 29)])],
    [],
    datetime(2011, 12, 28, tzinfo=UTC),
    6,
)
@example(
    Cron("1 0,23 * * *", timezone="America/Sao_Paulo"),
    [],
    [Calendar("x", [date(2018, 11, 4)])],
    datetime(2018, 11, 1, tzinfo=UTC),
    6,
)
def test_it_equals_filtering_the_plain_rule(
    rule: Cron, exclude: list[Calendar], only: list[Calendar], first: datetime, length: int
) -> None:
    try:
        chosen = OnDays(rule, exclude=exclude, only=only)
    except InvalidScheduleError:
        assert not filtered(rule, exclude, only, first, first + length * DAY)
        return
    last = first + length * DAY
    expected = filtered(rule, exclude, only, first, last)

    forward, at = [], chosen.next_after(first - TICK)
    while at is not None and at.astimezone(UTC) <= last:
        forward.append(at.astimezone(UTC))
        at = chosen.next_after(at)
    backward, at = [], chosen.previous(last)
    while at is not None and at.astimezone(UTC) >= first:
        backward.append(at.astimezone(UTC))
        at = chosen.previous(at.astimezone(UTC) - TICK)

    assert forward == expected
    assert backward[::-1] == expected
    assert chosen.count(first, last) == len(expected)
    assert all(chosen.matches(at) for at in expected)
    plain = filtered(rule, [], [], first, last)
    assert all(chosen.matches(at) == (at in set(expected)) for at in plain)
    assert all(bool(chosen.keeps_out(at)) == (at not in set(expected)) for at in plain)


def test_the_ends_of_the_calendar() -> None:
    """Neither end of the calendar is an error."""
    rule = OnDays(Cron("0 9 * * *", timezone="Asia/Tokyo"), exclude=MONDAYS)
    assert rule.next_after(datetime.max.replace(tzinfo=UTC) - timedelta(hours=1)) is None
    assert rule.previous(datetime.min.replace(tzinfo=UTC)) is None
    ended = OnDays(DAILY, only=CHRISTMAS)
    assert ended.next_after(datetime(2027, 1, 2, tzinfo=UTC)) is None
    assert ended.previous(datetime(2026, 12, 1, tzinfo=UTC)) is None


# -- as a value ------------------------------------------------------------------------------------


def test_equal_values_are_equal_and_can_be_copied() -> None:
    one, other = (OnDays(DAILY, exclude=[CHRISTMAS], only=MONDAYS) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert copy(one) == one
    assert one != OnDays(DAILY, exclude=[CHRISTMAS])
    assert (str(one), one.timezone) == ("0 9 * * * except de only mondays", "Europe/Berlin")


@pytest.mark.req("OWN-21")
def test_it_is_stored_and_read_again() -> None:
    for rule in (DAILY, Every("90m")):
        chosen = OnDays(rule, exclude=[CHRISTMAS, Calendar("ü", cron="* * 1 * *")], only=MONDAYS)
        job = Job(source="s", name="a", schedule=chosen, action=Action(kind="x"))
        assert decode_job(encode_job(job)) == job


def test_it_is_explained() -> None:
    chosen = OnDays(DAILY, exclude=[CHRISTMAS], only=[MONDAYS])
    words = "at 09:00 every day, Berlin time, except on days of de, only on days of mondays"
    assert explain(chosen) == words
    several = OnDays(DAILY, exclude=[CHRISTMAS, MONDAYS])
    assert explain(several) == "at 09:00 every day, Berlin time, except on days of de and mondays"
    assert str(several) == "0 9 * * * except de, mondays"


def test_lint_tells_when_the_days_of_a_calendar_end() -> None:
    def findings(at: datetime) -> list[tuple[str, str]]:
        chosen = OnDays(DAILY, exclude=[CHRISTMAS, MONDAYS])
        return [(one.code, one.severity) for one in lint(chosen, at) if "calendar" in one.code]

    assert findings(datetime(2026, 1, 1, tzinfo=UTC)) == []
    assert findings(datetime(2026, 11, 1, tzinfo=UTC)) == [("calendar-ends", "note")]
    assert findings(datetime(2027, 1, 3, tzinfo=UTC)) == [("calendar-ends", "warning")]


def test_lint_tells_of_the_rule_inside() -> None:
    chosen = OnDays(Cron("30 2 * * *", timezone="Europe/Berlin"), exclude=MONDAYS)
    assert {one.code for one in lint(chosen, datetime(2026, 1, 1, tzinfo=UTC))} >= {"dst-gap", "dst-overlap"}
    over = OnDays(DAILY, only=CHRISTMAS)
    assert "never-again" in {one.code for one in lint(over, datetime(2028, 1, 1, tzinfo=UTC))}
