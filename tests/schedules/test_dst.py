"""`dst`: what a rule does where the clocks are moved, against a walk through every minute."""

from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache
from itertools import product
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foliot.errors import InvalidScheduleError
from foliot.schedules import Cron
from foliot.schedules.around import DST, Dst
from foliot.schedules.schedule import since_epoch
from oracle import read

_MINUTE = timedelta(minutes=1)
# Where and when clocks were moved: half an hour, an hour, two, three, a whole day; at midnight, too.
NIGHTS = (
    ("Europe/Berlin", datetime(2026, 3, 29, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 25, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 3, 8, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 11, 1, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 10, 3, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 4, 4, tzinfo=UTC)),
    ("Antarctica/Troll", datetime(2026, 3, 29, tzinfo=UTC)),
    ("Antarctica/Troll", datetime(2026, 10, 25, tzinfo=UTC)),
    ("Pacific/Apia", datetime(2011, 12, 30, tzinfo=UTC)),
    ("UTC", datetime(2026, 3, 29, tzinfo=UTC)),
)
MORE_NIGHTS = (
    ("Antarctica/Casey", datetime(2018, 3, 11, tzinfo=UTC)),
    ("Antarctica/Casey", datetime(2009, 10, 18, tzinfo=UTC)),
    ("Pacific/Kwajalein", datetime(1969, 9, 30, tzinfo=UTC)),
    ("America/Sao_Paulo", datetime(2018, 11, 4, tzinfo=UTC)),
    ("America/Havana", datetime(2026, 11, 1, tzinfo=UTC)),
    ("Asia/Singapore", datetime(1981, 12, 31, tzinfo=UTC)),
)
RULES = (
    "30 2 * * *", "0 2 * * *", "0,30 2 * * *", "0 3 * * *", "*/15 * * * *", "5 0-23 * * *", "20 2,3 * * *",
    "0 * * * *", "*/20 2 * * *", "15 */2 * * *", "0 0 * * *", "10 1 * * 0", "30 2 28-31 * *",
    "0-59 0-23 * * *",
)  # fmt: skip


@lru_cache(maxsize=2)
def _minutes(zone: str, first: datetime, last: datetime) -> list[tuple[datetime, datetime]]:
    """Every minute with the wall time that it shows, from a day before on."""
    start = first - timedelta(days=1)
    count = (last - start) // _MINUTE
    return [
        ((at := start + _MINUTE * n), at.astimezone(ZoneInfo(zone)).replace(tzinfo=None))
        for n in range(count)
    ]


def _walk(rule: Cron, first: datetime, last: datetime) -> list[datetime]:
    """Every occurrence in (first, last), by a look at each minute and at what the clock showed before."""
    matches = cache(read(rule.expression).match)
    minute, hour = rule.expression.split()[:2]
    is_exact = rule.dst == "exact" or (rule.dst == "cron" and "*" in (minute[0], hour[0]))
    runs_late, counts_once = not is_exact and rule.dst != "systemd", not is_exact
    found, before = [], None
    shown: set[datetime] = set()
    for at, wall in _minutes(rule.timezone, first, last):
        jump = wall - (before or wall - _MINUTE) - _MINUTE
        left_out = [wall - _MINUTE * n for n in range(1, jump // _MINUTE + 1)]
        if rule.dst == "cron" and jump >= timedelta(hours=3):
            left_out = []
        if rule.dst == "cron" and jump < -timedelta(hours=3):
            shown.clear()
        is_late = runs_late and any(map(matches, left_out))
        is_again = counts_once and wall in shown
        if at > first and (is_late or (matches(wall) and not is_again)):
            found.append(at)
        shown.add(wall)
        before = wall
    return found


def _forward(rule: Cron, first: datetime, last: datetime) -> list[datetime]:
    found, at = [], rule.next_after(first)
    while at is not None and at.astimezone(UTC) < last:
        found.append(at.astimezone(UTC))
        at = rule.next_after(at)
    return found


def _backward(rule: Cron, first: datetime, last: datetime) -> list[datetime]:
    found, at = [], rule.previous(last - timedelta(seconds=1))
    while at is not None and at.astimezone(UTC) > first:
        found.append(at.astimezone(UTC))
        at = rule.previous(at.astimezone(UTC) - timedelta(microseconds=1))
    return found[::-1]


@pytest.mark.parametrize(
    ("zone", "night"), [*NIGHTS, *(pytest.param(*night, marks=pytest.mark.prove) for night in MORE_NIGHTS)]
)
def test_a_rule_is_what_a_walk_through_all_minutes_finds(zone: str, night: datetime) -> None:
    first, last = night - timedelta(hours=18), night + timedelta(hours=42)
    for text, dst in product(RULES, DST):
        rule = Cron(text, timezone=zone, dst=dst)
        walked = _walk(rule, first, last)
        assert _forward(rule, first, last) == walked, text
        assert _backward(rule, first, last) == walked, text
        assert rule.count(first + timedelta(microseconds=1), last - timedelta(microseconds=1)) == len(
            walked
        ), text


@given(
    st.sampled_from(RULES),
    st.sampled_from(DST),
    st.sampled_from(NIGHTS + MORE_NIGHTS),
    st.integers(-3 * 86_400_000, 3 * 86_400_000),
    st.integers(0, 500),
)
@settings(max_examples=150)
def test_the_laws_hold_from_any_instant(
    text: str, dst: Dst, night: tuple[str, datetime], shift: int, days: int
) -> None:
    zone, near = night
    rule, start = Cron(text, timezone=zone, dst=dst), near + timedelta(milliseconds=shift)
    after = rule.next_after(start)
    assert after is not None
    assert since_epoch(after) > since_epoch(start)
    latest = rule.previous(after)
    assert latest is not None
    assert since_epoch(latest) == since_epoch(after)
    between = rule.previous(after.astimezone(UTC) - timedelta(microseconds=1))
    assert between is None or since_epoch(between) <= since_epoch(start)
    assert rule.matches(after)
    end = start + timedelta(days=days % 12)
    assert rule.count(start, end) == len(
        _forward(rule, start - timedelta(microseconds=1), end + timedelta(microseconds=1))
    )


def test_cron_runs_after_the_gap_and_once_in_autumn() -> None:
    rule = Cron("30 2 * * *", timezone="Europe/Berlin", dst="cron")
    spring = [at.isoformat() for at in rule.upcoming(datetime(2026, 3, 28, 12, tzinfo=UTC), 2)]
    autumn = [at.isoformat() for at in rule.upcoming(datetime(2026, 10, 24, 12, tzinfo=UTC), 2)]
    assert spring == ["2026-03-29T03:00:00+02:00", "2026-03-30T02:30:00+02:00"]
    assert autumn == ["2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]


def test_systemd_pauses_for_the_repeated_hour() -> None:
    rule = Cron("*/15 * * * *", timezone="Europe/Berlin", dst="systemd")
    assert rule.next_after(datetime(2026, 10, 25, 0, 45, tzinfo=UTC)) == datetime(2026, 10, 25, 2, tzinfo=UTC)


def test_a_rule_with_seconds_runs_once_after_the_gap() -> None:
    rule = Cron("*/20 30 2 * * *", timezone="Europe/Berlin", dialect="seconds", dst="once")
    found = _forward(rule, datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 3, 30, tzinfo=UTC))
    assert found == [datetime(2026, 3, 29, 1, tzinfo=UTC)]


def test_dst_is_part_of_the_value() -> None:
    exact, once = Cron("30 2 * * *"), Cron("30 2 * * *", dst="once")
    assert exact != once
    assert hash(exact) == hash(Cron("30 2 * * *", dst="exact"))
    assert len({exact, once}) == 2
    assert "dst='once'" in repr(once)
    assert copy.deepcopy(once) == once


def test_an_unknown_dst_is_refused_with_the_ones_there_are() -> None:
    with pytest.raises(InvalidScheduleError, match="no such rule for clock changes") as caught:
        Cron("* * * * *", dst="twice")  # type: ignore[arg-type] # it is wrong
    assert caught.value.hint == "choose one of exact, cron, systemd, once"


@pytest.mark.parametrize(
    "text",
    ["0-59/5 * * * *", "*/5 2 * * *", "0-59 0-23 * * *", "30 2 * * *", "*/59 2,3 * * *", "5 */23,2 * * *"],
)
def test_the_canonical_spelling_does_the_same_at_a_clock_change(text: str) -> None:
    rule = Cron(text, timezone="Europe/Berlin", dst="cron")
    again = Cron(rule.canonical, timezone="Europe/Berlin", dst="cron")
    assert (again.fields, again.around) == (rule.fields, rule.around)
