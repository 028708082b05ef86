"""Counts what many lives have left: each occurrence once, each effect recorded, nothing open."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from foliot.clock import SystemClock
from foliot.model.attempt import Attempt, Outcome, Trigger
from foliot.model.state import Skip
from foliot.protocols import RunQuery, SkipQuery
from foliot.wiring import flaws_of, open_store
from foliot_proof.kill_loop.life import BEGIN, SOURCE, STEP, jobs
from foliot_proof.kill_loop.revision import Found, found, notes_of, revision_problems

_ALL = 100_000_000
_LONG = timedelta(minutes=10)  # calls may take up to a quarter of a lease, and there is much to read


class Effect(NamedTuple):
    """A line that a job wrote."""

    run_key: str
    number: int
    token: int
    node: str


class Finding(NamedTuple):
    """What came of it: what is wrong, and how much there was."""

    problems: tuple[str, ...]
    attempts: int
    effects: int
    lost: int
    occurrences: int


def judge(url: str, witness: Path, lives: int) -> Finding:
    """Look at the store and at what the jobs wrote."""
    attempts, skips, there = asyncio.run(_read(url))
    revisions = notes_of(witness).read_text().splitlines()
    effects = [_effect(line) for line in witness.read_text().splitlines()] if witness.exists() else []
    return Finding(
        (
            *flaws_of(url),
            *revision_problems(there, revisions),
            *find_problems(attempts, skips, effects, lives),
        ),
        len(attempts),
        len(effects),
        sum(attempt.outcome is Outcome.LOST for attempt in attempts),
        lives * len(jobs()),
    )


async def _read(url: str) -> tuple[Sequence[Attempt], Sequence[Skip], Found]:
    clock = SystemClock()
    async with open_store(url, clock, lease=_LONG) as store:
        attempts = [a for job in jobs() for a in await store.runs(RunQuery(job=job.key, limit=_ALL))]
        skips = [skip for job in jobs() for skip in await store.skips(SkipQuery(job.key, limit=1_000_000))]
        return attempts, skips, await found(store, SOURCE)


def _effect(line: str) -> Effect:
    run_key, number, token, node = line.rsplit(" ", 3)
    return Effect(run_key, int(number), int(token), node)


def find_problems(
    attempts: Iterable[Attempt], skips: Iterable[Skip], effects: Sequence[Effect], lives: int
) -> Iterator[str]:
    """All that cannot be."""
    rows = {attempt.key: attempt for attempt in attempts}
    yield from _uncounted(rows.values(), skips, lives)
    yield from _open(rows.values())
    yield from _tokens(rows.values())
    yield from _effects(rows, effects)


def _uncounted(attempts: Iterable[Attempt], skips: Iterable[Skip], lives: int) -> Iterator[str]:
    """Each occurrence is that of one run, or covered by one, or skipped; and only one of these."""
    counts: dict[str, Counter[int]] = defaultdict(Counter)
    for a in attempts:
        if a.number == 1 and a.trigger is Trigger.SCHEDULE:
            counts[a.job].update(_between(a.covers_from or a.scheduled_for, a.scheduled_for))
    for skip in skips:
        counts[skip.job].update(_between(skip.first, skip.last))
    for job in jobs():
        for life in range(1, lives + 1):
            if (found := counts[job.key][life]) != 1:
                yield f"{'MISSED' if not found else 'DUP_SLOT'} {job.key} life {life}: counted {found} times"


def _between(first: datetime, last: datetime) -> range:
    return range((first - BEGIN) // STEP, (last - BEGIN) // STEP + 1)


def _open(attempts: Iterable[Attempt]) -> Iterator[str]:
    yield from (f"STUCK {a.key} is {a.state}" for a in attempts if a.is_open)


def _tokens(attempts: Iterable[Attempt]) -> Iterator[str]:
    """Tokens of a job are never used twice, and grow with time."""
    by_job: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in attempts:
        if attempt.claimed_at is not None:
            by_job[attempt.job].append(attempt)
    for job, claimed in by_job.items():
        claimed.sort(key=lambda a: a.token)
        for before, after in pairwise(claimed):
            if before.token == after.token:
                yield f"DUP_CLAIM {job}: token {after.token} was given twice"
            elif before.claimed_at and after.claimed_at and before.claimed_at > after.claimed_at:
                yield f"TOKEN_NOT_MONOTONIC {job}: {after.token} was claimed before {before.token}"


def _effects(rows: dict[tuple[str, int], Attempt], effects: Sequence[Effect]) -> Iterator[str]:
    """No effect without its row, none twice under one token, no success without an effect."""
    seen = Counter((effect.run_key, effect.number) for effect in effects)
    yield from (f"DUP_EFFECT {key} was carried out {n} times" for key, n in seen.items() if n > 1)
    for effect in effects:
        row = rows.get((effect.run_key, effect.number))
        if row is None:
            yield f"UNRECORDED_EFFECT {effect}"
        elif (row.token, row.node) != (effect.token, effect.node):
            yield f"TOKEN_MISMATCH {effect}: the row has {row.token}, {row.node}"
    for key, row in rows.items():
        if row.outcome is Outcome.SUCCEEDED and key not in seen:
            yield f"FABRICATED {key} succeeded, and nothing was done"
