"""Faults beside the door: objects for metrics, and stores, that raise what they should not."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from daemon.repositories import Repository, job
from doors.rollcron.test_door import House, living, told, until
from foliot import Foliot
from foliot.app.part import Workplace
from foliot.doors.rollcron.door import Rollcron
from foliot.model.view import AlertHealth, EnqueueHealth, SourceHealth
from foliot.observability import Metrics
from foliot.protocols import OutputPart
from foliot.stores.memory import MemoryStore
from sources.git.scene import played

MINUTE = timedelta(minutes=1)
SOON = timedelta(milliseconds=50)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


class Fragile(Metrics):
    """Metrics that cannot be told how a source fares, at one of the looks."""

    def __init__(self, error: BaseException, *, at: int) -> None:
        super().__init__()
        self.error = error
        self.at = at
        self.looks = 0

    def on_source(self, health: SourceHealth) -> None:
        self.looks += 1
        if self.looks == self.at:
            raise self.error
        super().on_source(health)


@pytest.mark.parametrize("at", [1, 2])
@pytest.mark.parametrize("error", [RuntimeError("no room"), SystemExit(1)])
@played
async def test_a_push_after_a_fault_of_the_metrics_is_followed(
    tmp_path: Path,
    repository: Repository,
    caplog: pytest.LogCaptureFixture,
    error: BaseException,
    at: int,
) -> None:
    caplog.set_level(logging.INFO, "foliot")
    repository.push(one=job("true"))
    metrics = Fragile(error, at=at)
    app = Foliot(f"sqlite:///{tmp_path}/jobs.db", metrics=metrics)
    app.attach(Rollcron(str(repository.remote), cache=tmp_path / "cache", interval=SOON))
    async with app:
        await until(lambda: metrics.looks > at)
        repository.push(one=job("true"), two=job("true"))
        await until(lambda: len(told(caplog, "source_moved")) == 1)
    assert [line["listener"] for line in told(caplog, "listener_failed")] == ["Fragile"]


class Deaf(House):
    """A host that cannot be told how a source fares, at the second look."""

    looks = 0

    def host(self) -> Workplace:
        return super().host()._replace(watch=self._look)

    def _look(self, _: SourceHealth | AlertHealth | EnqueueHealth) -> None:
        self.looks += 1
        if self.looks == 2:
            raise RuntimeError("a fault of the host")


@played
async def test_a_host_that_cannot_be_told_how_a_source_fares_does_not_end_the_following(
    tmp_path: Path, repository: Repository, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "foliot")
    repository.push(one=job("true"))
    house, door = Deaf(), Rollcron(str(repository.remote), cache=tmp_path / "cache", interval=MINUTE)
    async with living(door, house):
        await house.clock.advance(MINUTE)
        await until(lambda: bool(told(caplog, "source_failed")))
        repository.push(one=job("true"), two=job("true"))
        await house.clock.advance(MINUTE)
        await until(lambda: len(told(caplog, "source_moved")) == 1)


@played
async def test_what_runs_write_is_shown_after_a_fault_of_the_store(
    tmp_path: Path,
    repository: Repository,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.INFO, "foliot")
    gate, written = tmp_path / "gate", list[str]()
    repository.push(one=job(f"echo a; while [ ! -e {gate} ]; do echo b; sleep 0.1; done", timeout="1h"))

    async def append_outputs(_: MemoryStore, parts: Sequence[OutputPart]) -> None:
        if not written:
            written.append("nothing")
            raise RuntimeError("a fault of the store")
        written.extend(part.text for part in parts)

    monkeypatch.setattr(MemoryStore, "append_outputs", append_outputs)
    app = Foliot("memory://")
    app.attach(Rollcron(str(repository.remote), cache=tmp_path / "cache", interval=MINUTE))
    async with app:
        await until(lambda: written[-1:] not in ([], ["nothing"]))
        gate.touch()
    assert written[1].startswith("a\n")
    assert told(caplog, "task_failed")[0]["task"] == "live output"
