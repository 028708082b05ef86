"""The door itself: a repository that is followed, as a part of an application.

    every interval, or when asked:   what does the store have? ─▶ pull ─▶ parse ─▶ snapshots ─▶ declare

Scheduling is the engine's; this declares jobs, brings their executor, and says how the source fares.
Whatever fails, what was declared last stays, and it is tried again at the next interval.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from foliot.alerts.channel import Channel
from foliot.alerts.config import read_channel
from foliot.app.alerts import AlertsPart
from foliot.app.part import Workplace
from foliot.doors.rollcron.config import Entries, read_file
from foliot.doors.rollcron.entrance import Entrance
from foliot.doors.rollcron.executor import RepositoryExecutor
from foliot.doors.rollcron.tidings import Failures, Waiting, short, tell_dropped, tell_next_runs, written
from foliot.doors.rollcron.troubles import Troubles, channels_of
from foliot.engine.convergence import Wait, next_wait
from foliot.engine.reconciler import names_of, reconcile
from foliot.errors import FoliotError, StaleRevisionError, StoreError
from foliot.executors.shell.executor import NO_SECRETS
from foliot.executors.shell.secrets import HostSecrets
from foliot.model.alert import Alert
from foliot.model.codec import encode_job
from foliot.model.decision import Event
from foliot.model.job import Job
from foliot.model.view import SourceHealth
from foliot.observability.log import tell
from foliot.protocols import Executor, Snapshot
from foliot.sources.git.follow import GitSource
from foliot.sources.git.layout import Layout

_BETWEEN_MISSES = 10.0
OfferChannels = Callable[[Entries, Layout, Sequence[Job]], Awaitable[None]]


class Rollcron:
    """Follows a repository, and runs the jobs of its `rollcron.yaml`."""

    def __init__(  # noqa: PLR0913 - what to follow, where to keep it, and what to give to its jobs
        self,
        repository: str,
        *,
        cache: Path,
        interval: timedelta = timedelta(seconds=60),
        follow_rewrites: bool = False,
        environment: Mapping[str, str] | None = None,
        secrets: HostSecrets = NO_SECRETS,
        channels: Mapping[str, Channel] | None = None,
        smtp: str | None = None,
    ) -> None:
        """Channels of the operator replace those of the file. `smtp`: the mail server of the latter."""
        self._channels = dict(channels or {})
        self._smtp = smtp
        self._alerts = AlertsPart(self._channels)
        self._repository = repository
        self._cache = cache
        self._interval = interval
        self._follow_rewrites = follow_rewrites
        self._given = {"environment": environment, "secrets": secrets}
        self._life: _Following | None = None

    async def begin(self, host: Workplace) -> dict[str, Executor]:
        """Clone or pull, declare what is there, and be ready to run it."""
        source = GitSource(
            self._repository,
            self._cache,
            self._parse,
            clock=host.clock,
            follow_rewrites=self._follow_rewrites,
            store_file=host.store.traits.file,
        )
        kind = f"shell:{source.name}"
        delivering = await self._alerts.begin(host)
        self._life = life = _Following(
            source, host, self._interval, self._given, kind=kind, offer=self._offer
        )
        await life.begin()
        return {kind: life.executor, **delivering}

    def _parse(self, text: bytes, revision: str) -> Sequence[Job]:
        assert self._life is not None  # noqa: S101 - `begin` has made it
        config = read_file(text, source=self._life.name, revision=revision)
        self._life.channels[revision] = config.channels
        return config.jobs

    async def _offer(self, entries: Entries, layout: Layout, jobs: Sequence[Job]) -> None:
        """Deliver for the channels of the file. The operator may have others under their names."""
        own = {
            name: self._channels.get(name.removeprefix(f"{layout.slug}."))
            or read_channel("x", entry, trusted=False, folder=folder_in(layout), smtp=self._smtp)
            for name, entry in entries.items()
        }
        for name in sorted(channels_of(jobs) - own.keys() - self._channels.keys()):
            tell("channel_unusable", channel=name, missing="neither the file nor --channels defines it")
        await self._alerts.offer(own)

    async def live(self) -> None:
        """Follow, and deliver alerts, until cancelled."""
        if self._life is not None:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._life.live())
                both.create_task(self._alerts.live())

    def on_events(self, events: Sequence[Event]) -> None:
        self._alerts.on_events(events)

    def on_trouble(self, error: StoreError) -> None:
        self._alerts.on_trouble(error)

    def pull_now(self) -> None:
        """Do not wait for the interval to pass; from any thread."""
        if self._life is not None:
            self._life.pull_now()

    def pulls(self) -> dict[str, Callable[[], None]]:
        """What pulls now, by the name of the source."""
        return {} if self._life is None else {self._life.name: self.pull_now}

    async def close(self) -> None:
        """Let go of everything."""
        await self._alerts.close()
        if self._life is not None:
            await self._life.close()
            self._life = None

    def title(self, job: str) -> str | None:
        """The display name of a job."""
        return None if self._life is None else self._life.titles.get(job)


class _Following:
    """One stay with a host, on the engine's loop."""

    def __init__(  # noqa: PLR0913 - what the door has, and what takes its channels
        self,
        source: GitSource,
        host: Workplace,
        interval: timedelta,
        given: Mapping[str, Any],
        *,
        kind: str,
        offer: OfferChannels,
    ) -> None:
        self._source = source
        self._offer = offer
        self.channels: dict[str, Entries] = {}  # of the file, by revisions that were read
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
        self._failures = Failures(source.name)
        self._waiting = Waiting(source.name, host.clock)
        self._dropped = 0
        self.executor = RepositoryExecutor(
            Entrance(source.snapshots, self._miss),
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
            if known is None:  # nobody knows better than the cache
                await self._declare(known)
        self._was_failing = status.error is not None
        if self._was_failing:
            self._asked.set()  # what took too long for a start may be had at once
        tell_next_runs(self._snapshot.jobs, self._host.clock.now())
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
                if known == _revision_of(moved):
                    self._host.handle_events(
                        ()
                    )  # another was first: what it has declared can be run here, too, now
            if not self._is_offered:
                await self._offer_channels()
            if not self._is_declared or known is None or self._is_newer_than(known):
                await self._declare(known)
        except StoreError:
            return False  # the engine tells of a store that is away
        except FoliotError as error:
            self._was_failing = True
            self._failures.tell(self._source.status, error)
        except Exception as error:  # noqa: BLE001 - a fault of ours must not end the following for good
            tell("source_failed", error, source=self.name, error=f"{type(error).__name__}: {error}")
        else:
            if self._was_failing:
                tell("source_answers", source=self.name, revision=short(self._snapshot.revision))
            self._was_failing = False
            self._failures.forget()
        return True

    def _take(self, snapshot: Snapshot) -> None:
        named = {job.key: job.action.data["name"] for job in snapshot.jobs}
        before = {job.key: job.action.data["name"] for job in self._snapshot.jobs}
        self.titles = before | named
        self._snapshot, self._is_declared, self._is_offered = snapshot, False, False
        self.channels = {snapshot.revision: self.channels.get(snapshot.revision, {})}
        self._troubles.follow(snapshot.jobs)

    async def _offer_channels(self) -> None:
        entries = self.channels.get(self._snapshot.revision, {})
        await self._offer(entries, self._source.layout, self._snapshot.jobs)
        self._is_offered = True

    async def _declare(self, known: str | None) -> None:
        """Make the store agree, once for each revision; if somebody else has just changed it, the next turn.

        What another daemon has declared since is left alone, unless it is older: two who see different things
        of one commit, because of their zones, would undo each other's for ever.
        """
        revision, pulled = _revision_of(self._snapshot), self._snapshot.revision
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
        """Say how the source fares, to the metrics and to whoever asks the store."""
        status, dropped, self._dropped = self._source.status, self._dropped, 0
        jobs = len(self._snapshot.jobs)
        self._host.watch(SourceHealth(self.name, status.failures, status.pulled_at, jobs, dropped))
        with suppress(StoreError):  # the engine tells of a store that is away
            await self._host.store.write_source_status(self.name, written(self._source.status))

    # -- from outside ------------------------------------------------------------------------------

    def pull_now(self) -> None:
        self._loop.call_soon_threadsafe(self._asked.set)

    def _pass_over(self, jobs: Sequence[Job]) -> None:
        self._waiting.note(jobs, self._snapshot.revision)
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


def folder_in(layout: Layout) -> Callable[[Alert], Path]:
    """Where a command of the repository starts: in the present files of the job that an alert is about."""

    def folder_of(alert: Alert) -> Path:
        link = layout.link(alert.job.partition("/")[2])
        others = (path for path in layout.links().values() if path.is_dir())
        return link if link.is_dir() else next(others, layout.root)

    return folder_of


def commit_of(declared: str | None) -> str | None:
    """The commit of what was declared: a sign of what its jobs say stands behind it."""
    return None if declared is None else declared.partition("+")[0]


def _revision_of(snapshot: Snapshot) -> str:
    """The commit, and a sign of what its jobs say: `local` may mean another zone on the next start."""
    said = hashlib.sha256("\n".join(encode_job(job) for job in snapshot.jobs).encode())
    return f"{snapshot.revision}+{said.hexdigest()[:8]}"
