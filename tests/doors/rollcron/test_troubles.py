"""What channels are told of a repository in trouble, on a clock that the test moves."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from app.test_alerts import Pigeon
from daemon.repositories import CONFIG, Repository, job
from doors.rollcron.test_door import MINUTE, House, living, until
from foliot.doors.rollcron.door import Rollcron
from foliot.model.alert import Alert
from foliot.protocols import AlertQuery
from sources.git.scene import played


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


@pytest.fixture
def door(tmp_path: Path, repository: Repository) -> Rollcron:
    channels = {"ops": Pigeon()}
    return Rollcron(str(repository.remote), cache=tmp_path / "cache", interval=MINUTE, channels=channels)


async def turn(house: House, times: int = 1) -> None:
    """So many intervals, each with its look at the repository."""
    for _ in range(times):
        looks = len([one for one in house.watched if hasattr(one, "failures")])
        await house.clock.advance(MINUTE)
        await until(partial(_has_looked, house, looks))
        await house.clock.advance(timedelta(0))


def _has_looked(house: House, looks: int) -> bool:
    return len([one for one in house.watched if hasattr(one, "failures")]) > looks


async def told(house: House) -> list[Alert]:
    return [one.alert for one in reversed(await house.store.alerts(AlertQuery(channel="ops")))]


@played
async def test_a_remote_that_is_away_is_told_after_ten_minutes_and_when_it_is_back(
    repository: Repository, door: Rollcron
) -> None:
    house = House()
    repository.push(one=job("true", notify="ops"))
    async with living(door, house):
        repository.hide()
        await turn(house, 10)
        assert await told(house) == []
        await turn(house, 3)
        (trouble,) = await told(house)
        assert trouble.kind == "source"
        assert "what was good before stays in effect" in (trouble.why or "")
        repository.show()
        await turn(house, 2)
        assert [alert.kind for alert in await told(house)] == ["source", "recovery"]


@played
async def test_a_refused_file_is_told_at_once_and_once(repository: Repository, door: Rollcron) -> None:
    house = House()
    repository.push(one=job("true", notify="ops"))
    async with living(door, house):
        repository.push({CONFIG: "jobs: 7"})
        await turn(house, 3)
        assert [alert.kind for alert in await told(house)] == ["source"]


@played
async def test_a_revision_that_drops_most_jobs_is_told_once(repository: Repository, door: Rollcron) -> None:
    house = House()
    repository.push(**{name: job("true", notify="ops") for name in ("a", "b", "c")})
    async with living(door, house):
        repository.push(a=job("true", notify="none"))
        await turn(house, 3)
        (dropped,) = await told(house)
        assert dropped.why == "its new revision drops 2 of 3 jobs"


@played
async def test_jobs_that_do_not_tell_of_sources_are_not_asked(repository: Repository, door: Rollcron) -> None:
    house = House()
    repository.push(one=job("true", notify={"to": "ops", "on": "failure"}))
    async with living(door, house):
        repository.push({CONFIG: "jobs: 7"})
        await turn(house, 2)
        assert await told(house) == []
