"""What is done to a host's way to the store, and to the store itself, drawn from a seed.

Each fault is watched: it counts only if it bit, that is, if the proxy has dropped, held or delayed something,
or cut a connection that was in use.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from itertools import cycle
from random import Random

from foliot.clock import SystemClock
from foliot_proof.faults.database import Database
from foliot_proof.faults.fault import OF_THE_SERVER, OUTAGES, InjectedFault, Kind
from foliot_proof.faults.host import SLACK, Host
from foliot_proof.faults.proxy import BOTH, Proxy, Way, Weather
from foliot_proof.faults.witness_log import Times
from foliot_proof.history.facts import Fault, Trouble

_CLOCK = SystemClock()
_PATIENCE = 4.0  # seconds for the commit that is waited for
_IN_WORDS = {
    Kind.RESTART: "the server is stopped at once",
    Kind.HANG: "the server stands still",
    Kind.FULL: "the server has no memory left",
    Kind.SCRIPTFLUSH: "the server forgets its scripts",
}
_SILENT = 0.25  # seconds of delay, in each direction, from which on no call can be answered in time


class Partition:
    """Disturbs the ways to a store. `faults` is the log for the checker, of what concerned everybody."""

    def __init__(self, database: Database, times: Times, chance: Random, lease: float) -> None:
        self.faults: list[Fault] = []
        self._database = database
        self._times = times
        self._chance = chance
        self._lease = lease
        claims, any_ = database.kind.claim_words, database.kind.any_words
        self._commits = cycle((claims, claims, any_))
        # Short; longer than a lease; and so long that the leases of some run out, and those of others last.
        self._outages = cycle(((0.3, 2.0), (1.1 * lease, 1.4 * lease), (0.3, 2.0), (0.7 * lease, lease)))
        self._turn = asyncio.Lock()  # a server is restarted by one at a time

    async def injure(
        self, kind: Kind, host: Host, in_the_middle: Callable[[], Awaitable[None]]
    ) -> InjectedFault:
        """Do it; when this returns, it is over. `in_the_middle` may add to it."""
        if kind in OF_THE_SERVER:
            return await self._trouble(kind)
        proxy = self._database.proxies[host.name]
        if kind is Kind.CUTCOMMIT:
            return await self._cut_commit(host, proxy)
        bites, begin = proxy.bites.total(), self._times.now()
        words, is_felt = self._disturb(kind, proxy)
        if is_felt:
            host.cut_off()
        await self._wait_half(kind)
        await in_the_middle()
        await self._wait_half(kind)
        proxy.clear_up()
        host.reconnect()
        return InjectedFault(kind, host.name, begin, self._times.now(), words, proxy.bites.total() - bites)

    def _disturb(self, kind: Kind, proxy: Proxy) -> tuple[str, bool]:
        """Make it so; in words, and whether no call can succeed meanwhile."""
        if kind is Kind.CUT:
            proxy.change(Weather(refuses=True))
            proxy.cut()
            return "RST, and nobody lets in", True
        if kind is Kind.BLACKHOLE:
            return self._swallow(proxy), True
        if kind is Kind.SLOW:
            delay, rate = self._chance.choice((0.02, 0.06, 0.3, 0.6)), self._chance.choice((2e4, 2e5, 2e6))
            proxy.change(Weather(delay=delay, rate=rate))
            return f"{delay:g} s each way, {rate / 1000:g} kB/s", delay >= _SILENT
        way = self._chance.choice(tuple(Way))
        proxy.close_half(way)
        return f"FIN {way.name.lower().replace('_', ' ')}", True

    def _swallow(self, proxy: Proxy) -> str:
        ways = self._chance.choice((BOTH, BOTH, frozenset({Way.TO_NODE}), frozenset({Way.TO_SERVER})))
        what = "both ways" if ways == BOTH else next(iter(ways)).name.lower().replace("_", " ")
        if self._chance.random() < 0.5:  # noqa: PLR2004 - a coin
            proxy.change(Weather(drops=ways))
            return f"bytes {what} are swallowed"
        proxy.change(Weather(holds=ways))
        return f"bytes {what} are held back, and come later"

    async def _wait_half(self, kind: Kind) -> None:
        """Half of how long it lasts: mostly less than a lease, sometimes more."""
        is_long = kind in (Kind.CUT, Kind.BLACKHOLE) and self._chance.random() < 0.3  # noqa: PLR2004 - some
        least, most = (0.6 * self._lease, 0.9 * self._lease) if is_long else (0.2, 1.0)
        await self._wait(least, most)

    async def _wait(self, least: float, most: float) -> None:
        await _CLOCK.wait(timedelta(seconds=self._chance.uniform(least, most)))

    # -- a commit whose answer is lost -------------------------------------------------------------

    async def _cut_commit(self, host: Host, proxy: Proxy) -> InjectedFault:
        """The server has carried it out, and the node is not told; right afterwards all is well."""
        words = next(self._commits)
        proxy.cut_commit(words)
        begin = self._times.now()
        with suppress(TimeoutError):
            await asyncio.wait_for(proxy.cut_one.wait(), _PATIENCE)
        is_cut, now = proxy.cut_one.is_set(), self._times.now()
        proxy.clear_up()
        if is_cut:
            begin = now
            host.cut_off()
            host.reconnect()
        what = "of a claim" if words == self._database.kind.claim_words else "of whatever came"
        return InjectedFault(
            Kind.CUTCOMMIT, host.name, begin, now, f"the write {what}: its answer", int(is_cut)
        )

    # -- the server --------------------------------------------------------------------------------

    async def _trouble(self, kind: Kind) -> InjectedFault:
        """It crashes, hangs or is full, for less than a lease or more, and then all is well again."""
        async with self._turn:
            begin = self._times.now()
            async with self._database.trouble(kind):
                await self._wait(*next(self._outages))
            end = self._times.now()
            if kind in OUTAGES:
                self.faults.append(Fault(Trouble.PARTITIONED, begin, end, None, SLACK))
            await self._wait(self._lease, 1.5 * self._lease)  # time to be at work again
        return InjectedFault(kind, None, begin, end, _IN_WORDS[kind])
