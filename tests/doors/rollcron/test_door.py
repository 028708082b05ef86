"""The door on a clock that a test moves: what it declares, what it tells, and when."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from daemon.repositories import CONFIG, Repository, job
from foliot.app.part import Workplace
from foliot.clock import SystemClock
from foliot.doors.rollcron.door import Rollcron
from foliot.errors import FoliotError
from foliot.observability.log import Line
from foliot.protocols import JobQuery
from foliot.stores.memory import MemoryStore
from foliot.testing.clock import ManualClock
from sources.git.scene import played

MINUTE = timedelta(minutes=1)


class House:
    """A host for one door, with a store in memory."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = MemoryStore(self.clock, lease=timedelta(seconds=30))
        self.heeded = 0
        self.watched: list[Any] = []

    def host(self) -> Workplace:
        return Workplace(
            store=self.store,
            clock=self.clock,
            lease=timedelta(seconds=30),
            handle_events=lambda _: self._heed(),
            watch=self.watched.append,
            follow_log=lambda *_: None,
        )

    def _heed(self) -> None:
        self.heeded += 1

    async def names(self) -> set[str]:
        views = await self.store.jobs(JobQuery())
        return {view.key.partition("/")[2] for view in views}

    async def status(self) -> dict[str, Any]:
        (source,) = await self.store.sources()
        found: dict[str, Any] = json.loads(source.status or "{}")
        return found


@asynccontextmanager
async def living(door: Rollcron, house: House) -> AsyncIterator[None]:
    """A door that has begun, and follows."""
    try:
        await door.begin(house.host())
        life = asyncio.ensure_future(door.live())
        try:
            yield
        finally:
            life.cancel()
            await asyncio.wait([life])
    finally:
        await door.close()


def told(caplog: pytest.LogCaptureFixture, event: str) -> list[dict[str, Any]]:
    lines = [record.msg for record in caplog.records if isinstance(record.msg, Line)]
    return [line.fields for line in lines if line.event == event]


def _is_longer(found: list[Any], count: int) -> bool:
    return len(found) > count


async def until(check: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not check():
            await SystemClock().wait(timedelta(milliseconds=20))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


@pytest.fixture
def door(tmp_path: Path, repository: Repository) -> Rollcron:
    return Rollcron(str(repository.remote), cache=tmp_path / "cache", interval=MINUTE)


@played
async def test_nothing_is_pulled_before_the_interval_has_passed_or_somebody_asks(
    repository: Repository, door: Rollcron, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "foliot")
    house = House()
    repository.push(one=job("true"))
    async with living(door, house):
        assert await house.names() == {"one"}
        repository.push(one=job("true"), two=job("true"))
        await house.clock.advance(MINUTE - timedelta(seconds=1))
        assert await house.names() == {"one"}
        await house.clock.advance(timedelta(seconds=1))
        await until(lambda: len(told(caplog, "source_moved")) == 1)
        assert await house.names() == {"one", "two"}
        repository.push(three=job("true"))
        door.pull_now()
        await until(lambda: len(told(caplog, "source_moved")) == 2)
        assert await house.names() == {"three"}
        assert house.heeded == 3


@played
async def test_of_failures_in_a_row_only_some_are_told_and_the_status_counts_them_all(
    repository: Repository, door: Rollcron, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "foliot")
    house = House()
    repository.push(one=job("true"))
    async with living(door, house):
        repository.push({CONFIG: "jobs: 7"})
        for count in range(1, 6):
            seen = len(house.watched)
            await house.clock.advance(MINUTE)
            await until(partial(_is_longer, house.watched, seen))
            assert (await house.status())["failures"] == count
        assert [line["failures"] for line in told(caplog, "source_failed")] == [1, 2, 4]
        assert "jobs" in (await house.status())["error"]
        repository.push(one=job("true"))
        door.pull_now()
        await until(lambda: bool(told(caplog, "source_recovered")))
        await until(lambda: house.watched[-1].failures == 0)
        assert "error" not in await house.status()


@pytest.mark.req("ROLL-21")
@played
async def test_a_host_without_a_shell_is_told_so_before_anything_is_cloned(
    repository: Repository, door: Rollcron, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.push(one=job("true"))
    monkeypatch.setattr("foliot.executors.shell.host.SHELL", str(tmp_path / "sh"))

    with pytest.raises(FoliotError, match=f"there is no {tmp_path}/sh") as caught:
        async with living(door, House()):
            pass

    assert caught.value.hint
    assert not (tmp_path / "cache").exists()


@played
async def test_names_that_people_gave_are_those_of_the_newest_file(
    repository: Repository, door: Rollcron
) -> None:
    house = House()
    repository.push(one=job("true", name="Old Name"))
    async with living(door, house):
        (view,) = await house.store.jobs(JobQuery())
        assert door.title(view.key) == "Old Name"
        repository.push(one=job("true", name="New Name"))
        door.pull_now()
        await until(lambda: door.title(view.key) == "New Name")
        assert door.title("another/one") is None


@played
async def test_the_same_revision_again_changes_nothing_in_the_store(
    repository: Repository, tmp_path: Path, door: Rollcron, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "foliot")
    house = House()
    repository.push(one=job("true"))
    async with living(door, house):
        pass
    again = Rollcron(str(repository.remote), cache=tmp_path / "cache", interval=MINUTE)
    async with living(again, house):
        seen = len(house.watched)
        await house.clock.advance(MINUTE)
        await until(partial(_is_longer, house.watched, seen))
    assert house.heeded == 1
    assert not told(caplog, "source_moved")


@played
async def test_what_fails_in_a_new_way_is_told_at_once(
    repository: Repository, door: Rollcron, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "foliot")
    house = House()
    repository.push(one=job("true"))
    async with living(door, house):
        for config in ("jobs: 7", "jobs: 7", "jobs: 7", "jobs: [a]"):
            seen = len(house.watched)
            repository.push({CONFIG: f"{config} # {seen}"})
            await house.clock.advance(MINUTE)
            await until(partial(_is_longer, house.watched, seen))
    assert [line["failures"] for line in told(caplog, "source_failed")] == [1, 2, 4]


@played
async def test_daemons_that_see_different_things_do_not_undo_each_others(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "foliot")
    house = House()
    repository.push(one=job("true"))
    doors = []
    for zone in ("UTC", "America/New_York"):
        monkeypatch.setenv("TZ", zone)
        doors.append(Rollcron(str(repository.remote), cache=tmp_path / zone.lower(), interval=MINUTE))
        await doors[-1].begin(house.host())
    lives = [asyncio.ensure_future(door.live()) for door in doors]
    try:
        for _ in range(3):
            seen = len(house.watched)
            await house.clock.advance(MINUTE)
            await until(partial(_is_longer, house.watched, seen + 1))
        assert len(told(caplog, "source_moved")) == 1, "the one that came later has the word"
    finally:
        for life, one in zip(lives, doors, strict=True):
            life.cancel()
            await asyncio.wait([life])
            await one.close()
