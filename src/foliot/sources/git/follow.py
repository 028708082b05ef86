"""A repository as a source of jobs: pull, read the config, make snapshots, swap.

Whatever fails, the last good one stays in effect.
"""

from __future__ import annotations

import asyncio
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from foliot.errors import FoliotError
from foliot.model.job import Job
from foliot.protocols import Clock, Snapshot
from foliot.sources.git.address import parse_address
from foliot.sources.git.beside import Files, FilesRefusedError, Noted, bundle, unbundle
from foliot.sources.git.errors import GitError, RemoteUnavailableError, TreeRefusedError
from foliot.sources.git.git_process import GitProcesses
from foliot.sources.git.layout import Layout
from foliot.sources.git.snapshots import Snapshots
from foliot.sources.git.tree import Limits

Parse = Callable[[bytes, str, Files], Sequence[Job]]
T = TypeVar("T")
_PATIENCE_AT_START = 5.0
_IN_MIND = 2  # sets: the current one, and the one before


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStatus:
    """The state of a source: the revision in effect, and since when updates have failed.

    `error` is the last attempt's, `failures` counts attempts in a row that failed, from `failing_since` on.
    """

    repository: str
    revision: str | None = None
    pulled_at: datetime | None = None
    error: FoliotError | None = None
    failing_since: datetime | None = None
    failures: int = 0


class _Refused(NamedTuple):
    """A revision that can never be accepted, and why. It is not tried again."""

    revision: str
    error: FoliotError


class GitSource:
    """Follows one repository. `snapshots` is where its runs find their files.

    `parse` makes jobs of the config file's bytes, the revision, and files beside it that it asks for; it
    raises a FoliotError if it cannot. It is called on a thread.
    `store_file`: where the store is. In a directory without git it is no part of what is followed.
    `trusted`: local repositories of other users that the operator trusts.
    """

    def __init__(  # noqa: PLR0913 - what to follow, where to, and how; each with its usual value
        self,
        repository: str,
        cache: Path,
        parse: Parse,
        *,
        clock: Clock,
        file: str = "rollcron.yaml",
        follow_rewrites: bool = False,
        timeout: timedelta = timedelta(minutes=5),
        limits: Limits | None = None,
        store_file: str | None = None,
        trusted: tuple[str, ...] = (),
    ) -> None:
        address = parse_address(repository)
        self.name = address.slug
        self.layout = Layout(cache.expanduser().absolute(), address.slug)
        self.snapshots = Snapshots(address.shown, self.layout)
        self.status = SourceStatus(repository=address.shown)
        self._processes = GitProcesses(
            address, self.layout.root, timeout, limits or Limits(), store_file, trusted
        )
        self._parse = parse
        self._clock = clock
        self._file = file
        # A directory without git has no history: what is there now counts.
        self.follows_rewrites = follow_rewrites or address.is_plain
        self._busy = asyncio.Lock()
        self._base: str | None = None
        self.goes_on = False
        self._refused: _Refused | None = None
        self._tidying: asyncio.Task[None] | None = None

    async def start(self, base: str | None = None) -> Snapshot:
        """The first snapshot: the newest revision if it is good, else the last good one in the cache.

        `status` says which of the two. Raises the error if there is neither. `base`: see `refresh`.
        """
        async with self._busy:
            self._base = base
            try:
                return await self._noted(self._newest_in_time())
            except FoliotError:
                with suppress(FoliotError):
                    return await self._take(await self._processes.do("recall"))
                raise

    async def refresh(self, base: str | None = None) -> Snapshot | None:
        """Pull. Returns what to declare now, or None if nothing has changed.

        A FoliotError says what failed: the remote, the config or the snapshots. The last good version stays.
        `base` is the revision that another node has declared; `goes_on` says whether the pulled revision is
        that one or a successor.
        """
        async with self._busy:
            self._base = base
            return await self._noted(self._moved())

    async def close(self) -> None:
        """Stop background work, and release all snapshots."""
        if self._tidying is not None:
            self._tidying.cancel()
            await asyncio.wait([self._tidying])
        self.snapshots.close()

    async def _newest_in_time(self) -> Snapshot:
        """The newest revision; in limited time if the cache has a good one, because jobs wait."""
        if self.layout.current_set() is None:
            return await self._newest()
        try:
            async with asyncio.timeout(_PATIENCE_AT_START):
                return await self._newest()
        except TimeoutError:
            reason = f"it took longer than {_PATIENCE_AT_START:g} s; what is in the cache goes on meanwhile"
            raise RemoteUnavailableError(self.status.repository, reason) from None

    async def _newest(self) -> Snapshot:
        return await self._take(await self._pull(known=None))

    async def _moved(self) -> Snapshot | None:
        is_whole = await asyncio.to_thread(self.snapshots.is_whole)
        current = self.snapshots.revision if is_whole else None
        refused = self._refused
        pulled = await self._pull(known=refused.revision if refused is not None else current)
        if refused is not None and refused.revision == pulled["revision"]:
            raise copy(refused.error)
        if current is not None and current == pulled["revision"]:
            if await asyncio.to_thread(self._is_littered):
                self._tidy(current)
            return None
        return await self._take(pulled)

    async def _pull(self, known: str | None) -> dict[str, Any]:
        """The newest revision, and its config file unless the revision is known."""
        facts = {
            "file": self._file,
            "follow_rewrites": self.follows_rewrites,
            "known": known,
            "base": self._base,
        }
        self.goes_on = False
        pulled = await self._processes.do("pull", **facts)
        self.goes_on = bool(pulled["goes_on"])
        self.status = replace(self.status, pulled_at=self._clock.now())
        return pulled

    async def _take(self, pulled: dict[str, Any]) -> Snapshot:
        """Make what was pulled the one in effect, from the config to the swap."""
        revision = str(pulled["revision"])
        try:
            files = self._files_of(revision, asyncio.get_running_loop())
            config, found = unbundle(b64decode(pulled["config"]), files)
            noted = Noted(found)
            jobs = await asyncio.to_thread(self._parse, config, revision, noted)
            snapshot = Snapshot(revision, tuple(jobs))
            await self._build(snapshot, b64encode(bundle(config, noted)).decode())
        except FoliotError as error:
            if isinstance(error, TreeRefusedError) or not isinstance(error, GitError):
                self._refused = _Refused(revision, error)
            raise
        self._refused = None
        self.status = replace(self.status, revision=revision)
        self._tidy(revision)
        return snapshot

    def _files_of(self, revision: str, loop: asyncio.AbstractEventLoop) -> Files:
        """What brings the files of a revision to the thread that parses."""

        def ask(patterns: Sequence[str]) -> Mapping[str, bytes]:
            task = self._processes.do("files", revision=revision, patterns=list(patterns))
            answer = asyncio.run_coroutine_threadsafe(task, loop).result()
            if "refusal" in answer:
                raise FilesRefusedError(answer["refusal"])
            return {name: b64decode(data) for name, data in answer["files"].items()}

        return ask

    async def _build(self, snapshot: Snapshot, config: str) -> None:
        facts = {
            "revision": snapshot.revision,
            "jobs": [job.name for job in snapshot.jobs],
            "config": config,
            "follow_rewrites": self.follows_rewrites,
        }
        async with self._processes.held("build", **facts) as built:
            await asyncio.to_thread(self.snapshots.adopt, self.layout.set_of(built["set"]), snapshot)

    async def _noted(self, work: Awaitable[T]) -> T:
        """Do it, and keep the status in step."""
        try:
            done = await work
        except FoliotError as error:
            since = self.status.failing_since or self._clock.now()
            failures = self.status.failures + 1
            self.status = replace(self.status, error=error, failing_since=since, failures=failures)
            raise
        self.status = replace(self.status, error=None, failing_since=None, failures=0)
        return done

    def _is_littered(self) -> bool:
        return sum(1 for _ in self.layout.sets.iterdir()) > _IN_MIND

    def _tidy(self, revision: str) -> None:
        """In the background: it may take as long as making the snapshots did."""
        if self._tidying is None or self._tidying.done():
            self._tidying = asyncio.create_task(self._swept(revision))

    async def _swept(self, revision: str) -> None:
        with suppress(FoliotError):  # the next pull does it
            await self._processes.do("tidy", revision=revision)
