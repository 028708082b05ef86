"""Chains at work: what waits in the outbox for a job becomes a request for a run of it.

    outbox row after:shop/report, of run shop/load@03:00 ──▶ request after-9f2c… of shop/report ──▶ settled

Any number of nodes may do so at the same time, and a node may die in between: the request has the same name
each time, and a request counts once. So each run of the parent has one run of the child.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta

from foliot.app.follow import follow
from foliot.app.part import Workplace
from foliot.engine.plan_command import Follow
from foliot.errors import StoreError
from foliot.model.attempt import Trigger
from foliot.model.chain import CHANNEL, request_after
from foliot.model.decision import Event, Happening
from foliot.model.events import HERDS, parts_of
from foliot.model.job import Job
from foliot.model.json_text import write_json
from foliot.model.outbox import AlertState, ChannelAlert
from foliot.protocols import Executor

_POLL = timedelta(seconds=2)
# Rows that are asked for before they are settled: fewer than a state remembers requests.
_AT_ONCE = 16


class ChainsPart:
    """Asks for the runs that follow others. Without a job that is followed, it looks once."""

    def __init__(self, poll: timedelta = _POLL) -> None:
        self._poll = poll
        self._host: Workplace | None = None
        self._news = asyncio.Event()
        self._has_chains = asyncio.Event()

    def take(self, jobs: Sequence[Job]) -> None:
        """These are declared now. What waits for a job that is followed no more is still asked for."""
        if any(job.policy.then for job in jobs):
            self._has_chains.set()

    async def begin(self, host: Workplace) -> Mapping[str, Executor]:
        """There is nothing to declare."""
        self._host = host
        return {}

    async def live(self) -> None:
        """Look when a run has ended, and now and then: it may have ended on a node that has died.

        Without a chain, one look is enough: rows may be left of chains that are gone.
        """
        assert self._host is not None  # noqa: S101 - `begin` was called
        while True:
            self._news.clear()
            with suppress(StoreError):  # the engine tells of a store that is away
                await ask_for_followers(self._host)
                await self._has_chains.wait()
            await self._host.clock.wait(self._poll, self._news)

    def on_events(self, events: Sequence[Event]) -> None:
        """A run may be over."""
        if self._has_chains.is_set():
            found = (event for part in parts_of(events) if not isinstance(part, HERDS) for event in part)
            if any(event.what is Happening.ENDED for event in found):
                self._news.set()

    def on_trouble(self, error: StoreError) -> None:
        """The engine tells of it."""

    async def close(self) -> None:
        """Nothing is held."""

    def title(self, job: str) -> None:
        """It has no jobs of its own."""


async def ask_for_followers(host: Workplace) -> None:
    """Turn all rows that wait for jobs into requests."""
    for channel in sorted(await host.store.waiting_channels()):
        if channel.startswith(CHANNEL):
            while rows := await host.store.waiting(channel, _AT_ONCE):
                job = channel.removeprefix(CHANNEL)
                if not all([await follow(host, job, _command(row)) for row in rows]):
                    break  # they wait for a process that can read the job
                ids = [row.alert.id for row in rows]
                await host.store.settle(channel, ids, AlertState.SENT, await host.store.now())


def _command(row: ChannelAlert) -> Follow:
    run, outcome = row.alert.run or "", row.alert.outcome
    words = "has ended" if outcome is None else outcome.replace("_", " ")
    payload = write_json({"after": run})
    return Follow(request_after(run), Trigger.AFTER, f"after {run}, which {words}", payload)
