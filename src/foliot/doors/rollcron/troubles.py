"""Tells channels how a repository fares: those that its jobs tell of kind `source`.

A file or history that is refused is told at once, because it stays so until a person acts. A remote that does
not answer is told after ten minutes. A revision that drops most jobs is told once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from foliot.app.channel_memory import Trouble, plan_notice, plan_trouble, plan_well
from foliot.app.delivery import key_of
from foliot.app.part import Workplace
from foliot.errors import FoliotError, JobNotFoundError, StoreError
from foliot.model.alert import AlertKind
from foliot.model.decision import Decision
from foliot.model.job import Job
from foliot.model.state import Record
from foliot.sources.git.errors import GitError, HistoryRewrittenError, TreeRefusedError
from foliot.sources.git.follow import SourceStatus

_PATIENCE = timedelta(minutes=10)


class Troubles:
    """What the channels of one source are told about it."""

    def __init__(self, source: str, host: Workplace) -> None:
        self._source = source
        self._host = host
        self._channels: frozenset[str] = frozenset()
        self._may_go_on = True  # an earlier life of this node may have told of trouble

    def follow(self, jobs: Sequence[Job]) -> None:
        """These jobs are in effect. If none of them tells a channel, those of before are told."""
        self._channels = channels_of(jobs, AlertKind.SOURCE) or self._channels

    async def note(self, status: SourceStatus) -> None:
        """The source was looked at."""
        error, revision, now = status.error, status.revision, await self._host.store.now()
        if error is None:
            if self._may_go_on:
                await self._update(lambda record: plan_well(record, self._source, revision, now))
            self._may_go_on = False
            return
        since = status.failing_since or now
        if _is_refusal(error) or now - since >= _PATIENCE:
            trouble = Trouble(self._source, f"{error}; what was good before stays in effect", since, revision)
            await self._update(lambda record: plan_trouble(record, trouble, now))
            self._may_go_on = True

    async def note_dropped(self, dropped: int, before: int, revision: str, now: datetime) -> None:
        """Most jobs are gone at once."""
        why = f"its new revision drops {dropped} of {before} jobs"
        notice = Trouble(self._source, why, now, revision)
        await self._update(lambda record: plan_notice(record, notice, now))

    async def _update(self, decide: Callable[[Record], Decision]) -> None:
        for channel in sorted(self._channels):
            # No node has ever had the channel; or the store is away, which the engine tells.
            with suppress(JobNotFoundError, StoreError):
                await self._host.store.update(key_of(channel), decide)


def channels_of(jobs: Sequence[Job], kind: AlertKind | None = None) -> frozenset[str]:
    """The channels that jobs tell; with a kind, those that they tell of it."""
    told = (job.policy.notify for job in jobs)
    return frozenset(name for n in told if n is not None and (kind is None or kind in n.on) for name in n.to)


def _is_refusal(error: FoliotError) -> bool:
    return not isinstance(error, GitError) or isinstance(error, TreeRefusedError | HistoryRewrittenError)
