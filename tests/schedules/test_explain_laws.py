from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from foliot.errors import CronCalculationError
from foliot.schedules import Cron
from foliot.schedules.cron_format import format_cron
from foliot.schedules.cron_syntax import Dialect
from foliot.schedules.explain import explain
from foliot.schedules.field import FIELDS, Field, values

MONTH_LENGTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def field_texts(field: Field) -> st.SearchStrategy[str]:
    numbers = st.integers(field.low, field.high)
    ranges = st.tuples(numbers, numbers).map(sorted).map(lambda ends: f"{ends[0]}-{ends[1]}")
    steps = st.builds("{}/{}".format, st.one_of(st.just("*"), ranges), st.integers(1, field.high))
    items = st.one_of(numbers.map(str), ranges, steps)
    return st.one_of(st.just("*"), numbers.map(str), st.lists(items, min_size=1, max_size=4).map(",".join))


TEXTS = tuple(field_texts(field) for field in FIELDS)


def build(texts: Sequence[str], dialect: Dialect = "seconds") -> Cron:
    try:
        return Cron(" ".join(texts[-5:] if dialect == "celery" else texts), dialect=dialect)
    except CronCalculationError:  # 30 February
        reject()


@st.composite
def neighbours(draw: st.DrawFn, dialect: Dialect = "seconds") -> tuple[Cron, Cron]:
    """Two rules that differ in a field or two, or only in how they are written."""
    texts = draw(st.tuples(*TEXTS))
    changed = draw(st.sets(st.sampled_from(range(len(TEXTS))), max_size=2))
    others = [draw(TEXTS[i]) if i in changed else text for i, text in enumerate(texts)]
    return build(texts, dialect), build(others, dialect)


def meaning(rule: Cron) -> object:
    """All that a rule lets happen: the times of day, and the days by month, date and weekday."""
    fields = rule.fields
    assert fields
    join = any if fields.either_day else all
    days = {
        (month, day, weekday)
        for month in values(fields.months)
        for day in range(1, MONTH_LENGTHS[month - 1] + 1)
        for weekday in range(7)
        if join((fields.days >> day & 1, fields.weekdays >> weekday & 1))
    }
    return fields.seconds, fields.minutes, fields.hours, days


@given(neighbours())
@settings(max_examples=300)
def test_rules_have_equal_words_exactly_if_they_mean_the_same(pair: tuple[Cron, Cron]) -> None:
    one, other = pair
    assert (explain(one) == explain(other)) == (meaning(one) == meaning(other))


@given(neighbours("celery"))
@settings(max_examples=300)
def test_rules_of_celery_have_equal_words_exactly_if_they_mean_the_same(pair: tuple[Cron, Cron]) -> None:
    one, other = pair
    assert (explain(one) == explain(other)) == (meaning(one) == meaning(other))


@given(st.tuples(*TEXTS))
def test_the_words_do_not_depend_on_the_dialect(texts: tuple[str, ...]) -> None:
    rule = build(["0", *texts[1:]])
    fields = rule.fields
    assert fields
    five = format_cron(replace(fields, has_seconds=False))
    listed = format_cron(replace(fields, has_seconds=False), has_steps=False)
    assert explain(Cron(five)) == explain(Cron(listed, dialect="posix")) == explain(rule)


# All masks that are one arithmetic progression: the ranges and steps that people write.
HOUR_STEPS = {
    tuple(range(start, end + 1, step))
    for start, end, step in product(range(24), range(24), range(1, 24))
    if start <= end
}


@pytest.mark.parametrize("minutes", ["0", "30", "*/15", "*/7", "*", "3,17"])
def test_no_two_ranges_or_steps_of_hours_share_their_words(minutes: str) -> None:
    words = {explain(Cron(f"{minutes} {','.join(map(str, hours))} * * *")) for hours in HOUR_STEPS}
    assert len(words) == len(HOUR_STEPS)


def test_no_two_sets_of_weekdays_share_their_words() -> None:
    sets = [",".join(map(str, days)) for n in range(1, 8) for days in combinations(range(7), n)]
    assert len({explain(Cron(f"0 0 * * {days}")) for days in sets}) == 2**7 - 1
    assert len({explain(Cron(f"0 0 13 * {days}")) for days in sets}) == 2**7 - 1


def test_no_two_sets_of_months_share_their_words() -> None:
    sets = [",".join(map(str, months)) for n in range(1, 13) for months in combinations(range(1, 13), n)]
    assert len({explain(Cron(f"0 0 1 {months} *")) for months in sets}) == 2**12 - 1


@given(st.tuples(*TEXTS[:3]))
@settings(max_examples=300)
def test_reading_the_words_back_gives_the_same_times(texts: tuple[str, ...]) -> None:
    rule = build([*texts, "*", "*", "*"])
    fields = rule.fields
    assert fields
    words = explain(rule).removesuffix(", UTC").removesuffix(" every day")
    times = product(values(fields.hours), values(fields.minutes), values(fields.seconds))
    assert read_times(words) == {hour * 3600 + minute * 60 + second for hour, minute, second in times}


# A reader of the sentences, which knows English but not how they are made.
UNITS = {"hour": 3600, "minute": 60, "second": 1}
TIME = r"\d\d:\d\d(?::\d\d)?"
EVERY = r"every (?:(\d+) )?(hour|minute|second)s?"


def read_times(words: str) -> set[int]:
    """The seconds of the day that a phrase names."""
    if found := re.fullmatch(EVERY, words):
        return set(range(0, 86400, step_in(*found.groups())))
    if found := re.fullmatch(rf"at ({TIME}(?:(?:, | and ){TIME})*)", words):
        return {second_of(word) for word in re.findall(TIME, found[1])}
    if found := re.fullmatch(rf"{EVERY} ((?:(?:, | and )?from {TIME} to {TIME})+)(?:, and (at .+))?", words):
        step = step_in(found[1], found[2])
        spans = re.findall(rf"from ({TIME}) to ({TIME})", found[3])
        inside = {t for a, b in spans for t in range(second_of(a), second_of(b) + 1, step)}
        return inside | (read_times(found[4]) if found[4] else set())
    within = r"at .+? past|every .+? past|every .+? from the start of|every [\w ]+? of"
    found = re.fullmatch(rf"({within}) (.+?)(?: of (.+))?", words)
    assert found, words
    small, middle, large = read_within(found[1]), read_which(found[2]), found[3]
    if "hour" in found[2]:
        return {hour * 3600 + minute * 60 for hour, minute in product(middle, small)}
    hours = read_which(large) if large else set(range(24))
    return {hour * 3600 + minute * 60 + second for hour, minute, second in product(hours, middle, small)}


def step_in(count: str | None, unit: str) -> int:
    return int(count or 1) * UNITS[unit]


def second_of(word: str) -> int:
    hour, minute, *second = map(int, word.split(":"))
    return hour * 3600 + minute * 60 + sum(second)


def read_within(words: str) -> set[int]:
    if found := re.fullmatch(r"at (.+) (?:minute|second)s? past", words):
        return read_numbers(found[1])
    found = re.fullmatch(rf"{EVERY} (?:of|from the start of|from (\d+)(?: to (\d+))? \w+ past)", words)
    assert found, words
    return set(range(int(found[3] or 0), int(found[4] or 59) + 1, int(found[1] or 1)))


def read_which(words: str) -> set[int]:
    if found := re.fullmatch(r"every (?:(\d+)\w\w )?(hour|minute)(?: from (\d+) to (\d+))?", words):
        step, unit, first, last = found.groups()
        size = 24 if unit == "hour" else 60
        return set(range(int(first or 0), int(last or size - 1) + 1, int(step or 1)))
    return read_numbers(re.sub(r"^(the )?(hour|minute)s? ", "", words))


def read_numbers(words: str) -> set[int]:
    spans = [item.split(" to ") for item in re.split(r", | and ", words)]
    return {number for span in spans for number in range(int(span[0]), int(span[-1]) + 1)}
