"""Following a repository: pull, declare what is new, and say how the source fares.

Whatever fails, what was declared last stays, and it is tried again at the next interval.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from foliot.app.part import Workplace
from foliot.doors.rollcron.boot import ask_after_boot, this_boot_request
from foliot.doors.rollcron.config import Config
from foliot.doors.rollcron.entrance import Entrance
from foliot.doors.rollcron.executor import RepositoryExecutor
from foliot.doors.rollcron.messages import (
    Failures,
    Waiting,
    short,
    tell_dropped,
    tell_next_runs,
    tell_refused_users,
    written,
)
from foliot.doors.rollcron.troubles import Troubles
from foliot.engine.convergence import Wait, next_wait
from foliot.engine.reconciler import names_of, reconcile
from foliot.errors import FoliotError, StaleRevisionError, StoreError
from foliot.model.codec import encode_job
from foliot.model.job import Job
from foliot.model.view import SourceHealth
from foliot.observability.log import tell
from foliot.protocols import Snapshot
from foliot.sources.git.follow import GitSource
from foliot.sources.git.layout import Layout

_BETWEEN_MISSES = 10.0
Offer = Callable[[Config, Layout, Sequence[Job]], Awaitable[None]]


class Following:
    """One stay with a host, on the engine's loop."""

    def __init__(  # noqa: PLR0913 - what the door has, and what takes its channels
        self,
        source: GitSource,
        host: Workplace,
        interval: timedelta,
        given: Mapping[str, Any],
        *,
        kind: str,
        offer: Offer,
    ) -> None:
        self._source = source
        self._offer = offer
        self.configs: dict[str, Config] = {}  # by revisions that were read
        self._is_offered = False
        self._troubles = Troubles(source.name, host)
        self._kind = kind  # of the repository's actions: nodes that follow it serve this kind
        self._wait: Wait | None = None
        self._has_joined = False  # from then on, one of these nodes is this one
        self._host = host
        self._interval = interval
        self._loop = asyncio.get_running_loop()
        self._asked = asyncio.Event()
        self._missed_at: float | None = None
        self._snapshot = Snapshot("", ())
        self.titles: dict[str, str] = {}  # of what is in effect, and of what was before: it may still run
        self._was_failing = False
        self._is_declared = False
        self._has_asked = False  # for the runs of this boot
        self._failures = Failures(source.name)
        self._waiting = Waiting(source.name, host.clock)
        self._dropped = 0
        self.executor = RepositoryExecutor(
            Entrance(source.snapshots, self._miss, source.layout.root, given["run_as"]),
            source.snapshots,
            self._pass_over,
            follow_log=host.follow_log,
            **given,
            # The last heartbeat may lie a third of the lease back, silence is noticed a quarter of the leash
            # late, and ending takes 5 s: with a lease of 30 s, all is gone 2.5 s before another may begin.
            leash=host.lease / 3,
        )

    @property
    def name(self) -> str:
        """The name of the source."""
        return self._source.name

    # -- the cycle ---------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Take the newest revision; if it cannot be had, the last that was good."""
        known = await self._host.store.revision(self.name)
        self._take(await self._source.start(commit_of(known)))
        await self._offer_channels()
        status = self._source.status
        tell(
            "source_followed",
            source=self.name,
            repository=status.repository,
            revision=short(self._snapshot.revision),
            jobs=len(self._snapshot.jobs),
        )
        if status.error is None:
            await self._declare(known)
        else:
            self._failures.tell(status, status.error)
            if known is None:  # no better answer than the cache
                await self._declare(known)
        self._was_failing = status.error is not None
        if self._was_failing:
            self._asked.set()  # what took too long for a start may be had at once
        tell_next_runs(self._snapshot.jobs, self._host.clock.now())
        await self._ask_after_boot()
        await self._write_status()
        await self._troubles.note(status)

    async def live(self) -> None:
        """Follow, until cancelled."""
        self._has_joined = True
        while True:
            await self._host.clock.wait(self._interval, self._asked)
            self._asked.clear()
            await self._turn()

    async def _turn(self) -> None:
        """Look once. Whatever fails is told, and the next interval tries again."""
        try:
            if await self._look():
                await self._write_status()
                await self._troubles.note(self._source.status)
        except StoreError:
            pass  # the engine tells of a store that is away
        except Exception as error:  # noqa: BLE001 - a fault of ours must not end the following for good
            tell("source_failed", error, source=self.name, error=f"{type(error).__name__}: {error}")

    async def _look(self) -> bool:
        """Pull, and declare what is new; whether there is a status to write."""
        try:
            # Asked before the pull: what is pulled after that is at least as new as what the store has.
            known = await self._host.store.revision(self.name)
            moved = await self._source.refresh(commit_of(known))
            if moved is not None:
                self._take(moved)
                if known == revision_of(moved):
                    self._host.handle_events(
                        ()
                    )  # another was first: what it has declared can be run here, too, now
            if not self._is_offered:
                await self._offer_channels()
            if not self._is_declared or known is None or self._is_newer_than(known):
                await self._declare(known)
            await self._ask_after_boot()
        except StoreError:
            return False  # the engine tells of a store that is away
        except FoliotError as error:
            self._was_failing = True
            self._failures.tell(self._source.status, error)
        except Exception as error:  # noqa: BLE001 - a fault of ours must not end the following for good
            tell("source_failed", error, source=self.name, error=f"{type(error).__name__}: {error}")
        else:
            if self._was_failing:
                tell("source_recovered", source=self.name, revision=short(self._snapshot.revision))
            self._was_failing = False
            self._failures.forget()
        return True

    def _take(self, snapshot: Snapshot) -> None:
        named = {job.key: job.action.data["name"] for job in snapshot.jobs}
        before = {job.key: job.action.data["name"] for job in self._snapshot.jobs}
        self.titles = before | named
        self._snapshot, self._is_declared, self._is_offered = snapshot, False, False
        self.configs = {snapshot.revision: self.configs.get(snapshot.revision, Config())}
        self._troubles.follow(snapshot.jobs)
        tell_refused_users(self.name, snapshot.jobs, self.executor.run_as)

    async def _offer_channels(self) -> None:
        config = self.configs.get(self._snapshot.revision, Config())
        await self._offer(config, self._source.layout, self._snapshot.jobs)
        self._is_offered = True

    async def _declare(self, known: str | None) -> None:
        """Make the store agree, once for each revision; if somebody else has just changed it, the next turn.

        What another daemon has declared since is left alone, unless it is older: two who see different things
        of one commit, because of their zones, would undo each other's for ever.
        """
        revision, pulled = revision_of(self._snapshot), self._snapshot.revision
        if known == revision:
            self._is_declared = True
            return
        if await self._is_behind(pulled, commit_of(known)):
            return
        host, declared = self._host, {job.name for job in self._snapshot.jobs}
        before = await names_of(host.store, self.name)
        with suppress(StaleRevisionError):
            events = await reconcile(
                host.store,
                self.name,
                self._snapshot._replace(revision=revision),
                await host.store.now(),
                base=known,
            )
            self._is_declared = True
            gone = [name for name in before if name not in declared]
            if len(gone) * 2 > len(before):
                tell_dropped(self.name, gone, len(before))
                self._dropped = len(gone)
                await self._troubles.note_dropped(len(gone), len(before), revision, host.clock.now())
            if known is not None:
                tell("source_moved", source=self.name, revision=short(revision), jobs=len(declared))
                tell_next_runs(self._snapshot.jobs, host.clock.now())
            host.handle_events(events)

    async def _ask_after_boot(self) -> None:
        """Once for each start of the daemon, as soon as its jobs are declared."""
        if self._is_declared and not self._has_asked:
            await ask_after_boot(self._host, self._snapshot.jobs, this_boot_request())
            self._has_asked = True

    async def _is_behind(self, pulled: str, known: str | None) -> bool:
        """Whether to wait for the commit that the store has, instead of declaring the one that was pulled."""
        before, self._wait = (
            self._wait,
            next_wait(
                self._wait,
                pulled,
                known,
                is_newer=self._source.goes_on or self._source.follows_rewrites,
                is_alone=not await self._has_company(),
                now=self._host.clock.monotonic(),
            ),
        )
        if self._wait is not None and (before is None or before.commit != self._wait.commit):
            tell("source_behind", source=self.name, declared=short(known), in_effect=short(pulled))
        return self._wait is not None

    async def _has_company(self) -> bool:
        """Whether another node follows the repository, as far as the store knows."""
        nodes, now = await self._host.store.nodes(), await self._host.store.now()
        following = [view for view in nodes if view.until > now and self._kind in (view.node.kinds or ())]
        return len(following) > self._has_joined

    def _is_newer_than(self, known: str) -> bool:
        """Another daemon, which was behind, has taken back what was declared."""
        return self._source.goes_on and commit_of(known) != self._snapshot.revision

    async def _write_status(self) -> None:
        """Report the status of the source, to the metrics and to the store."""
        status, dropped, self._dropped = self._source.status, self._dropped, 0
        jobs = len(self._snapshot.jobs)
        self._host.watch(SourceHealth(self.name, status.failures, status.pulled_at, jobs, dropped))
        with suppress(StoreError):  # the engine tells of a store that is away
            await self._host.store.write_source_status(self.name, written(self._source.status))

    # -- from outside ------------------------------------------------------------------------------

    def pull_now(self) -> None:
        self._loop.call_soon_threadsafe(self._asked.set)

    def _pass_over(self, jobs: Sequence[Job]) -> None:
        waiting = [job for job in jobs if self.executor.run_as.refusal(job.action.data) is None]
        if waiting:
            self._waiting.note(waiting, self._snapshot.revision)
            self._miss()

    def _miss(self) -> None:
        """A run finds no files: the cache was emptied, or another daemon knows more. Pull, now and then."""
        now = self._host.clock.monotonic()
        if self._missed_at is None or now - self._missed_at >= _BETWEEN_MISSES:
            self._missed_at = now
            self._asked.set()

    async def close(self) -> None:
        await self.executor.close()
        await self._source.close()


def commit_of(declared: str | None) -> str | None:
    """The commit of what was declared: a sign of what its jobs say stands behind it."""
    return None if declared is None else declared.partition("+")[0]


def revision_of(snapshot: Snapshot) -> str:
    """The commit, and a sign of what its jobs say: `local` may mean another zone on the next start."""
    said = hashlib.sha256("\n".join(encode_job(job) for job in snapshot.jobs).encode())
    return f"{snapshot.revision}+{said.hexdigest()[:8]}"
