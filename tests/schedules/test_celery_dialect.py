"""Dialect `celery` beside Celery's own `crontab` objects, which are the oracle."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from celery import Celery
from celery.schedules import ParseException, crontab
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from foliot.errors import FoliotError, InvalidCronExpressionError
from foliot.schedules import Cron
from foliot.schedules.field import FIELDS, Field, values

APP = Celery("oracle", set_as_current=False)
OCCURRENCES = 1000
HORIZON = timedelta(days=366 * 60)
FIVE = FIELDS[1:]


def field_texts(field: Field) -> st.SearchStrategy[str]:
    numbers = st.integers(field.low, field.high).map(str)
    words = st.sampled_from(field.words or ("0", "1"))
    value = st.one_of(numbers, words) if field.words else numbers
    ranges = st.builds("{}-{}".format, value, value)
    steps = st.builds("{}/{}".format, st.one_of(st.just("*"), ranges), st.integers(1, field.high + 5))
    items = st.one_of(value, ranges, steps)
    return st.one_of(st.just("*"), value, st.lists(items, min_size=1, max_size=3).map(",".join))


expressions = st.tuples(*map(field_texts, FIVE)).map(" ".join)
starts = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1), timezones=st.just(UTC))


def by_celery(text: str, start: datetime, count: int) -> list[datetime]:
    """The next occurrences as Celery counts them: each from the one before, as if that had just run."""
    rule: Any = crontab.from_string(text)
    rule.app = APP
    found, at = list[datetime](), start
    while len(found) < count:
        last, delta, _ = rule.remaining_delta(at)
        at = last + delta
        if at - start > HORIZON:
            break
        found.append(at)
    return found


@given(expressions, starts)
@example("0 0 29 2 mon", datetime(2026, 1, 1, tzinfo=UTC))
@example("0 9 1-7 * mon", datetime(2026, 1, 1, tzinfo=UTC))
@settings(max_examples=60)
def test_the_next_thousand_occurrences_are_those_of_celery(text: str, start: datetime) -> None:
    try:
        rule = Cron(text, dialect="celery")
    except FoliotError:
        with pytest.raises(ValueError, match="Invalid crontab pattern"):
            crontab.from_string(text)  # 30 February
        assume(False)  # noqa: FBT003 - both refuse it

    expected = by_celery(text, start, OCCURRENCES)

    assert rule.upcoming(start, len(expected)) == expected


@given(st.text(alphabet="0123456789*,-/ janmofri", min_size=1, max_size=12))
@example("22-2")
@example("fri-mon/2")
@example("1-5-7")
@example("monday")
def test_what_is_read_means_the_same_to_celery(word: str) -> None:
    assume(" " not in word)
    for position, field in enumerate(FIVE):
        words = ["*"] * 5
        words[position] = word
        try:
            fields = Cron(" ".join(words), dialect="celery").fields
        except InvalidCronExpressionError:
            continue
        assert fields is not None
        masks = fields.minutes, fields.hours, fields.days, fields.months, fields.weekdays
        rule = crontab.from_string(" ".join(words))
        sets = (rule.minute, rule.hour, rule.day_of_month, rule.month_of_year, rule.day_of_week)
        assert set(values(masks[position])) == sets[position], field


@pytest.mark.parametrize("text", ["5/15 * * * *", "0 0 * * 7", "0 0 ? * *", "-1 * * * *", "*/0 * * * *"])
def test_what_celery_refuses_is_refused(text: str) -> None:
    with pytest.raises((ValueError, ParseException)):
        crontab.from_string(text)
    with pytest.raises(InvalidCronExpressionError):
        Cron(text, dialect="celery")


@given(expressions, starts)
@settings(max_examples=50)
def test_a_day_matches_both_day_fields(text: str, start: datetime) -> None:
    try:
        rule = Cron(text, dialect="celery")
    except FoliotError:
        assume(False)  # noqa: FBT003 - 30 February
    assert rule.fields is not None
    found = rule.upcoming(start, 20)
    for at in found:
        assert rule.fields.days >> at.day & 1
        assert rule.fields.weekdays >> at.isoweekday() % 7 & 1
    assert all(earlier < later for earlier, later in pairwise(found))


@given(expressions)
def test_the_canonical_text_means_the_same(text: str) -> None:
    try:
        rule = Cron(text, dialect="celery")
    except FoliotError:
        assume(False)  # noqa: FBT003 - 30 February
    again = Cron(rule.canonical, dialect="celery")

    assert again.fields == rule.fields
    assert again.canonical == rule.canonical
