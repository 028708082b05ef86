from __future__ import annotations

import copy
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from foliot.errors import InvalidDurationError, InvalidScheduleError, InvalidTimezoneError, NaiveInstantError
from foliot.schedules import Cron, Every, Once

NEW_YORK = ZoneInfo("America/New_York")


def test_every_takes_texts_and_timedeltas_alike() -> None:
    assert Every("1h30m") == Every(timedelta(minutes=90)) == Every("90m")
    assert hash(Every("1h30m")) == hash(Every("90m"))
    assert str(Every("90m")) == "@every 1h30m"


@pytest.mark.parametrize(
    ("duration", "start", "expected"),
    [
        ("15m", "2012-07-09T14:45:00+00:00", "2012-07-09T15:00:00+00:00"),
        ("15m", "2012-07-09T14:59:59.999999+00:00", "2012-07-09T15:00:00+00:00"),
        ("1s", "2012-07-09T14:45:00.5+00:00", "2012-07-09T14:45:01+00:00"),
        ("7h", "1970-01-01T00:00:00+00:00", "1970-01-01T07:00:00+00:00"),
        ("7h", "1969-12-31T23:59:59+00:00", "1970-01-01T00:00:00+00:00"),
        ("1d", "2026-03-29T00:30:00+01:00", "2026-03-29T00:00:00+00:00"),
    ],
)
def test_every_is_counted_from_the_epoch_not_from_the_start(duration: str, start: str, expected: str) -> None:
    instant, following = datetime.fromisoformat(start), datetime.fromisoformat(expected)

    assert Every(duration).next_after(instant) == following
    assert Cron(f"@every {duration}").next_after(instant) == following


def test_every_shows_its_zone_and_keeps_its_beat_when_clocks_are_moved() -> None:
    rule = Every("6h", timezone="America/New_York")

    found = rule.upcoming(datetime(2026, 11, 1, 0, tzinfo=NEW_YORK), 3)

    assert [at.isoformat() for at in found] == [
        "2026-11-01T01:00:00-05:00",
        "2026-11-01T07:00:00-05:00",
        "2026-11-01T13:00:00-05:00",
    ]
    assert all(at.tzinfo is NEW_YORK for at in found)


def test_every_matches_its_second_only() -> None:
    rule = Every("5m")

    assert rule.matches(datetime(2026, 1, 1, 0, 5, 0, 999_999, tzinfo=UTC))
    assert not rule.matches(datetime(2026, 1, 1, 0, 5, 1, tzinfo=UTC))
    assert Cron("@every 5m").matches(datetime(2026, 1, 1, 0, 5, tzinfo=UTC))


@pytest.mark.parametrize(
    "duration",
    ["0s", "500ms", "1.5s", timedelta(0), timedelta(seconds=-5), timedelta(seconds=1, microseconds=1)],
)
def test_every_needs_whole_seconds(duration: Any) -> None:
    with pytest.raises(InvalidDurationError, match="whole number of seconds"):
        Every(duration)


@pytest.mark.parametrize("duration", [None, 5, 1.5, b"5m"])
def test_every_needs_a_duration(duration: Any) -> None:
    with pytest.raises(InvalidDurationError, match="timedelta or a text"):
        Every(duration)


def test_every_needs_a_zone_that_exists() -> None:
    with pytest.raises(InvalidTimezoneError, match="Mars/Olympus"):
        Every("5m", timezone="Mars/Olympus")


def test_once_happens_once() -> None:
    at = datetime(2026, 12, 24, 18, tzinfo=ZoneInfo("Europe/Berlin"))
    rule = Once(at)

    assert rule.next_after(at - timedelta(seconds=1)) is at
    assert rule.next_after(at) is None
    assert rule.previous(at) is at
    assert rule.previous(at - timedelta(seconds=1)) is None
    assert rule.upcoming(at - timedelta(days=1), 5) == [at]
    assert rule.matches(at + timedelta(milliseconds=999))
    assert not rule.matches(at + timedelta(seconds=1))


def test_once_reads_iso_8601() -> None:
    assert Once("2026-12-24T18:00:00+01:00") == Once(datetime(2026, 12, 24, 17, tzinfo=UTC))
    assert str(Once("2026-12-24T18:00:00+01:00")) == "2026-12-24T18:00:00+01:00"


def test_once_tells_the_two_passes_of_an_hour_apart() -> None:
    first = Once(datetime(2026, 11, 1, 1, 30, tzinfo=NEW_YORK, fold=0))
    second = Once(datetime(2026, 11, 1, 1, 30, tzinfo=NEW_YORK, fold=1))

    assert first != second
    assert second.next_after(datetime(2026, 11, 1, 1, 45, tzinfo=NEW_YORK, fold=0)) == second.at
    assert first.next_after(datetime(2026, 11, 1, 1, 45, tzinfo=NEW_YORK, fold=0)) is None


@pytest.mark.parametrize("text", ["tomorrow", "", "2026-13-01T00:00+00:00", "2026-12-24T18:00:00+99:00"])
def test_once_refuses_what_is_no_time(text: str) -> None:
    with pytest.raises(InvalidScheduleError, match="cannot be read"):
        Once(text)


@pytest.mark.parametrize("at", ["2026-12-24T18:00:00", datetime(2026, 12, 24), 5, None])
def test_once_refuses_a_time_without_a_zone(at: Any) -> None:
    with pytest.raises(NaiveInstantError):
        Once(at)


@pytest.mark.parametrize(
    "rule", [Every("5m", timezone="Asia/Tokyo"), Once("2026-12-24T18:00:00+01:00")], ids=str
)
def test_values_survive_a_copy(rule: Any) -> None:
    assert copy.deepcopy(rule) == rule
    assert hash(copy.copy(rule)) == hash(rule)
