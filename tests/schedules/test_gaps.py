"""Rules whose matches the clocks leave out: all of them, or all but a few."""

from __future__ import annotations

import copy
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foliot.errors import CronCalculationError, NeverMatchesError
from foliot.model.codec import decode_job, encode_job
from foliot.model.job import Action, Job
from foliot.schedules import Cron
from foliot.schedules.around import Dst
from foliot.schedules.cron_syntax import Dialect
from foliot.schedules.lint import lint
from foliot.schedules.schedule import since_epoch
from foliot.schedules.zone import changes
from oracle import Fields, read, recorded_changes, walk

NOW = datetime(2026, 11, 15, tzinfo=UTC)
LAST = datetime(9999, 12, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)
HOUR = timedelta(hours=1)
ZONES = (
    "Europe/Berlin", "Europe/Dublin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca",
    "Pacific/Apia", "Asia/Tehran", "Africa/Cairo",
)  # fmt: skip
# Each with its last occurrence of all.
NEVER: tuple[tuple[str, Dialect, str, Dst, str], ...] = (
    ("30 2 25-31 3 SUN", "celery", "Europe/Berlin", "exact", "1980-03-30T02:30+01:00"),
    ("30 2 25-31 3 SUN", "celery", "Europe/Berlin", "systemd", "1980-03-30T02:30+01:00"),
    ("*/7 2 25-31 3 SUN", "celery", "Europe/Berlin", "exact", "1980-03-30T02:56+01:00"),
    ("30 2 25 3 SUN", "celery", "Europe/Berlin", "exact", "1979-03-25T02:30+01:00"),
    ("0 30 2 ? 3 0L", "seconds", "Europe/Berlin", "exact", "1980-03-30T02:30+01:00"),
    ("30 1 25-31 3 SUN", "celery", "Europe/Dublin", "exact", "1980-03-30T01:30+01:00"),
    ("30 2 8-14 3 SUN", "celery", "America/New_York", "exact", "2006-03-12T02:30-05:00"),
    ("0 0 2 ? 3 0#2", "seconds", "America/New_York", "exact", "2006-03-12T02:00-05:00"),
    ("15 2 1-7 10 SUN", "celery", "Australia/Lord_Howe", "exact", "2007-10-07T02:15+10:30"),
    ("30 0 24 4 FRI", "celery", "Africa/Cairo", "exact", "2020-04-24T00:30+02:00"),
)
COMING: tuple[tuple[str, Dialect, str, Dst, str], ...] = (
    ("30 2 25-31 3 SUN", "celery", "Europe/Berlin", "once", "2027-03-28T03:00+02:00"),
    ("30 2 25-31 3 SUN", "celery", "Europe/Berlin", "cron", "2027-03-28T03:00+02:00"),
    ("30 2 24-31 3 SUN", "celery", "Europe/Berlin", "exact", "2030-03-24T02:30+01:00"),
    ("30 3 25 3 SUN", "celery", "Europe/Berlin", "exact", "2029-03-25T03:30+02:00"),
    ("30 2 25-31 3 SUN", "celery", "Europe/Dublin", "exact", "2027-03-28T02:30+01:00"),
    ("30 2 25-31 3 SUN", "celery", "UTC", "exact", "2027-03-28T02:30+00:00"),
    ("45 2 1-7 10 SUN", "celery", "Australia/Lord_Howe", "exact", "2027-10-03T02:45+11:00"),
    ("0 0 29 2 MON", "celery", "Europe/Dublin", "exact", "2044-02-29T00:00+00:00"),
    ("30 2 29 2 SUN", "celery", "Africa/Casablanca", "exact", "2032-02-29T02:30+01:00"),
    ("30 0 22 3 MON", "celery", "Asia/Tehran", "exact", "2027-03-22T00:30+03:30"),
    ("0 12 30 12 FRI", "celery", "Pacific/Apia", "exact", "2033-12-30T12:00+13:00"),
)


@pytest.fixture
def years_looked_at() -> _Years:
    changes.cache_clear()
    return _Years()


class _Years:
    def __int__(self) -> int:
        """For how many years of a zone the changes of the clocks were asked for."""
        return changes.cache_info().misses


@pytest.mark.req("DECL-10")
@pytest.mark.parametrize(("text", "dialect", "zone", "dst", "last"), NEVER)
def test_a_rule_that_is_always_left_out_is_refused_when_built(
    text: str, dialect: Dialect, zone: str, dst: Dst, last: str
) -> None:
    with pytest.raises(CronCalculationError, match="skip each of its times when they go forward") as caught:
        Cron(text, timezone=zone, dialect=dialect, dst=dst)

    assert isinstance(caught.value.__cause__, NeverMatchesError)
    assert caught.value.__cause__.details["timezone"] == zone
    assert 'dst="once"' in (caught.value.hint or "")
    assert last


@pytest.mark.parametrize(("text", "dialect", "zone", "dst", "last"), NEVER)
def test_one_that_was_stored_is_read_and_never_comes_again(
    text: str, dialect: Dialect, zone: str, dst: Dst, last: str
) -> None:
    rule, final = Cron.stored(text, zone, dialect, dst), datetime.fromisoformat(last)

    assert rule.next_after(NOW) is None
    assert rule.upcoming(NOW, 200) == []
    assert [rule.previous(NOW), rule.previous(LAST)] == [final, final]
    assert rule.next_after(final) is None
    assert rule.next_after(final - TICK) == final
    assert rule.count(final, LAST) == 1
    assert lint(rule, NOW)[0].code == "never-again"
    assert copy.deepcopy(rule) == rule
    job = Job(source="s", name="a", schedule=rule, action=Action(kind="x"))
    assert decode_job(encode_job(job)).schedule == rule


@pytest.mark.parametrize(("text", "dialect", "zone", "dst", "coming"), COMING)
def test_one_that_is_left_out_sometimes_comes(
    text: str, dialect: Dialect, zone: str, dst: Dst, coming: str
) -> None:
    rule = Cron(text, timezone=zone, dialect=dialect, dst=dst)
    found = rule.upcoming(NOW, 200)

    assert found[0] == datetime.fromisoformat(coming)
    assert len(found) == 200
    assert all(since_epoch(one) < since_epoch(other) for one, other in pairwise(found))
    assert rule.count(NOW, found[-1]) == 200
    assert rule.previous(found[-1].astimezone(UTC) - TICK) == found[-2]


@pytest.mark.parametrize(("text", "dialect", "zone", "dst", "_"), [*NEVER, *COMING])
def test_few_years_are_looked_at(
    text: str, dialect: Dialect, zone: str, dst: Dst, _: str, years_looked_at: _Years
) -> None:
    """Those from the records to the row of years that all others are like, and no millennia."""
    rule = Cron.stored(text, zone, dialect, dst)
    rule.next_after(NOW)
    rule.next_after(datetime(2900, 1, 1, tzinfo=UTC))
    rule.previous(LAST)
    assert int(years_looked_at) < 400
    rule.count(NOW, LAST)
    assert int(years_looked_at) < 1500


# -- beside the oracle -----------------------------------------------------------------------------


def fields_of(text: str) -> Fields:
    return replace(read(text), either=False)


def showings(wall: datetime, zone: ZoneInfo) -> set[datetime]:
    """The instants at which a clock shows a wall time: none, one or two."""
    middle = wall.replace(tzinfo=UTC)
    offsets = {(middle + HOUR * n).astimezone(zone).utcoffset() or 0 * HOUR for n in range(-36, 37)}
    found = {middle - offset for offset in offsets}
    return {at for at in found if at.astimezone(zone).replace(tzinfo=None) == wall}


def by_days(text: str, zone: ZoneInfo, first: datetime, last: datetime) -> list[datetime]:
    """The occurrences in (first, last) of a rule with few times a day, by a look at each day."""
    fields, found = fields_of(text), set[datetime]()
    for n in range((last - first).days + 5):
        day = datetime.combine(first.date() + timedelta(n - 2), datetime.min.time())
        if day.day in fields.days and day.month in fields.months and day.isoweekday() % 7 in fields.weekdays:
            for hour in fields.hours:
                for minute in fields.minutes:
                    found |= showings(day.replace(hour=hour, minute=minute), zone)
    return sorted(at for at in found if first < at < last)


def forward(rule: Cron, first: datetime, last: datetime) -> list[datetime]:
    found, at = [], rule.next_after(first)
    while at is not None and at.astimezone(UTC) < last:
        found.append(at.astimezone(UTC))
        at = rule.next_after(at)
    return found


def backward(rule: Cron, first: datetime, last: datetime) -> list[datetime]:
    found, at = [], rule.previous(last - TICK)
    while at is not None and at.astimezone(UTC) > first:
        found.append(at.astimezone(UTC))
        at = rule.previous(at.astimezone(UTC) - TICK)
    return found[::-1]


@st.composite
def near_gaps(draw: st.DrawFn) -> tuple[str, str, datetime]:
    """A rule for the date, or the weekday of the month, of a change of some zone; and that change."""
    name = draw(st.sampled_from(ZONES))
    recorded = [at for at in recorded_changes(name) if at.year >= 1970]
    year = draw(st.sampled_from((2040, 2095, 2101, 2132, 2200, 2399, 2400, 5000, 9000)))
    ruled = [one.at for one in changes(ZoneInfo(name), year)]
    at = draw(st.sampled_from(recorded + ruled * 20))
    wall = (at - HOUR / 60).astimezone(ZoneInfo(name)) + draw(st.integers(-1, 2)) * HOUR
    low = draw(st.integers(max(1, wall.day - 7), wall.day))
    high = draw(st.integers(wall.day, min(31, wall.day + 7)))
    minute = draw(st.sampled_from(("0", "15", "30", "59", "*/20")))
    weekday = draw(st.sampled_from((str(wall.isoweekday() % 7), "*")))
    return f"{minute} {wall.hour} {low}-{high} {wall.month} {weekday}", name, at


@given(near_gaps())
@settings(max_examples=60, deadline=None)
def test_a_rule_near_a_gap_is_what_a_walk_through_all_minutes_finds(case: tuple[str, str, datetime]) -> None:
    text, name, at = case
    rule, zone = Cron.stored(text, name, "celery"), ZoneInfo(name)
    first, last = at - 30 * HOUR, at + 30 * HOUR
    matches = fields_of(text).match
    walked = [when for when, wall in walk(first, last, zone) if when > first and matches(wall)]

    assert by_days(text, zone, first, last) == walked  # the quick oracle of the next test is right, too
    assert forward(rule, first, last) == walked
    assert backward(rule, first, last) == walked
    assert rule.count(first + TICK, last - TICK) == len(walked)


@given(near_gaps(), st.integers(0, 40))
@settings(max_examples=40, deadline=None)
def test_a_rule_near_gaps_is_what_a_look_at_each_day_of_years_finds(
    case: tuple[str, str, datetime], years: int
) -> None:
    text, name, at = case
    rule = Cron.stored(text, name, "celery")
    first, last = at - 10 * HOUR, at + timedelta(days=365 * years + 2)
    expected = by_days(text, ZoneInfo(name), first, last)

    assert forward(rule, first, last) == expected
    assert backward(rule, first, last) == expected
    assert rule.count(first + TICK, last - TICK) == len(expected)


@given(near_gaps())
@settings(max_examples=40, deadline=None)
def test_it_is_refused_if_400_years_have_no_match(case: tuple[str, str, datetime]) -> None:
    text, name, _ = case
    rule, zone = Cron.stored(text, name, "celery"), ZoneInfo(name)
    begin = datetime(2101, 1, 1, tzinfo=UTC)
    comes = any(by_days(text, zone, year, year + timedelta(days=370)) for year in _new_years(begin, 400))

    assert (rule.next_after(begin) is not None) == comes
    assert (rule.next_after(datetime(7000, 5, 5, tzinfo=UTC)) is not None) == comes
    try:
        assert Cron(text, timezone=name, dialect="celery") == rule
    except CronCalculationError:
        assert not comes
        assert rule.next_after(datetime(2026, 1, 1, tzinfo=UTC)) is None


def _new_years(begin: datetime, years: int) -> list[datetime]:
    return [begin.replace(year=begin.year + n) for n in range(years)]


@pytest.mark.parametrize("zone", ["UTC", *ZONES])
@pytest.mark.parametrize("dst", ["exact", "once"])
def test_a_count_over_millennia_is_the_sum_of_its_centuries(zone: str, dst: Dst) -> None:
    for text in ("30 2 * * SUN", "0 0 29 2 *", "*/10 1-3 25-31 3,10 *"):
        rule = Cron(text, timezone=zone, dst=dst)
        edges = [
            datetime(year, 3, 28, 1, 30, tzinfo=UTC) for year in (1, 1799, *range(1900, 9999, 150), 9999)
        ]
        parts = [rule.count(first, last - TICK) for first, last in pairwise(edges)]

        assert rule.count(edges[0], edges[-1] - TICK) == sum(parts)
        assert rule.count(edges[7], edges[-1] - TICK) == sum(parts[7:])
