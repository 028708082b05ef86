"""Shell commands under an engine, in real time: timeouts, replacement and drains end whole trees."""

from __future__ import annotations

import asyncio
import logging
import os
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any, Self

import pytest

from executors.shell.stage import PATIENCE, Folder, alive, until
from foliot.clock import SystemClock
from foliot.engine.engine import Engine
from foliot.engine.plan_command import RunNow, plan_command
from foliot.engine.reconciler import reconcile
from foliot.engine.settings import Settings
from foliot.executors.shell.executor import ShellExecutor
from foliot.model.attempt import Attempt, Outcome
from foliot.model.job import Action, Job
from foliot.model.policy import Policy
from foliot.observability.log import LogListener
from foliot.protocols import RunQuery, Snapshot
from foliot.schedules import Cron
from foliot.stores.memory import MemoryStore

NAME = f"n{os.getpid()}"  # of the job: another worker of the test run looks for processes, too
STUBBORN = (
    "trap '' TERM; setsid sleep 1000 & (setsid sh -c 'sleep 1000 &' &); echo there; sleep 1000; sleep 1000"
)


class House:
    """A store, an engine and a shell executor, on this host's clock."""

    def __init__(self, path: Path) -> None:
        self.clock = SystemClock()
        self.store = MemoryStore(self.clock, lease=timedelta(seconds=30))
        self.executor = ShellExecutor(Folder(path), grace=timedelta(seconds=0.3))
        ids = count()
        self.engine = Engine(
            self.store,
            {"shell:s": self.executor},
            clock=self.clock,
            settings=Settings(slots={"default": 50}, drain=timedelta(0)),
            new_id=lambda: f"id-{next(ids)}",
            listeners=(LogListener(),),
            outputs=self.store,
        )

    async def run_now(self, command: str, **policy: Any) -> None:
        """Declare a job, and ask for a run of it."""
        action = Action(kind="shell:s", data={"run": command, "name": "A job"})
        job = Job(source="s", name=NAME, schedule=Cron("0 0 1 1 *"), action=action, policy=Policy(**policy))
        await reconcile(self.store, "s", Snapshot("r1", (job,)), self.clock.now())
        now = self.clock.now()
        await self.store.update(f"s/{NAME}", lambda record: plan_command(record, RunNow("please"), now))
        self.engine.wake()

    async def attempt(self) -> Attempt:
        """The attempt, once it has ended."""
        async with asyncio.timeout(PATIENCE):
            while not (ended := await self.store.runs(RunQuery(is_open=False))):
                await self.clock.wait(timedelta(milliseconds=10))
        return ended[0]

    async def __aenter__(self) -> Self:
        self._life = asyncio.ensure_future(self.engine.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.engine.stop()
        await asyncio.wait_for(self._life, PATIENCE)
        await self.executor.close()


def there(word: str) -> list[str]:
    return alive([f"FOLIOT_KEY=s/{NAME}!{word}"])


@pytest.mark.req("ROLL-12")
def test_a_job_beyond_its_timeout_is_ended_with_all_its_children_and_logged_as_timed_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        async with House(tmp_path) as house:
            with caplog.at_level(logging.WARNING, "foliot"):
                await house.run_now(STUBBORN, timeout=timedelta(seconds=0.5))
                ended = await house.attempt()
            assert ended.outcome is Outcome.TIMED_OUT
            assert not there("please")
            output = await house.store.output(ended.run_key, 1)
            assert output is not None
            assert output.text.startswith("there\n")

    asyncio.run(scene())
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith(f"attempt_failed run=s/{NAME}!please attempt=1 outcome=timed_out ")


def test_a_failure_is_logged_with_its_last_words_and_its_code_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scene() -> None:
        async with House(tmp_path) as house:
            with caplog.at_level(logging.WARNING, "foliot"):
                await house.run_now("echo one >&2; echo two >&2; exit 42")
                ended = await house.attempt()
            assert (ended.outcome, ended.exit_code) == (Outcome.FAILED, 42)
            assert ended.error == "exit code 42: two\n  one\n  two"

    asyncio.run(scene())
    assert any("exit code 42: two" in record.getMessage() for record in caplog.records)


def test_a_drain_ends_whole_trees_as_interrupted(tmp_path: Path) -> None:
    async def scene() -> None:
        async with House(tmp_path) as house:
            await house.run_now(STUBBORN)
            await until(lambda: len(there("please")) >= 4)
        assert not there("please")
        assert (await house.attempt()).outcome is Outcome.INTERRUPTED

    asyncio.run(scene())
