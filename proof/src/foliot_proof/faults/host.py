"""A host as the harness sees it: starts nodes there, sends them signals, and keeps the log of faults."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from foliot_proof.faults.node import Orders
from foliot_proof.faults.witness_log import Times
from foliot_proof.history.facts import Fault, Trouble

SLACK = timedelta(milliseconds=100)
_KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "VIRTUAL_ENV")


class Life(NamedTuple):
    """One process: from when to when, and by which orders."""

    orders: Orders
    pid: int
    asked_at: datetime
    ended: asyncio.Future[datetime]


class Death(NamedTuple):
    """How a process ended: by itself or not, as the harness expected or not."""

    host: str
    code: int
    was_expected: bool


class Host:
    """Has at most one node at a time."""

    def __init__(self, name: str, times: Times, log: Path, extra: dict[str, str] | None = None) -> None:
        self.name = name
        self.lives: list[Life] = []
        self.deaths: list[Death] = []
        self.faults: list[Fault] = []
        self._times = times
        self._log = log
        self._extra = extra or {}
        self._since: dict[Trouble, datetime] = {}
        self._spawner: asyncio.subprocess.Process | None = None
        self._listening: asyncio.Task[None] | None = None
        self._born: asyncio.Future[tuple[int, datetime]] | None = None
        self._is_expected = False

    # -- the spawner -------------------------------------------------------------------------------

    async def open(self) -> None:
        """Have a spawner ready."""
        environment = {key: os.environ[key] for key in _KEPT if key in os.environ} | self._extra
        with self._log.open("ab") as log:
            self._spawner = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "foliot_proof.faults.spawner",
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=log, env=environment,
            )  # fmt: skip
        self._begin(Trouble.DOWN, self._times.now() - timedelta(days=1))
        self._listening = asyncio.ensure_future(self._listen())

    async def close(self) -> None:
        """Nothing of this host is left."""
        if self._spawner is None or self._spawner.stdin is None or self._listening is None:
            return
        self._is_expected = True
        self.signal(signal.SIGCONT)
        self._spawner.stdin.close()
        await self._spawner.wait()
        await self._listening

    async def _listen(self) -> None:
        assert self._spawner is not None  # noqa: S101 - `open` has made it
        assert self._spawner.stdout is not None  # noqa: S101 - a pipe was asked for
        async for line in self._spawner.stdout:
            told = json.loads(line)
            at = self._times.instant(told["at"])
            if "born" in told and self._born is not None:
                self._born.set_result((told["born"], at))
            elif "died" in told:
                self._bury(told, at)
        if self._born is not None and not self._born.done():
            self._born.set_exception(RuntimeError(f"the spawner has ended\n{self._log.read_text()[-2000:]}"))

    def _bury(self, told: dict[str, Any], at: datetime) -> None:
        self._over(Trouble.PAUSED, at)
        self._begin(Trouble.DOWN, at)
        self.deaths.append(Death(self.name, told["code"], self._is_expected))
        for life in self.lives:
            if life.pid == told["died"] and not life.ended.done():
                life.ended.set_result(at)

    @property
    def _is_open(self) -> bool:
        return self._listening is not None and not self._listening.done()

    # -- nodes -------------------------------------------------------------------------------------

    @property
    def life(self) -> Life | None:
        """The process that lives, if one does."""
        return self.lives[-1] if self.lives and not self.lives[-1].ended.done() else None

    async def start(self, orders: Orders) -> Life:
        """Start a node, by a spawner that is ready."""
        if self._spawner is None or self._spawner.stdin is None or not self._is_open:
            raise RuntimeError(f"{self.name} is not open")
        loop = asyncio.get_running_loop()
        self._born, self._is_expected, asked_at = loop.create_future(), bool(orders.die_at), self._times.now()
        self._spawner.stdin.write(json.dumps(asdict(orders)).encode() + b"\n")
        pid, _ = await self._born
        life = Life(orders, pid, asked_at, loop.create_future())
        self.lives.append(life)
        self._over(Trouble.DRAINING, asked_at)
        self._over(Trouble.DOWN, asked_at)
        return life

    async def until_gone(self, seconds: float) -> bool:
        """Wait until the process has ended; whether it has."""
        life = self.life
        if life is None:
            return True
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(life.ended), seconds)
        return life.ended.done()

    # -- injuries ----------------------------------------------------------------------------------

    def signal(self, number: int) -> None:
        """Send a signal to the node, if there is one."""
        if self.life is not None:
            with suppress(ProcessLookupError):  # it has just ended, and the spawner is about to say so
                os.kill(self.life.pid, number)

    async def kill(self) -> None:
        """SIGKILL; over when the process is gone."""
        self._is_expected = True
        self.signal(signal.SIGKILL)
        if not await self.until_gone(10):
            raise RuntimeError(f"{self.name} cannot be killed")

    def freeze(self, since: datetime) -> None:
        """SIGSTOP; it may have stopped itself before."""
        self._begin(Trouble.PAUSED, since)
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT."""
        self.signal(signal.SIGCONT)
        self._over(Trouble.PAUSED, self._times.now())

    def ask_to_stop(self) -> None:
        """SIGTERM: it drains."""
        self._is_expected = True
        self._begin(Trouble.DRAINING, self._times.now())
        self.signal(signal.SIGTERM)

    def cut_off(self) -> None:
        """Its nodes cannot reach the store any more."""
        self._begin(Trouble.PARTITIONED, self._times.now())

    def reconnect(self) -> None:
        """They can again."""
        self._over(Trouble.PARTITIONED, self._times.now())

    # -- the log -----------------------------------------------------------------------------------

    def _begin(self, kind: Trouble, at: datetime) -> None:
        self._since.setdefault(kind, at)

    def _over(self, kind: Trouble, at: datetime) -> None:
        if (begin := self._since.pop(kind, None)) is not None:
            self.faults.append(Fault(kind, begin, at, self.name, SLACK))

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """What ails it now."""
        return tuple(self._since)

    def all_faults(self) -> list[Fault]:
        """What was done, with what lasts."""
        lasting = [Fault(kind, at, None, self.name, SLACK) for kind, at in self._since.items()]
        return [*self.faults, *lasting]
