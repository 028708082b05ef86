"""What is done to the nodes, drawn from a seed: kills, failpoints, freezes, orderly stops, clock jumps."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from random import Random

from foliot.clock import SystemClock
from foliot.testing.faults import trap, workload
from foliot.testing.faults.diary import Times
from foliot.testing.faults.host import SLACK, Host
from foliot.testing.faults.node import Orders
from foliot.testing.history.facts import Fault, Trouble

_CLOCK = SystemClock()
_PATIENCE = 4.0  # seconds for a node to come to its failpoint
_SOON = 1.5  # the same, for what a node does at once when it starts
JUMP = 5.0  # seconds by which the clock is set


class Kind(StrEnum):
    """What can be done to a node."""

    KILL = "kill"
    FAILPOINT = "failpoint"
    STOP = "stop"
    TERM = "term"
    CLOCK = "clock"


class Nemesis:
    """Torments hosts until it has killed often enough, or for long enough."""

    def __init__(  # noqa: PLR0913 - what it may do, to whom, and how much of it
        self,
        orders: Orders,
        times: Times,
        *,
        kinds: tuple[Kind, ...],
        kills: int,
        seconds: float,
        steps: tuple[str, ...],
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.clock_faults: list[Fault] = []
        self._orders = orders
        self._times = times
        self._kinds = kinds
        self._kills = kills
        self._since, self._seconds = _CLOCK.monotonic(), seconds
        self._chance = Random(f"nemesis {orders.seed}")  # noqa: S311 - chance that can be repeated
        self._steps = deque(steps)
        self._release = 0

    @property
    def kills(self) -> int:
        """How many nodes it has killed, or let kill themselves."""
        return self.counts["kill"] + self.counts["failpoint"]

    @property
    def is_done(self) -> bool:
        """Whether it is content."""
        return self.progress >= 1

    @property
    def progress(self) -> float:
        """How much of what it was to do is done, up to 1."""
        passed = (_CLOCK.monotonic() - self._since) / self._seconds
        return min(1.0, max(passed, self.kills / self._kills))

    async def torment(self, host: Host) -> None:
        """Do one thing after another to a host."""
        deeds: dict[Kind, Callable[[Host], Awaitable[None]]] = {
            Kind.KILL: self._kill,
            Kind.FAILPOINT: self._trap,
            Kind.STOP: self._freeze,
            Kind.TERM: self._ask_to_stop,
            Kind.CLOCK: self._set_clock,
        }
        while not self.is_done:
            await deeds[self._chance.choice(self._kinds)](host)

    async def be_born(self, host: Host) -> None:
        """The very first starts: the file is made, and nobody else is there."""
        while Kind.FAILPOINT in self._kinds and self._steps[0] in trap.BIRTH:
            await self._trap(host)

    async def start(self, host: Host, *, die_at: str = "", passes: int = 1) -> None:
        """Start a node if none lives; sometimes it is of a new release."""
        if host.life is None:
            if self._chance.random() < 0.1:  # noqa: PLR2004 - a tenth of the starts
                self._release = self._chance.randrange(workload.RELEASES)
            orders = replace(
                self._orders, host=host.name, release=self._release, die_at=die_at, passes=passes
            )
            await host.start(orders)
            self.counts["start"] += 1

    async def _wait(self, least: float, most: float) -> None:
        await _CLOCK.wait(timedelta(seconds=self._chance.uniform(least, most)))

    # -- deeds -------------------------------------------------------------------------------------

    async def _kill(self, host: Host) -> None:
        """At once, while it is young, or after it has lived for a while."""
        await self.start(host)
        await self._wait(*self._chance.choices(((0.0, 0.15), (0.0, 0.8), (2.0, 4.0)), (4, 6, 1))[0])
        if host.life is not None:
            await host.kill()
            self.counts["kill"] += 1

    async def _trap(self, host: Host) -> None:
        """Let a fresh node die at the next of the steps, and the same again when all had their turn."""
        if host.life is not None:
            await host.kill()
            self.counts["kill"] += 1
        step = self._steps.popleft()
        is_once = step.startswith(trap.ONCE)
        passes = 1 if is_once else self._chance.choice((1, 1, 2))
        await self.start(host, die_at=step, passes=passes)
        if step in trap.PARTING:
            await self._wait(0.2, 0.6)
            host.ask_to_stop()
        patience = _SOON if is_once and step not in trap.PARTING else _PATIENCE
        if await host.until_gone(patience) and host.deaths[-1].code < 0:
            self.counts["failpoint"] += 1
            place = len(self._steps)
        else:
            await host.kill()
            self.counts["kill"] += 1
            place = 1
        if step not in trap.BIRTH:  # which comes once, or never
            self._steps.insert(place, step)

    async def _freeze(self, host: Host) -> None:
        """SIGSTOP until its lease has run out, and then some."""
        await self.start(host)
        await self._wait(0.3, 1.5)
        host.freeze()
        lease = self._orders.lease
        await self._wait(lease * 1.2, lease * 1.8)
        host.thaw()
        self.counts["stop"] += 1
        await self._wait(0.5, 2.0)

    async def _ask_to_stop(self, host: Host) -> None:
        """SIGTERM; sometimes a second one, sometimes SIGKILL before it has drained."""
        await self.start(host)
        await self._wait(0.0, 1.5)
        host.ask_to_stop()
        self.counts["term"] += 1
        mood = self._chance.random()
        if mood < 0.3:  # noqa: PLR2004 - about a third of them
            await self._wait(0.0, 0.5)
            host.ask_to_stop()
        elif mood < 0.5:  # noqa: PLR2004 - and a fifth
            await self._wait(0.0, 0.5)
            await host.kill()
            self.counts["kill"] += 1
            return
        if not await host.until_gone(20):
            self.counts["deaf to SIGTERM"] += 1
            await host.kill()

    async def _set_clock(self, host: Host) -> None:
        """The machine's clock is wrong for a while: everybody on it is concerned."""
        await self.start(host)
        begin, seconds = self._times.now(), self._chance.choice((-JUMP, JUMP))
        self._offset(seconds)
        await self._wait(1.0, 3.0)
        self._offset(0)
        offset = timedelta(seconds=seconds)
        self.clock_faults.append(
            Fault(Trouble.CLOCK, begin, self._times.now(), None, slack=SLACK, offset=offset)
        )
        self.counts["clock"] += 1

    def _offset(self, seconds: float) -> None:
        Path(self._orders.offset).write_text(str(seconds))
