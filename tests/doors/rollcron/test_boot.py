"""`@reboot`: one run for each boot of a host, however often its daemon is started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from daemon.repositories import Repository
from doors.rollcron.files import jobs_of, only_problem
from doors.rollcron.test_door import MINUTE, House, living
from foliot.doors.rollcron import following
from foliot.doors.rollcron.boot import boot_request
from foliot.doors.rollcron.door import Rollcron
from foliot.model.attempt import Trigger
from foliot.protocols import RunQuery
from foliot.schedules import Never
from sources.git.scene import played

FILE: dict[str, Any] = {
    "warm": {"schedule": "@reboot", "run": "./warm"},
    "off": {"schedule": "@reboot", "run": "./warm", "enabled": False},
    "by-hand": {"schedule": "never", "run": "./x"},
}


def test_a_file_says_never_and_reboot() -> None:
    written = ("never", "'@reboot'", "{cron: never}")
    text = "jobs:\n" + "".join(f"  a{n}: {{schedule: {rule}, run: x}}\n" for n, rule in enumerate(written))
    assert [job.schedule for job in jobs_of(text)] == [Never(), Never(at_boot=True), Never()]
    assert "cron expression" in only_problem("jobs: {a: {schedule: Never, run: x}}").message


def test_the_name_of_a_request_can_be_part_of_a_run_key() -> None:
    assert boot_request("we!b@1", "6f2c0000-1111-2222-3333-444444444444") == "boot-we_b_1-6f2c000011112222"


async def start_daemon(repository: Repository, cache: Path, house: House) -> None:
    door = Rollcron(str(repository.remote), cache=cache, interval=MINUTE)
    async with living(door, house):
        await house.clock.settle()


@pytest.mark.req("OWN-21")
def test_a_boot_has_one_run_however_often_the_daemon_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boots = ["boot-web1-1"]
    monkeypatch.setattr(following, "this_boot_request", lambda: boots[-1])
    repository = Repository(tmp_path)
    repository.push(**FILE)

    @played
    async def play() -> None:
        house = House()
        for _ in range(2):
            await start_daemon(repository, tmp_path / "cache", house)
        boots.append("boot-web1-2")
        for cache in ("cache", "other"):
            await start_daemon(repository, tmp_path / cache, house)
        runs = await house.store.runs(RunQuery())
        assert sorted((run.job.partition("/")[2], run.request) for run in runs) == [
            ("warm", "boot-web1-1"),
            ("warm", "boot-web1-2"),
        ]
        assert {run.trigger for run in runs} == {Trigger.REBOOT}

    play()
