from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from foliot.errors import InvalidTimezoneError
from foliot.schedules import Cron
from foliot.schedules.zone import changes, irregular_days, load_zone, resolve_timezone, spells
from oracle import recorded_changes, zone_names


def test_every_zone_of_the_database_can_be_used() -> None:
    for name in zone_names():
        assert Cron("0 12 * * *", timezone=name).next_after(datetime(2026, 1, 1, tzinfo=UTC)) is not None


@pytest.mark.parametrize("part", range(4))
def test_changes_of_every_fourth_year_are_those_of_the_database(part: int) -> None:
    for name in zone_names()[part::4]:
        zone = ZoneInfo(name)
        for year in range(1968 + part, 2037, 4):
            found = [change.at for change in changes(zone, year)]
            new_year = datetime(year, 1, 1, tzinfo=UTC)
            expected = [
                at for at in recorded_changes(name) if new_year < at <= new_year.replace(year=year + 1)
            ]
            assert found == expected, (name, year)


def test_no_offset_was_ever_kept_for_less_than_three_days() -> None:
    """What the steps of `changes` rely on."""
    for name in zone_names():
        moments = recorded_changes(name)
        assert all(b - a > timedelta(days=3) for a, b in pairwise(moments)), name


def test_no_change_repeats_more_than_a_day() -> None:
    """What the search relies on when it skips the spells up to a far occurrence."""
    for name in zone_names():
        for at in recorded_changes(name):
            before = (at - timedelta(seconds=1)).astimezone(ZoneInfo(name)).utcoffset()
            after = at.astimezone(ZoneInfo(name)).utcoffset()
            assert before is not None
            assert after is not None
            assert abs(after - before) <= timedelta(days=1)


def test_a_change_knows_the_wall_times_it_leaves_out_or_repeats() -> None:
    forward, back = changes(ZoneInfo("Europe/Berlin"), 2026)

    assert forward.is_gap
    assert (forward.wall_start, forward.wall_end) == (datetime(2026, 3, 29, 2), datetime(2026, 3, 29, 3))
    assert not back.is_gap
    assert (back.wall_start, back.wall_end) == (datetime(2026, 10, 25, 2), datetime(2026, 10, 25, 3))


def test_irregular_days_cover_each_wall_time_in_question() -> None:
    assert irregular_days(ZoneInfo("Pacific/Apia"), 2011) == {(4, 2), (9, 24), (12, 30)}
    assert irregular_days(ZoneInfo("Africa/Cairo"), 2026) == {(4, 24), (10, 29)}
    assert irregular_days(ZoneInfo("UTC"), 2026) == set()
    # The last half hour of the year was left out: UTC and the wall differ about the day.
    assert irregular_days(ZoneInfo("Asia/Singapore"), 1981) == {(12, 31)}
    assert irregular_days(ZoneInfo("Asia/Singapore"), 1982) == set()
    assert irregular_days(ZoneInfo("Pacific/Kanton"), 1994) == {(12, 31)}


@pytest.mark.parametrize("step", [1, -1])
def test_spells_follow_each_other_without_a_hole(step: int) -> None:
    start = datetime(2010, 6, 1, tzinfo=UTC)
    taken = []
    for spell in spells(ZoneInfo("Africa/Casablanca"), start, direction=step):
        taken.append(spell)
        if len(taken) == 20:
            break

    assert taken[0][0] <= start < taken[0][1]
    for earlier, later in pairwise(taken[::step]):
        assert earlier[1] == later[0]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Europe/Berln", "did you mean Europe/Berlin?"),
        ("europe/berlin", "did you mean Europe/Berlin?"),
        ("right/Europe/Berlin", "use Europe/Berlin"),
        ("right/Europe/Berln", "did you mean Europe/Berlin?"),
        ("localtime", 'use "local"'),
        ("posixrules", 'use "local"'),
        ("Local", "did you mean local?"),
        ("America", None),
        ("!", 'write a name such as "Europe/Berlin", "UTC" or "local"'),
        ("../../etc/passwd", None),
        ("/etc/localtime", None),
        ("Europe/\x00", None),
        ("x" * 1_000_000, None),
        ("", None),
    ],
)
def test_unknown_zone_is_refused(name: str, hint: str | None) -> None:
    with pytest.raises(InvalidTimezoneError) as caught:
        resolve_timezone(name)

    assert hint in (None, caught.value.hint)
    assert str(caught.value).startswith("invalid timezone ")
    assert len(str(caught.value)) < 400
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", [None, 5, UTC, b"UTC"])
def test_zone_must_be_a_name(name: Any) -> None:
    with pytest.raises(InvalidTimezoneError, match="must be the name"):
        resolve_timezone(name)


def test_a_zone_is_loaded_once() -> None:
    assert load_zone("Europe/Berlin") is load_zone("Europe/Berlin") is ZoneInfo("Europe/Berlin")
