"""Deletes old history at once, and first shows how much there is.

Nodes delete history by themselves, in small portions. A store waits until it is worth the work: a history may
grow to 2¼ times its limit before it is cut (`Store.prune`). So the shown number may be higher than what one
call deletes.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from foliot.model.attempt import Attempt, Outcome
from foliot.model.policy import Keep
from foliot.model.state import Skip
from foliot.operations.copying.past import every_attempt, every_skip
from foliot.operations.questions import Questions
from foliot.stores.retention import superfluous, superfluous_skips
from foliot.wiring import FullStore

_AT_ONCE = 1000


class Superfluous(NamedTuple):
    """How much more a job has than it keeps."""

    job: str
    attempts: int
    skips: int


async def find_superfluous(questions: Questions, now: datetime) -> list[Superfluous]:
    """The jobs that have more history than they keep, those with the most first."""
    found = []
    async for view in questions.every_job(with_removed=True):
        if view.record is None:
            continue
        keep = view.record.job.policy.keep
        attempts = [attempt async for attempt in every_attempt(questions.store, view.key)]
        skips = [skip async for skip in every_skip(questions.store, view.key)]
        more = Superfluous(view.key, *_count(attempts, skips, keep, now))
        if more.attempts or more.skips:
            found.append(more)
    return sorted(found, key=lambda more: (-more.attempts - more.skips, more.job))


def _count(attempts: list[Attempt], skips: list[Skip], keep: Keep, now: datetime) -> tuple[int, int]:
    since = None if keep.days is None else now - timedelta(days=keep.days)
    opened = list(reversed(attempts))
    history = [
        (order, attempt.finished_at, attempt.outcome is Outcome.SUCCEEDED)
        for order, attempt in enumerate(opened, start=1)
        if not attempt.is_open
    ]
    ends = [skip.last for skip in reversed(skips)]
    return len(superfluous(history, len(opened), keep, since)), len(superfluous_skips(ends, keep, since))


async def prune_all(store: FullStore, now: datetime) -> int:
    """Delete all old history that the store offers. Returns how many attempts and skips."""
    forgotten = 0
    while True:
        pruned = await store.prune(now, _AT_ONCE)
        forgotten += pruned.forgotten
        if not pruned.more:
            return forgotten
