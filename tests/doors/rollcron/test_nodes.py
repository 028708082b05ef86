"""The door beside others that follow the same repository: what fits here, and whose revision counts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from daemon.repositories import Repository, job
from doors.rollcron.test_door import MINUTE, House, _is_longer, told, until
from foliot.doors.rollcron.door import Rollcron
from foliot.doors.rollcron.executor import RepositoryExecutor
from foliot.model.job import Job
from foliot.model.state import Node
from foliot.protocols import JobQuery, Selective
from sources.git.scene import git, played

SECOND = timedelta(seconds=1)


class Member:
    """A door in a house, with its executor."""

    def __init__(self, door: Rollcron, house: House, executor: RepositoryExecutor) -> None:
        self.door = door
        self.house = house
        self.executor = executor

    async def looks(self) -> None:
        """It pulls, and does what follows from it."""
        seen = len(self.house.watched)
        self.door.pull_now()
        await until(partial(_is_longer, self.house.watched, seen))


@asynccontextmanager
async def member(house: House, repository: Repository, cache: Path, **options: Any) -> AsyncIterator[Member]:
    """A door that has begun, and follows; as the engine would, it says in the store that it is there."""
    door = Rollcron(str(repository.remote), cache=cache, interval=timedelta(days=1), **options)
    try:
        [(kind, executor)] = (await door.begin(house.host())).items()
        assert isinstance(executor, RepositoryExecutor)
        await house.store.join(Node(cache.name, kinds=(kind,)))
        life = asyncio.ensure_future(door.live())
        try:
            await house.clock.settle()
            yield Member(door, house, executor)
        finally:
            life.cancel()
            await asyncio.wait([life])
            await house.store.leave(cache.name)
    finally:
        await door.close()


async def declared(house: House) -> dict[str, Job]:
    views = await house.store.jobs(JobQuery())
    return {view.record.job.name: view.record.job for view in views if view.record}


async def commands(house: House) -> dict[str, str]:
    return {name: job.action.data["run"] for name, job in (await declared(house)).items()}


def set_back(repository: Repository, revision: str) -> None:
    """The remote is a mirror that lags."""
    git(repository.remote, "update-ref", "refs/heads/main", revision)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


@played
async def test_what_another_has_declared_fits_as_soon_as_it_is_pulled_here(
    repository: Repository, tmp_path: Path
) -> None:
    house = House()
    repository.push(one=job("echo 1"), same=job("true"))
    async with (
        member(house, repository, tmp_path / "a") as quick,
        member(house, repository, tmp_path / "b") as slow,
    ):
        assert isinstance(slow.executor, Selective)
        repository.push(one=job("echo 2"), same=job("true"), new=job("true"))
        await quick.looks()
        jobs = await declared(house)
        fitting = {name: slow.executor.fits(one) for name, one in jobs.items()}
        assert fitting == {"one": False, "same": True, "new": False}
        assert all(map(quick.executor.fits, jobs.values()))
        heeded, seen = house.heeded, len(house.watched)

        slow.executor.on_passed_over([jobs["one"], jobs["new"]])
        await until(partial(_is_longer, house.watched, seen))

        assert all(map(slow.executor.fits, jobs.values()))
        assert house.heeded == heeded + 1, "its engine looks again"


@played
async def test_a_pull_for_what_was_passed_over_comes_at_most_every_ten_seconds(
    repository: Repository, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "foliot")
    house = House()
    repository.push(one=job("true"))
    async with member(house, repository, tmp_path / "a") as lone:
        [one] = (await declared(house)).values()
        strange = replace(one, revision="f" * 40)
        seen = len(house.watched)
        for second in range(35):
            lone.executor.on_passed_over([strange, one])
            await until(partial(_is_longer, house.watched, seen + second // 10))
            await house.clock.advance(SECOND)
        assert len(house.watched) == seen + 4
    told_of = [(line["since"], line["wanted"], line["others"]) for line in told(caplog, "jobs_passed_over")]
    assert told_of == [(10, "f" * 12, 1), (20, "f" * 12, 1)]


@played
async def test_files_that_somebody_has_removed_do_not_fit_until_they_are_made_again(
    repository: Repository, tmp_path: Path
) -> None:
    house = House()
    repository.push(one=job("true"))
    async with member(house, repository, tmp_path / "a") as lone:
        [one] = (await declared(house)).values()
        assert lone.executor.fits(one)
        [snapshot] = (tmp_path / "a").glob(".ops-*/sets/*/jobs/one")
        snapshot.rename(tmp_path / "away")
        assert not lone.executor.fits(one)

        lone.executor.on_passed_over([one])

        await until(lambda: lone.executor.fits(one))


@played
async def test_a_door_whose_remote_lags_takes_nothing_back(
    repository: Repository, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "foliot")
    house = House()
    old = repository.push(one=job("echo old"))
    new = repository.push(one=job("echo new"), more=job("true"))
    async with member(house, repository, tmp_path / "a"):
        set_back(repository, old)
        async with member(house, repository, tmp_path / "behind") as behind:
            assert await commands(house) == {"one": "echo new", "more": "true"}
            [line] = told(caplog, "source_behind")
            assert (line["declared"], line["in_effect"]) == (new[:12], old[:12])
            await behind.looks()
            assert await commands(house) == {"one": "echo new", "more": "true"}

            set_back(repository, new)
            await behind.looks()

            assert all(map(behind.executor.fits, (await declared(house)).values()))
            assert not told(caplog, "source_moved")


@played
async def test_what_a_door_has_taken_back_that_was_behind_for_long_is_declared_again(
    repository: Repository, tmp_path: Path
) -> None:
    house = House()
    old = repository.push(one=job("echo old"))
    new = repository.push(one=job("echo new"), more=job("true"))
    async with member(house, repository, tmp_path / "a") as ahead:
        set_back(repository, old)
        async with member(house, repository, tmp_path / "behind") as behind:
            await house.clock.advance(5 * MINUTE)
            await behind.looks()
            assert await commands(house) == {"one": "echo old"}, "as if the history had been rewritten"

            set_back(repository, new)
            await ahead.looks()
            assert await commands(house) == {"one": "echo new", "more": "true"}
            await behind.looks()
            assert await commands(house) == {"one": "echo new", "more": "true"}


@pytest.mark.parametrize("follow_rewrites", [False, True])
@played
async def test_a_history_that_was_rewritten_is_declared_if_nobody_else_knows_better(
    repository: Repository, tmp_path: Path, *, follow_rewrites: bool
) -> None:
    house = House()
    repository.push(one=job("echo old"))
    async with member(house, repository, tmp_path / "a"):
        pass
    repository.rewrite({"rollcron.yaml": '{"jobs": {"one": {"schedule": "@daily", "run": "echo new"}}}'})

    async with member(house, repository, tmp_path / "fresh", follow_rewrites=follow_rewrites):
        assert await commands(house) == {"one": "echo new"}
