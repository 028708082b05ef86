from __future__ import annotations

import asyncio
import copy
import shutil
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from foliot import clock
from foliot.clock import SystemClock, host_timezone
from foliot.errors import InvalidTimezoneError
from foliot.schedules import Cron

ZONES = Path("/usr/share/zoneinfo")
needs_zone_files = pytest.mark.skipif(not ZONES.is_dir(), reason=f"no zone database in {ZONES}")


@pytest.fixture
def localtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A host with an empty environment, whose /etc is a temporary folder."""
    monkeypatch.delenv("TZ", raising=False)
    monkeypatch.setattr(clock, "LOCALTIME", tmp_path / "localtime")
    monkeypatch.setattr(clock, "DEBIAN_NAME", tmp_path / "timezone")
    return tmp_path / "localtime"


def test_the_clock_tells_the_present_in_utc() -> None:
    now = SystemClock().now()

    assert now.tzinfo is UTC
    assert abs(datetime.now(UTC) - now) < timedelta(minutes=1)  # noqa: TID251 - what the clock is compared with


class Woken(SystemClock):
    """A clock on a host that may just have been suspended: time has passed that no event loop has noticed."""

    slept = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.slept


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has CLOCK_BOOTTIME")
def test_seconds_that_only_grow_go_on_while_the_host_is_suspended() -> None:
    before = time.clock_gettime(time.CLOCK_BOOTTIME)  # noqa: TID251 - what the clock is compared with
    found = SystemClock().monotonic()

    assert before <= found <= time.clock_gettime(time.CLOCK_BOOTTIME)  # noqa: TID251 - as above


def test_a_wait_is_over_soon_after_a_suspended_host_wakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_LOOK", timedelta(milliseconds=1))
    host = Woken()

    async def scene() -> None:
        waiting = asyncio.ensure_future(host.wait(timedelta(hours=1), asyncio.Event()))
        await host.wait(timedelta(milliseconds=20))
        assert not waiting.done()
        host.slept = 3600.0
        await asyncio.wait_for(waiting, 60)

    asyncio.run(scene())


def test_a_wait_ends_with_its_event_and_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_LOOK", timedelta(milliseconds=1))
    host, passed = SystemClock(), timedelta(milliseconds=5)

    async def scene() -> None:
        never, event = asyncio.Event(), asyncio.Event()
        began = host.monotonic()
        await host.wait(passed, never)
        assert host.monotonic() - began >= passed.total_seconds()
        asyncio.get_running_loop().call_soon(event.set)
        await asyncio.wait_for(host.wait(timedelta(hours=1), event), 60)
        await host.wait(timedelta(hours=1), event)
        await host.wait(timedelta(0), never)
        await host.wait(timedelta(seconds=-1), never)

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        ("Europe/Berlin", "Europe/Berlin"),
        (":Asia/Tokyo", "Asia/Tokyo"),
        ("EST5EDT", "EST5EDT"),
        ("UTC", "UTC"),
        ("", "UTC"),
        ("UTC0", "UTC"),
        ("UTC+0", "UTC"),
        ("UTC-00:00", "UTC"),
        (":UTC0", "UTC"),
        ("<UTC>0", "UTC"),
        ("WET0", "UTC"),
    ],
)
def test_tz_decides(localtime: Path, monkeypatch: pytest.MonkeyPatch, variable: str, expected: str) -> None:
    localtime.symlink_to(ZONES / "America/New_York")
    monkeypatch.setenv("TZ", variable)

    assert host_timezone() == expected


@pytest.mark.usefixtures("localtime")
@pytest.mark.parametrize(
    "variable",
    ["CET-1CEST,M3.5.0,M10.5.0/3", "GMT0BST", "UTC1", "UTC00:30", "Mars/Olympus", "../../etc/passwd"],
)
def test_tz_that_is_no_zone_is_refused_not_guessed(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv("TZ", variable)

    with pytest.raises(InvalidTimezoneError, match="TZ is not the name"):
        host_timezone()


@pytest.mark.usefixtures("localtime")
def test_a_gmt_of_the_database_keeps_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "GMT0")

    due = Cron("0 9 * * *", timezone="local").next_after(datetime(2026, 7, 1, tzinfo=UTC))
    assert due == datetime(2026, 7, 1, 9, tzinfo=UTC)


@pytest.mark.usefixtures("localtime")
def test_a_rule_of_posix_is_called_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "CET-1CEST")

    with pytest.raises(InvalidTimezoneError, match="a rule such as") as caught:
        host_timezone()
    assert "Europe/Berlin" in str(caught.value.hint)


@needs_zone_files
def test_a_link_into_the_posix_folder_names_the_zone(localtime: Path, tmp_path: Path) -> None:
    folder = tmp_path / "zoneinfo" / "posix" / "Europe"
    folder.mkdir(parents=True)
    shutil.copyfile(ZONES / "Europe/Berlin", folder / "Berlin")
    localtime.symlink_to(folder / "Berlin")

    assert host_timezone() == "Europe/Berlin"


@needs_zone_files
@pytest.mark.usefixtures("localtime")
def test_tz_may_be_the_path_of_a_zone_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", f":{ZONES}/Europe/Berlin")

    assert host_timezone() == "Europe/Berlin"


@needs_zone_files
def test_the_link_tells_the_name(localtime: Path, tmp_path: Path) -> None:
    middle = tmp_path / "middle"
    middle.symlink_to(ZONES / "Europe/Berlin")
    localtime.symlink_to("middle")

    assert host_timezone() == "Europe/Berlin"
    assert Cron("0 9 * * *", timezone="local").timezone == "Europe/Berlin"
    prefixed = Cron("CRON_TZ=local 0 9 * * *")
    assert prefixed.timezone == "Europe/Berlin"
    assert prefixed.expression == "CRON_TZ=Europe/Berlin 0 9 * * *"


@needs_zone_files
def test_a_copy_is_recognised_by_its_bytes(localtime: Path) -> None:
    for name in ("Pacific/Apia", "Europe/Berlin", "America/New_York"):
        shutil.copyfile(ZONES / name, localtime)

        assert host_timezone() == name


@needs_zone_files
def test_a_copy_with_twins_is_named_as_debian_noted_it(localtime: Path) -> None:
    shutil.copyfile(ZONES / "Europe/Berlin", localtime)
    (localtime.parent / "timezone").write_text("Europe/Copenhagen\n")

    twins = (ZONES / "Europe/Copenhagen").read_bytes() == (ZONES / "Europe/Berlin").read_bytes()
    assert host_timezone() == ("Europe/Copenhagen" if twins else "Europe/Berlin")


@needs_zone_files
def test_a_rule_keeps_the_zone_that_local_meant(localtime: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    localtime.symlink_to(ZONES / "Europe/Berlin")
    rules = [Cron("CRON_TZ=local 0 9 * * *"), Cron("0 9 * * *", timezone="local")]
    monkeypatch.setenv("TZ", "Asia/Tokyo")

    assert [copy.deepcopy(rule).timezone for rule in rules] == ["Europe/Berlin", "Europe/Berlin"]
    assert [copy.copy(rule) for rule in rules] == rules


@pytest.mark.usefixtures("localtime")
def test_a_host_without_a_zone_is_on_utc() -> None:
    assert host_timezone() == "UTC"


def test_a_file_that_is_no_known_zone_is_refused(localtime: Path) -> None:
    localtime.write_bytes(b"TZif2 of my own")

    with pytest.raises(InvalidTimezoneError, match="copy of no known zone"):
        host_timezone()


def test_links_in_a_circle_are_no_hang(localtime: Path, tmp_path: Path) -> None:
    (tmp_path / "other").symlink_to("localtime")
    localtime.symlink_to("other")

    assert host_timezone() == "UTC"
