"""A repository with a rollcron.yaml, and a store that has declared what it said once."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

from cli.calls import Result, call
from foliot.clock import SystemClock
from foliot.doors.rollcron import read_config
from foliot.engine.planner import plan_due, plan_ended
from foliot.engine.reconciler import reconcile
from foliot.model.attempt import Ending, Outcome
from foliot.model.state import Node
from foliot.protocols import Snapshot
from foliot.sources.git.address import parse_address
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock
from sources.git.scene import git

BEFORE = """\
defaults: {timezone: Europe/Berlin, timeout: 1h}
jobs:
  backup: {schedule: "30 1 * * *", run: ./backup.sh, env: {KEY: hush}}
  import: {schedule: "*/15 * * * *", run: ./import.sh, timeout: 30m}
  legacy: {schedule: "0 * * * *", run: ./legacy.sh}
  same: {schedule: "0 4 * * *", run: ./same.sh}
"""
AFTER = """\
defaults: {timezone: Europe/Berlin, timeout: 1h}
jobs:
  backup: {schedule: "0 23 * * *", run: ./backup.sh, env: {KEY: louder}}
  import: {schedule: "*/15 * * * *", run: ./import.sh, timeout: 5m}
  cleanup: {schedule: "30 12 * * *", run: ./cleanup.sh}
  same: {schedule: "0 4 * * *", run: ./same.sh}
"""
NOON = "2026-11-16T12:00+01:00"


class Scene:
    """A person's repository, and a store beside it."""

    def __init__(self, folder: Path) -> None:
        self.tree = folder / "ops"
        self.tree.mkdir()
        self.url = f"sqlite:///{folder / 'jobs.db'}"
        git(self.tree, "init", "--quiet", "--initial-branch=main")
        self.first = self.commit(BEFORE)

    @property
    def file(self) -> Path:
        return self.tree / "rollcron.yaml"

    @property
    def source(self) -> str:
        return parse_address(str(self.tree)).slug

    def write(self, text: str) -> None:
        self.file.write_text(text)

    def commit(self, text: str, **files: str) -> str:
        """Commit the file and others; the revision."""
        self.write(text)
        for name, content in files.items():
            (self.tree / name).write_text(content)
        git(self.tree, "add", "--all")
        git(self.tree, "commit", "--quiet", "--message=more", "--allow-empty")
        return git(self.tree, "rev-parse", "HEAD").strip()

    def declare(self, text: str = BEFORE, revision: str | None = None, source: str | None = None) -> None:
        """Have the store agree with a text, as a daemon does."""
        name, clock = source or self.source, SystemClock()

        async def play() -> None:
            async with SqliteStore(Path(self.url[10:]), clock, lease=timedelta(seconds=30)) as store:
                jobs = read_config(text, source=name)
                snapshot = Snapshot(f"{revision or self.first}+00000000", jobs)
                await reconcile(store, name, snapshot, clock.now())

        asyncio.run(play())

    def run_often(self, job: str, took: timedelta, count: int = 20) -> None:
        """Have a job run so often, each time for so long, before now."""
        now = SystemClock().now().replace(minute=0, second=0, microsecond=0)

        async def play() -> None:
            clock = ManualClock(now - timedelta(days=1))
            async with SqliteStore(Path(self.url[10:]), clock, lease=timedelta(days=9)) as store:
                (line,) = (line for line in BEFORE.splitlines() if line.strip().startswith(f"{job}:"))
                jobs = read_config(f"jobs:\n{line}\n", source=self.source)
                await reconcile(store, self.source, Snapshot("old+0", jobs), clock.now())
                await store.join(Node("n1"))
                for number in range(count):
                    await clock.advance(timedelta(hours=1))
                    claimed = await store.claim("n1", clock.now(), {"default": 9}, plan_due, f"c{number}")
                    end = clock.now() + took
                    endings = [
                        Ending(a.job, a.run_key, a.number, a.token, Outcome.SUCCEEDED, clock.now(), end)
                        for _, a in claimed.runs
                    ]
                    await store.finish("n1", endings, end, plan_ended)
                await store.leave("n1")

        asyncio.run(play())

    def plan(self, *words: str) -> Result:
        """Call `foliot plan` for the repository."""
        return call("plan", str(self.tree), *words)

    def against_store(self, *words: str) -> Result:
        """The same, against the store."""
        return self.plan("--store", self.url, *words)
