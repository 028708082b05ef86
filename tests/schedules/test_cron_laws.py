"""Laws that hold for every rule and every instant."""

from __future__ import annotations

import copy
import pickle  # noqa: TID251 - users' process pools pickle what they hand over
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from foliot.schedules import Cron, Every
from foliot.schedules.cron_format import format_cron
from foliot.schedules.cron_syntax import CronFields, parse_cron
from foliot.schedules.dial import has_a_date
from oracle import AWKWARD_ZONES

TICK = timedelta(microseconds=1)
zones = st.sampled_from(("UTC", *AWKWARD_ZONES))
instants = st.datetimes(
    min_value=datetime(1970, 1, 1), max_value=datetime(2100, 1, 1), timezones=st.just(UTC)
)


def field_masks(low: int, high: int) -> st.SearchStrategy[int]:
    few = st.sets(st.integers(low, high), min_size=1, max_size=3)
    many = st.sets(st.integers(low, high), min_size=1)
    every = st.just(set(range(low, high + 1)))
    return st.one_of(few, many, every).map(lambda numbers: sum(1 << n for n in numbers))


@st.composite
def cron_fields(draw: st.DrawFn, *, seconds: bool | None = None) -> CronFields:
    full_days, full_weekdays = (1 << 32) - 2, (1 << 7) - 1
    has_seconds = draw(st.booleans()) if seconds is None else seconds
    days, weekdays = draw(field_masks(1, 31)), draw(field_masks(0, 6))
    either = draw(st.booleans())
    if not either and days != full_days and weekdays != full_weekdays:
        days, weekdays = draw(st.sampled_from([(days, full_weekdays), (full_days, weekdays)]))
    fields = CronFields(
        seconds=draw(field_masks(0, 59)) if has_seconds else 1,
        minutes=draw(field_masks(0, 59)),
        hours=draw(field_masks(0, 23)),
        days=days,
        months=draw(field_masks(1, 12)),
        weekdays=weekdays,
        either_day=either,
        has_seconds=has_seconds,
    )
    assume(has_a_date(fields))
    return fields


@st.composite
def rules(draw: st.DrawFn) -> Cron:
    return Cron(format_cron(draw(cron_fields())), timezone=draw(zones), dialect="seconds")


def is_allowed(rule: Cron, wall: datetime) -> bool:
    """Whether the fields allow what the wall shows, looked at directly."""
    fields = rule.fields
    assert fields is not None
    on_day, on_weekday = fields.days >> wall.day & 1, fields.weekdays >> wall.isoweekday() % 7 & 1
    return bool(
        fields.seconds >> wall.second
        & fields.minutes >> wall.minute
        & fields.hours >> wall.hour
        & fields.months >> wall.month
        & (on_day | on_weekday if fields.either_day else on_day & on_weekday)
    )


@pytest.mark.req("DECL-10")
@given(rules(), instants)
def test_next_is_after_and_in_the_set_with_nothing_between(rule: Cron, instant: datetime) -> None:
    following = rule.next_after(instant)

    assert following is not None
    assert following.astimezone(UTC) > instant
    assert is_allowed(rule, following)
    # Nothing lies between: looking back from just before it finds nothing after the instant.
    before = rule.previous(following.astimezone(UTC) - TICK)
    assert before is None or before.astimezone(UTC) <= instant


@pytest.mark.req("DECL-10")
@given(rules(), instants)
def test_previous_is_at_or_before_and_in_the_set_with_nothing_between(rule: Cron, instant: datetime) -> None:
    latest = rule.previous(instant)

    assert latest is not None
    assert latest.astimezone(UTC) <= instant
    assert is_allowed(rule, latest)
    following = rule.next_after(latest)
    assert following is not None
    assert following.astimezone(UTC) > instant


@given(rules(), instants)
def test_next_and_previous_are_inverse(rule: Cron, instant: datetime) -> None:
    following = rule.next_after(instant)
    assert following is not None

    again, forth = rule.previous(following), rule.next_after(following.astimezone(UTC) - TICK)
    assert again is not None
    assert forth is not None
    assert again.astimezone(UTC) == forth.astimezone(UTC) == following.astimezone(UTC)


@given(rules(), instants)
def test_results_carry_the_zone_and_the_right_fold(rule: Cron, instant: datetime) -> None:
    for found in (rule.next_after(instant), rule.previous(instant)):
        assert found is not None
        assert found.tzinfo is ZoneInfo(rule.timezone)
        again = found.astimezone(UTC).astimezone(ZoneInfo(rule.timezone))
        assert (again.replace(tzinfo=None), again.fold) == (found.replace(tzinfo=None), found.fold)


@given(rules(), instants)
def test_matches_agrees_with_the_search(rule: Cron, instant: datetime) -> None:
    tick = timedelta(seconds=1) if rule.fields and rule.fields.has_seconds else timedelta(minutes=1)
    latest = rule.previous(instant)
    assert latest is not None

    assert rule.matches(instant) == (instant - latest.astimezone(UTC) < tick)


@given(cron_fields())
def test_format_then_parse_gives_the_same_fields(fields: CronFields) -> None:
    text = format_cron(fields)

    assert parse_cron(text, "seconds").fields == fields


@given(cron_fields(seconds=False))
def test_posix_can_spell_every_rule_without_seconds(fields: CronFields) -> None:
    text = format_cron(fields, has_steps=False)

    assert parse_cron(text, "posix").fields == fields
    assert Cron(text, dialect="posix").canonical == text


@given(rules())
def test_canonical_is_stable(rule: Cron) -> None:
    again = Cron(rule.canonical, timezone=rule.timezone, dialect=rule.dialect)

    assert again.canonical == rule.canonical
    assert again.fields == rule.fields


@given(rules())
def test_rules_are_values(rule: Cron) -> None:
    twin = Cron(rule.expression, timezone=rule.timezone, dialect=rule.dialect)

    assert rule == twin
    assert hash(rule) == hash(twin)
    assert hash(rule) != hash(Cron(rule.expression, timezone="Asia/Ust-Nera", dialect=rule.dialect))
    assert copy.deepcopy(rule) == rule
    assert pickle.loads(pickle.dumps(rule)) == rule  # noqa: S301 - our own value
    assert eval(repr(rule), {"Cron": Cron}) == rule  # noqa: S307 - our own repr


@given(st.integers(1, 10**7), instants)
@example(1, datetime(1970, 1, 1, tzinfo=UTC))
def test_every_is_a_grid_since_the_epoch(seconds: int, instant: datetime) -> None:
    rule = Every(timedelta(seconds=seconds))

    following, latest = rule.next_after(instant), rule.previous(instant)

    assert following is not None
    assert latest is not None
    assert latest <= instant < following
    assert following - latest == timedelta(seconds=seconds)
    assert following.timestamp() % seconds == 0


@given(rules(), instants, st.integers(0, 20))
def test_upcoming_is_next_after_next(rule: Cron, instant: datetime, count: int) -> None:
    expected = []
    at: datetime | None = instant
    for _ in range(count):
        assert at is not None
        at = rule.next_after(at)
        assert at is not None
        expected.append(at.astimezone(UTC))

    assert [at.astimezone(UTC) for at in rule.upcoming(instant, count)] == expected


@given(rules(), instants, st.integers(0, 200))
def test_count_is_how_many_occurrences_a_walk_finds(rule: Cron, instant: datetime, steps: int) -> None:
    walked = rule.upcoming(instant, steps + 1)
    assume(len(walked) > steps)

    assert rule.count(instant + TICK, walked[-1]) == len(walked)
    assert rule.count(walked[0], walked[-1]) == len(walked), "both ends are included"
    assert rule.count(instant + TICK, walked[-1].astimezone(UTC) - TICK) == steps
    assert rule.count(walked[-1], instant) == 0


@given(
    rules(), instants, st.lists(st.timedeltas(timedelta(0), timedelta(days=40_000)), min_size=3, max_size=3)
)
def test_count_adds_up_over_split_ranges(rule: Cron, instant: datetime, spans: list[timedelta]) -> None:
    first, middle, last = (instant + span for span in sorted(spans))

    assert rule.count(first, last) == rule.count(first, middle) + rule.count(middle + TICK, last)


@given(rules(), st.integers(1, 9000))
def test_the_calendar_repeats_after_400_years(rule: Cron, year: int) -> None:
    rule = Cron(rule.expression, timezone="UTC", dialect="seconds")
    first, last = datetime(year, 1, 1, tzinfo=UTC), datetime(year + 37, 3, 1, tzinfo=UTC)

    assert rule.count(first, last) == rule.count(
        first.replace(year=year + 400), last.replace(year=year + 437)
    )
