"""Schedules and their registry: what is refused, and when each fires next."""

from __future__ import annotations

import json
import threading
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from foliot.doors.beat import (
    BeatError,
    DuplicateScheduleError,
    InvalidScheduleError,
    Registry,
    Schedule,
)
from foliot.errors import FoliotError

GOOD = Schedule("cleanup", cron="0 * * * *", job="cleanup_old_data")
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
NEW_YORK = ZoneInfo("America/New_York")


@pytest.mark.req("BAN-01")
def test_a_schedule_has_the_documents_fields_and_defaults() -> None:
    assert (GOOD.payload, GOOD.priority, GOOD.timezone) == (b"", "normal", "UTC")
    assert (GOOD.enabled, GOOD.description) == (True, "")
    with pytest.raises(FrozenInstanceError):
        GOOD.cron = "* * * * *"  # type: ignore[misc] # it is frozen


BAD: dict[str, list[Any]] = {
    "id": ["", "a b", "a@b", "a.b", "a/b", "a\n", "é", "a" * 201, None, 7],
    "cron": ["", "0 * * *", "60 * * * *", "not a cron expression", "0 0 30 2 *", None, b"@daily"],
    "timezone": ["Invalid/Timezone", "../UTC", "/etc/localtime", None],
    "job": ["", None, "half \ud800", "a\0"],
    "priority": ["invalid", "HIGH", None],
    "payload": ["text", None, bytearray(b"x"), b"x" * 100_001],
    "enabled": ["yes", None, 1],
    "description": [None],
}


@pytest.mark.req("BAN-02", "BAN-21", "BAN-27")
@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, some in BAD.items() for value in some]
)
def test_a_bad_field_is_refused_and_nothing_is_registered(field: str, value: Any) -> None:
    registry = Registry()

    with pytest.raises(InvalidScheduleError, match=r"^invalid schedule: .") as refusal:
        registry.register(replace(GOOD, **{field: value}))

    assert refusal.value.details["field"] == field
    assert str(refusal.value).isprintable()
    assert registry.list() == []


@pytest.mark.req("BAN-02")
@pytest.mark.parametrize("priority", ["high", "normal", "low", ""])
def test_good_schedules_are_taken(priority: str) -> None:
    registry = Registry()
    schedule = replace(GOOD, id="A-z_09", priority=priority, timezone="America/New_York", payload=b"\xff")

    registry.register(schedule)

    assert registry.get("A-z_09") is schedule


@pytest.mark.req("BAN-02")
def test_what_is_no_schedule_is_refused() -> None:
    with pytest.raises(InvalidScheduleError, match="is no Schedule"):
        Registry().register({"id": "a"})  # type: ignore[arg-type] # that is the test


@pytest.mark.req("BAN-21")
def test_the_texts_begin_as_those_of_the_document_and_keep_their_cause() -> None:
    registry = Registry()
    registry.register(GOOD)

    with pytest.raises(DuplicateScheduleError) as duplicate:
        registry.register(GOOD)
    assert str(duplicate.value) == "schedule with ID cleanup already exists"

    with pytest.raises(BeatError) as wrapped:
        registry.must_register(GOOD)
    assert str(wrapped.value) == "failed to register schedule: schedule with ID cleanup already exists"
    assert isinstance(wrapped.value.__cause__, DuplicateScheduleError)

    nowhere = replace(GOOD, id="b", timezone="Invalid/Timezone")
    with pytest.raises(
        InvalidScheduleError, match=r"^invalid schedule: invalid timezone Invalid/Timezone: "
    ) as bad:
        registry.register(nowhere)
    assert isinstance(bad.value.__cause__, FoliotError)
    with pytest.raises(BeatError, match=r"^invalid timezone Invalid/Timezone: ") as zone:
        registry.next_run(nowhere, NOON)
    assert zone.value.__cause__ is not None
    with pytest.raises(BeatError, match=r"^failed to register schedule: invalid schedule: "):
        registry.must_register(nowhere)


@pytest.mark.req("BAN-03")
def test_the_registry_lists_in_order_and_gives_a_copy() -> None:
    registry = Registry()
    for name in "cab":
        registry.register(replace(GOOD, id=name))

    listed = registry.list()
    listed.clear()

    assert [schedule.id for schedule in registry.list()] == ["c", "a", "b"]
    assert registry.get("nobody") is None


@pytest.mark.req("BAN-03")
def test_threads_register_each_id_once() -> None:
    registry, duplicates = Registry(), list[str]()
    begin = threading.Barrier(8)

    def register() -> None:
        begin.wait(60)
        for number in range(500):
            try:
                registry.register(replace(GOOD, id=f"s{number}"))
            except DuplicateScheduleError as error:
                duplicates.append(error.details["id"])

    threads = [threading.Thread(target=register) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(schedule.id for schedule in registry.list()) == sorted(f"s{n}" for n in range(500))
    assert len(duplicates) == 3500


MACROS = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}


def runs(cron: str, count: int, timezone: str = "UTC", after: datetime = NOON) -> list[datetime]:
    registry, found = Registry(), list[datetime]()
    schedule = replace(GOOD, cron=cron, timezone=timezone)
    for _ in range(count):
        after = registry.next_run(schedule, after)
        found.append(after)
    return found


@pytest.mark.req("BAN-04")
@pytest.mark.parametrize(("macro", "fields"), MACROS.items())
def test_a_macro_is_its_five_fields(macro: str, fields: str) -> None:
    found = runs(macro, 1000)

    assert found == runs(fields, 1000)
    assert all(one < following for one, following in pairwise(found))


# (cron, zone, after, next): the next runs of the facts that the document's own tests pin.
FACTS = [
    ("0 * * * *", "UTC", "2025-11-10T14:30:00+00:00", "2025-11-10T15:00:00+00:00"),
    ("*/15 * * * *", "UTC", "2025-11-10T14:07:00+00:00", "2025-11-10T14:15:00+00:00"),
    ("0 9 * * *", "UTC", "2025-11-10T08:00:00+00:00", "2025-11-10T09:00:00+00:00"),
    ("0 9 * * *", "UTC", "2025-11-10T10:00:00+00:00", "2025-11-11T09:00:00+00:00"),
    ("0 9 * * *", "UTC", "2025-11-10T09:00:00+00:00", "2025-11-11T09:00:00+00:00"),
    ("0 9 * * *", "America/New_York", "2025-11-10T08:00:00-05:00", "2025-11-10T09:00:00-05:00"),
    ("0 9 * * *", "", "2025-11-10T08:00:00+00:00", "2025-11-10T09:00:00+00:00"),
]


@pytest.mark.req("BAN-05", "BAN-27")
@pytest.mark.parametrize(("cron", "zone", "after", "expected"), FACTS)
def test_the_next_run_is_strictly_after(cron: str, zone: str, after: str, expected: str) -> None:
    (found,) = runs(cron, 1, zone, datetime.fromisoformat(after))

    assert found == datetime.fromisoformat(expected)
    assert found.utcoffset() == datetime.fromisoformat(expected).utcoffset()


@pytest.mark.req("BAN-05")
def test_a_wall_time_that_is_left_out_does_not_fire_and_one_that_comes_twice_fires_twice() -> None:
    spring = runs("30 2 * * *", 3, "America/New_York", datetime(2026, 3, 6, 12, tzinfo=NEW_YORK))
    autumn = runs("30 1 * * *", 3, "America/New_York", datetime(2026, 10, 31, 12, tzinfo=NEW_YORK))

    assert [one.day for one in spring] == [7, 9, 10]
    assert [one.astimezone(UTC).isoformat() for one in autumn[:2]] == [
        "2026-11-01T05:30:00+00:00",
        "2026-11-01T06:30:00+00:00",
    ]
    assert autumn[2].day == 2


def test_an_instant_without_a_zone_is_refused() -> None:
    with pytest.raises((BeatError, ValueError)):
        Registry().next_run(GOOD, datetime(2026, 5, 1))


def test_errors_tell_no_more_than_they_must() -> None:
    with pytest.raises(InvalidScheduleError) as refusal:
        Registry().register(replace(GOOD, payload=b"secret" * 20_000))

    assert "secret" not in json.dumps(refusal.value.details)
