"""The door itself: a repository that is followed, as a part of an application.

    every interval, or when asked:   what does the store have? ─▶ pull ─▶ parse ─▶ snapshots ─▶ declare

Scheduling is the engine's; this declares jobs, brings their executor, and says how the source fares.
Whatever fails, what was declared last stays, and it is tried again at the next interval.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from foliot.alerts.channel import Channel
from foliot.alerts.config import read_channel
from foliot.app.alerts import AlertsPart
from foliot.app.chains import ChainsPart
from foliot.app.part import Workplace
from foliot.doors.rollcron.config import Config, read_file
from foliot.doors.rollcron.following import Following
from foliot.doors.rollcron.troubles import channels_of
from foliot.errors import StoreError
from foliot.executors.shell.executor import NO_SECRETS
from foliot.executors.shell.order import NOBODY_ELSE
from foliot.executors.shell.run_as import RunAs
from foliot.executors.shell.secrets import HostSecrets
from foliot.model.alert import Alert
from foliot.model.decision import Event
from foliot.model.job import Job
from foliot.observability.log import tell
from foliot.protocols import Executor
from foliot.sources.git.beside import Files
from foliot.sources.git.follow import GitSource
from foliot.sources.git.layout import Layout

_ROOTS = "its command would run as root on a daemon with --run-as: define it with --channels on the node"


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
        run_as: RunAs = NOBODY_ELSE,
        channels: Mapping[str, Channel] | None = None,
        groups: Mapping[str, int] | None = None,
        smtp: str | None = None,
        trusted: tuple[str, ...] = (),
    ) -> None:
        """Channels and groups of the operator replace those of the file. `smtp`: the mail server of these."""
        self._groups = dict(groups or {})
        self._limit: Callable[[Mapping[str, int]], None] = lambda _: None
        self._channels = dict(channels or {})
        self._smtp = smtp
        self._alerts = AlertsPart(self._channels)
        self._chains = ChainsPart()
        self._repository = repository
        self._cache = cache
        self._interval = interval
        self._follow_rewrites = follow_rewrites
        self._trusted = trusted
        self._run_as = run_as
        self._given = {"environment": environment, "secrets": secrets, "run_as": run_as}
        self._life: Following | None = None

    async def begin(self, host: Workplace) -> dict[str, Executor]:
        """Clone or pull, declare what is there, and be ready to run it."""
        source = GitSource(
            self._repository,
            self._cache,
            self._parse,
            clock=host.clock,
            follow_rewrites=self._follow_rewrites,
            store_file=host.store.traits.file,
            trusted=self._trusted,
        )
        kind = f"shell:{source.name}"
        self._limit = host.limit
        delivering = await self._alerts.begin(host)
        await self._chains.begin(host)
        self._life = life = Following(source, host, self._interval, self._given, kind=kind, offer=self._offer)
        await life.begin()
        return {kind: life.executor, **delivering}

    def _parse(self, text: bytes, revision: str, files: Files) -> Sequence[Job]:
        assert self._life is not None  # noqa: S101 - `begin` has made it
        config = read_file(text, source=self._life.name, revision=revision, files=files)
        self._life.configs[revision] = config
        return config.jobs

    async def _offer(self, config: Config, layout: Layout, jobs: Sequence[Job]) -> None:
        """Deliver for channels of the file, and limit its groups. The operator may say otherwise."""
        limits = {
            name: self._groups.get(name.removeprefix(f"{layout.slug}."), count)
            for name, count in config.groups.items()
        }
        self._limit(limits | self._groups)
        refused = self._refused(config, layout)
        own = {
            name: self._channels.get(name.removeprefix(f"{layout.slug}."))
            or read_channel("x", entry, trusted=False, folder=folder_in(layout), smtp=self._smtp)
            for name, entry in config.channels.items()
            if name not in refused
        }
        for name in sorted(channels_of(jobs) - own.keys() - self._channels.keys()):
            missing = _ROOTS if name in refused else "neither the file nor --channels defines it"
            tell("channel_unusable", channel=name, missing=missing)
        await self._alerts.offer(own)
        self._chains.take(jobs)

    def _refused(self, config: Config, layout: Layout) -> set[str]:
        """Channels of the file whose commands would be root's, although the operator has named users."""
        if self._run_as.gives_own_rights():
            return set()
        operators = {f"{layout.slug}.{name}" for name in self._channels}
        return {name for name, entry in config.channels.items() if "command" in entry} - operators

    async def live(self) -> None:
        """Follow, deliver alerts, and ask for runs that follow others, until cancelled."""
        if self._life is not None:
            async with asyncio.TaskGroup() as all_of_it:
                all_of_it.create_task(self._life.live())
                all_of_it.create_task(self._alerts.live())
                all_of_it.create_task(self._chains.live())

    def on_events(self, events: Sequence[Event]) -> None:
        self._alerts.on_events(events)
        self._chains.on_events(events)

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


def folder_in(layout: Layout) -> Callable[[Alert], Path]:
    """Where a command of the repository starts: in the present files of the job that an alert is about."""

    def folder_of(alert: Alert) -> Path:
        link = layout.link(alert.job.partition("/")[2])
        others = (path for path in layout.links().values() if path.is_dir())
        return link if link.is_dir() else next(others, layout.root)

    return folder_of
