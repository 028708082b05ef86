"""What is done to the nodes, drawn from a seed: kills, failpoints, freezes, orderly stops, clock jumps.

What is done to their way to the store, and to the store, is in `partition`.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random

from foliot.clock import SystemClock
from foliot_proof.faults import disk, trap, workload
from foliot_proof.faults.database import Database
from foliot_proof.faults.fault import OF_THE_SERVER, ON_THE_WAY, InjectedFault, Kind
from foliot_proof.faults.host import SLACK, Host
from foliot_proof.faults.node import Orders
from foliot_proof.faults.partition import Partition
from foliot_proof.faults.witness_log import Tail, Times
from foliot_proof.history.facts import Fault, Trouble

__all__ = ["AN_HOUR", "JUMP", "FaultInjector", "Kind"]

_CLOCK = SystemClock()
_PATIENCE = 4.0  # seconds for a node to come to its failpoint
_TIME_TO_BEGIN, _LOOK = 8.0, 0.1  # seconds for a node to be at work, and between two looks
_AT_A_STEP = 0.5  # the share of the freezes that come at a named step
_OVERTIME = 3.0  # times what was asked for, until everything has had its turn
_SOON = 1.5  # the same, for what a node does at once when it starts
JUMP = 5.0  # seconds by which the clock of the store is set, if it is the machine's
AN_HOUR = 3600.0  # by which that of a host is set, if the store has a clock of its own


class FaultInjector:
    """Torments hosts until it has killed often enough, or for long enough."""

    def __init__(  # noqa: PLR0913 - what it may do, to whom, and how much of it
        self,
        orders: Orders,
        times: Times,
        database: Database,
        *,
        kinds: tuple[Kind, ...],
        kills: int,
        seconds: float,
        steps: tuple[str, ...],
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.clock_faults: list[Fault] = []
        self.injected: list[InjectedFault] = []
        self.hosts: list[Host] = []
        self.now_doing: dict[str, str] = {}  # by host
        self.database = database
        self.tail = Tail(Path(orders.witness_log), times)
        self._orders = orders
        self._times = times
        self._kinds = kinds
        self._kills = kills
        self._since, self._seconds = _CLOCK.monotonic(), seconds
        self._chance = Random(f"fault injector {orders.seed}")  # noqa: S311 - chance that can be repeated
        self._first = deque(self._chance.sample(kinds, len(kinds)))  # each has its turn; then chance decides
        self._steps = deque(steps)
        self._release = 0
        self._servers_clock = asyncio.Lock()
        self._partition = Partition(database, times, self._chance, orders.lease)

    @property
    def kills(self) -> int:
        """How many nodes it has killed, or let kill themselves."""
        return self.counts["kill"] + self.counts["failpoint"]

    @property
    def is_done(self) -> bool:
        """Whether it is content: it has done enough, and each kind of it at least once; or it gives up."""
        done = self._done
        return done >= _OVERTIME or (done >= 1 and all(self.counts[kind] for kind in self._kinds))

    @property
    def progress(self) -> float:
        """How much of what it was to do is done, up to 1."""
        return min(1.0, self._done)

    @property
    def _done(self) -> float:
        passed = (_CLOCK.monotonic() - self._since) / self._seconds
        return max(passed, self.kills / self._kills)

    @property
    def common_faults(self) -> list[Fault]:
        """What was done to everybody: to the store, and to its clock."""
        return [*self.clock_faults, *self._partition.faults]

    async def torment(self, host: Host) -> None:
        """Do one thing after another to a host."""
        actions: dict[Kind, Callable[[Host], Awaitable[None]]] = {
            Kind.KILL: self._kill,
            Kind.FAILPOINT: self._trap,
            Kind.STOP: self._freeze,
            Kind.TERM: self._ask_to_stop,
            Kind.CLOCK: self._set_clock,
            Kind.SERVERCLOCK: self._set_servers_clock,
            Kind.DISK: self._spoil_disk,
            **{kind: partial(self._disturb, kind) for kind in (*ON_THE_WAY, *OF_THE_SERVER)},
        }
        while not self.is_done:
            kind = self._first.popleft() if self._first else self._chance.choice(self._kinds)
            self.now_doing[host.name] = kind
            await actions[kind](host)
        self.now_doing[host.name] = ""

    def _note(self, kind: Kind, host: Host, begin: datetime | None = None, words: str = "") -> None:
        """Something was done, and is over."""
        now = self._times.now()
        self.counts[kind] += 1
        self.injected.append(InjectedFault(kind, host.name, begin or now, now, words))

    async def be_born(self, host: Host) -> None:
        """The very first starts: the file is made, and nobody else is there."""
        while Kind.FAILPOINT in self._kinds and self._steps[0] in trap.BIRTH:
            await self._trap(host)

    async def start(self, host: Host, *, die_at: str = "", passes: int = 1, stands: bool = False) -> None:
        """Start a node if none lives; sometimes it is of a new release."""
        if host.life is None:
            if self._chance.random() < 0.1:  # noqa: PLR2004 - a tenth of the starts
                self._release = self._chance.randrange(workload.RELEASES)
            orders = replace(
                self._orders,
                host=host.name,
                url=self.database.url_for(host.name),
                offset=self._offset_of(host),
                release=self._release,
                die_at=die_at,
                passes=passes,
                stands=stands,
            )
            await host.start(orders)
            self.counts["start"] += 1

    async def _until(self, host: Host, what: str, seconds: float) -> datetime | None:
        """Wait until a node has noted something in this life, and not for ever; when it has."""
        for _ in range(int(seconds / _LOOK)):
            self.tail.read_on()
            noted = self.tail.last.get((host.name, what))
            if host.life is None or (noted is not None and noted > host.life.asked_at):
                return noted
            await _CLOCK.wait(timedelta(seconds=_LOOK))
        return None

    async def _wait(self, least: float, most: float) -> None:
        await _CLOCK.wait(timedelta(seconds=self._chance.uniform(least, most)))

    # -- faults ---------------------------------------------------------------------------------------

    async def _kill(self, host: Host) -> None:
        """At once, while it is young, or after it has lived for a while."""
        await self.start(host)
        await self._wait(*self._chance.choices(((0.0, 0.15), (0.0, 0.8), (2.0, 4.0)), (4, 6, 1))[0])
        await self._end(host)

    async def _end(self, host: Host) -> None:
        if host.life is not None:
            await host.kill()
            self._note(Kind.KILL, host)

    async def _trap(self, host: Host) -> None:
        """Let a fresh node die at the next of the steps, and the same again when all had their turn."""
        await self._end(host)
        step = self._steps.popleft()
        is_once = step.startswith(trap.ONCE)
        passes = 1 if is_once else self._chance.choice((1, 1, 2))
        await self.start(host, die_at=step, passes=passes)
        if step in trap.PARTING:
            await self._wait(0.2, 0.6)
            host.ask_to_stop()
        patience = _SOON if is_once and step not in trap.PARTING else _PATIENCE
        if await host.until_gone(patience) and host.deaths[-1].code < 0:
            self._note(Kind.FAILPOINT, host, words=step)
            place = len(self._steps)
        else:
            await self._end(host)
            place = 1
        if step not in trap.BIRTH:  # which comes once, or never
            self._steps.insert(place, step)

    async def _freeze(self, host: Host) -> None:
        """SIGSTOP until its lease has run out, and somebody has had time to bury it."""
        # Whoever stands still in a write to a file keeps everybody out of it: there is nobody to judge then.
        at_a_step = self.database.is_server and self._chance.random() < _AT_A_STEP
        step = self._chance.choice(trap.STANDING) if at_a_step else ""
        since = await self._let_stand(host, step) if step else None
        if since is None:
            await self.start(host)
            await self._until(host, "ready", _TIME_TO_BEGIN if self.database.is_server else 0.0)
            await self._wait(0.3, 1.5)
        begin, lease = since or self._times.now(), self._orders.lease
        host.freeze(begin)
        await self._wait(lease * 1.5, lease * 2.6)
        host.thaw()
        self._note(Kind.STOP, host, begin, step if since else "")
        await self._wait(0.5, 2.0)

    async def _let_stand(self, host: Host, step: str) -> datetime | None:
        """Have a fresh node stop itself at a step; since when it stands. Who does not come there is ended."""
        await self._end(host)
        await self.start(host, die_at=step, stands=True)
        since = await self._until(host, "stands", _PATIENCE)
        if since is None:
            await self._end(host)
        return since

    async def _ask_to_stop(self, host: Host) -> None:
        """SIGTERM; sometimes a second one, sometimes SIGKILL before it has drained."""
        await self.start(host)
        await self._wait(0.0, 1.5)
        host.ask_to_stop()
        self._note(Kind.TERM, host)
        mood = self._chance.random()
        if mood < 0.3:  # noqa: PLR2004 - about a third of them
            await self._wait(0.0, 0.5)
            host.ask_to_stop()
        elif mood < 0.5:  # noqa: PLR2004 - and a fifth
            await self._wait(0.0, 0.5)
            await self._end(host)
            return
        if not await host.until_gone(20):
            self.counts["deaf to SIGTERM"] += 1
            await host.kill()

    async def _set_clock(self, host: Host) -> None:
        """A clock is wrong for a while: the machine's, which is the store's too, or only that of a host."""
        await self.start(host)
        begin, most = self._times.now(), AN_HOUR if self.database.is_server else JUMP
        seconds = self._chance.choice((-most, most))
        self._set_offset(host, seconds)
        await self._wait(1.0, 3.0)
        if self.database.is_server and self._chance.random() < 0.5:  # noqa: PLR2004 - a coin
            await self._end(host)  # who starts with a wrong clock declares by it
            await self.start(host)
            await self._wait(1.0, 2.0)
        self._set_offset(host, 0)
        if not self.database.is_server:
            offset = timedelta(seconds=seconds)
            self.clock_faults.append(
                Fault(Trouble.CLOCK, begin, self._times.now(), None, slack=SLACK, offset=offset)
            )
        self._note(Kind.CLOCK, host, begin, f"{seconds:+g} s")

    async def _set_servers_clock(self, host: Host) -> None:
        """All time is the server's, and jumps by more than a lease; so long that everybody notices."""
        await self.start(host)
        async with self._servers_clock:
            begin, seconds = self._times.now(), self._chance.choice((-JUMP, JUMP))
            self.database.set_clock(seconds)
            await self._wait(self._orders.lease, 1.5 * self._orders.lease)
            self.database.set_clock(0)
            end, offset = self._times.now(), timedelta(seconds=seconds)
            self.clock_faults.append(Fault(Trouble.CLOCK, begin, end, None, slack=SLACK, offset=offset))
            self._note(Kind.SERVERCLOCK, host, begin, f"{seconds:+g} s")
            await self._wait(self._orders.lease, 2 * self._orders.lease)

    def _offset_of(self, host: Host) -> str:
        """The file that says how wrong a clock is; on one machine all have the same."""
        if not self._orders.offset or not self.database.is_server:
            return self._orders.offset
        file = Path(f"{self._orders.offset}-{host.name}")
        if not file.exists():
            file.write_text("0")
        return str(file)

    def _set_offset(self, host: Host, seconds: float) -> None:
        Path(self._offset_of(host)).write_text(str(seconds))

    async def _spoil_disk(self, host: Host) -> None:
        """Its disk fails for a while, as far as the store's files are concerned."""
        await self.start(host)
        await self._until(host, "ready", _TIME_TO_BEGIN)  # who has not begun cannot be disturbed at its work
        await self._wait(0.0, 1.5)
        if host.life is None:
            return
        begin, failure = self._times.now(), self._chance.choice(disk.FAILURES)
        async with disk.failing_disk(host.life.pid, self.database.file, failure) as bites:
            await self._wait(0.2, 2.0)
        fault = InjectedFault(Kind.DISK, host.name, begin, self._times.now(), failure.words, bites.count)
        self.injected.append(fault)
        self.counts[Kind.DISK if fault.bites else "disk in vain"] += 1
        await self._wait(0.5, 2.5)

    async def _disturb(self, kind: Kind, host: Host) -> None:
        """Something happens between a node that is at work and its store."""
        await self.start(host)
        await self._until(host, "ready", _TIME_TO_BEGIN)  # who has not begun cannot be disturbed at its work
        await self._wait(0.3, 1.5)

        async def in_the_middle() -> None:
            if Kind.KILL in self._kinds and self._chance.random() < 0.2:  # noqa: PLR2004 - a fifth
                await self._end(host)
                await self.start(host)

        fault = await self._partition.injure(kind, host, in_the_middle)
        self.injected.append(fault)
        self.counts[kind if fault.bites else f"{kind} in vain"] += 1
        await self._wait(0.5, 2.5)
