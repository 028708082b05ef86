"""Which episodes the stored attempts have, and whether each was told, under one id, and nothing else."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import groupby
from typing import Any, NamedTuple

from foliot.clock import SystemClock
from foliot.model.attempt import Attempt, Outcome
from foliot.protocols import AlertQuery, AlertState, ChannelAlert, RunQuery
from foliot.wiring import open_store
from foliot_proof.alert_loop.life import CHANNELS, jobs

_ALL = 100_000_000
_LONG = timedelta(minutes=10)
_Name = tuple[str, str, str]


class Finding(NamedTuple):
    """What came of it: what is wrong, and how much there was."""

    problems: tuple[str, ...]
    attempts: int
    lost: int
    episodes: int
    messages: int
    again: int


def judge(url: str, sent: Iterable[Mapping[str, Any]]) -> Finding:
    """Look at the store and at what was received."""
    attempts, outbox = asyncio.run(_read(url))
    received = list(sent)
    owed = {job.key: list(owed_alerts(attempts[job.key])) for job in jobs()}
    problems = (*_unsettled(outbox), *find_problems(owed, received))
    rows = [attempt for found in attempts.values() for attempt in found]
    return Finding(
        problems,
        len(rows),
        sum(attempt.outcome is Outcome.LOST for attempt in rows),
        sum(kind == "failure" for found in owed.values() for kind, _ in found),
        len(received),
        len(received) - len({(alert["channel"], alert["id"]) for alert in received}),
    )


async def _read(url: str) -> tuple[dict[str, tuple[Attempt, ...]], tuple[ChannelAlert, ...]]:
    async with open_store(url, SystemClock(), lease=_LONG) as store:
        attempts = {job.key: tuple(await store.runs(RunQuery(job=job.key, limit=_ALL))) for job in jobs()}
        return attempts, tuple(await store.alerts(AlertQuery(limit=_ALL)))


def owed_alerts(attempts: Iterable[Attempt]) -> Iterator[tuple[str, str]]:
    """The kind of each alert that is owed, and the attempt that it is about; in order.

    One run is open at a time, so runs end in the order of their occurrences.
    """
    in_order = sorted(attempts, key=lambda attempt: (attempt.scheduled_for, attempt.number))
    is_failing = False
    for _, tries in groupby(in_order, key=lambda attempt: attempt.run_key):
        last = list(tries)[-1]
        name = f"{last.run_key}#{last.number}"
        if last.outcome is Outcome.SUCCEEDED and is_failing:
            yield "recovery", name
        elif last.outcome is not Outcome.SUCCEEDED and not is_failing:
            yield "failure", name
        is_failing = last.outcome is not Outcome.SUCCEEDED


def find_problems(
    owed: Mapping[str, Sequence[tuple[str, str]]], received: Iterable[Mapping[str, Any]]
) -> Iterator[str]:
    """What was not told on each channel, what was told under several ids, and what is not true."""
    ids: dict[_Name, set[str]] = defaultdict(set)
    channels: dict[_Name, set[str]] = defaultdict(set)
    for alert in received:
        name = alert["job"], alert["kind"], f"{alert['run']}#{alert['attempt']}"
        ids[name].add(alert["id"])
        channels[name].add(alert["channel"])
    expected = {(job, *one) for job, found in owed.items() for one in found}
    for name in sorted(expected):
        for channel in sorted(set(CHANNELS) - channels[name]):
            yield f"ALERT_LOST {' '.join(name)} was not told to {channel}"
    for name, seen in sorted(ids.items()):
        if len(seen) > 1:
            yield f"ALERT_RENAMED {' '.join(name)}: {sorted(seen)}"
        if name not in expected:
            yield f"ALERT_INVENTED {' '.join(name)}"


def _unsettled(outbox: Iterable[ChannelAlert]) -> Iterator[str]:
    for kept in outbox:
        if kept.state is not AlertState.SENT:
            yield f"ALERT_LOST {kept.alert.id} for {kept.channel} is {kept.state}"
