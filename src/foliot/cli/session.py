"""One command's dealings with a store: how it is opened, and how jobs and runs are found in it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from difflib import get_close_matches
from functools import wraps
from typing import Any, NamedTuple

import click

from foliot.clock import SystemClock
from foliot.daemon.places import default_store
from foliot.engine.plan_command import Command, plan_command
from foliot.errors import (
    FoliotError,
    InvalidStoreError,
    JobNotFoundError,
    RunNotFoundError,
    StoreError,
    shorten,
)
from foliot.model.attempt import Attempt
from foliot.model.decision import Decision
from foliot.model.state import Record
from foliot.model.view import NodeView, Schema
from foliot.protocols import Clock, JobQuery, JobView, RunQuery
from foliot.wiring import FullStore, open_store, schema_of

LEASE = timedelta(seconds=30)
EVERYTHING = 1_000_000
_PAGE = 1000
_MOST_CANDIDATES = 5
_MOST_COMPLETED = 200


class Session(NamedTuple):
    """A store, open, and the time."""

    store: FullStore
    clock: Clock
    now: datetime

    async def pages(self, query: JobQuery) -> AsyncIterator[JobView]:
        """All jobs that a query means, however many."""
        query = query._replace(limit=_PAGE)
        while page := await self.store.jobs(query):
            for view in page:
                yield view
            query = query._replace(after=page[-1].key)

    async def find(self, job: str, *, with_removed: bool = False) -> JobView:
        """A job by its key, or by its name alone if no other job has it. The living go before the removed."""
        query = JobQuery(keys=frozenset((job,)), with_removed=with_removed)
        if exact := await self.store.jobs(query):
            return exact[0]
        named = await self.store.jobs(JobQuery(name=job, limit=_PAGE))
        if not named and with_removed:
            named = await self.store.jobs(JobQuery(name=job, with_removed=True, limit=_PAGE))
        if len(named) == 1:
            return named[0]
        if named:
            raise _ambiguous(job, [view.key for view in named])
        some = await self.store.jobs(JobQuery(limit=_PAGE))
        raise JobNotFoundError(job, hint=_did_you_mean(job, [view.key for view in some]))

    async def record(self, job: str) -> Record:
        """A job that can be read."""
        view = await self.find(job)
        if view.record is None or view.damage is not None:
            raise StoreError(
                f"{view.key} cannot be read: {view.damage}", hint="let its source declare it anew"
            )
        return view.record

    async def attempts(self, run: str) -> list[Attempt]:
        """The attempts of a run, oldest first. Its key may name the job by its name alone.

        A job without a run means its latest one.
        """
        job = run[: max(run.rfind("@"), run.rfind("!"), 0)]
        if not job:
            return await self._latest(run)
        try:
            view = await self.find(job, with_removed=True)
        except JobNotFoundError as error:
            raise RunNotFoundError(run, hint=error.hint) from None
        key = view.key + run[len(job) :]
        attempts = await self.store.runs(RunQuery(job=view.key, limit=EVERYTHING))
        if found := [attempt for attempt in attempts if attempt.run_key == key]:
            return sorted(found, key=lambda attempt: attempt.number)
        raise RunNotFoundError(run, hint=f"foliot run list --job {view.key} shows what is remembered")

    async def _latest(self, job: str) -> list[Attempt]:
        try:
            view = await self.find(job, with_removed=True)
        except JobNotFoundError:
            hint = "a run key is source/name@2026-11-15T07:00:00Z or source/name!request; see foliot run list"
            raise RunNotFoundError(job, hint=hint) from None
        if not (newest := await self.store.runs(RunQuery(job=view.key, limit=1))):
            raise RunNotFoundError(job, hint="it has not run yet, as far as history goes back")
        return await self.attempts(newest[0].run_key)

    async def command(self, job: str, command: Command) -> Decision:
        """Do to a job what a person asked for. An engine in another process finds it by looking."""
        return await self.store.update(job, lambda record: plan_command(record, command, self.now))

    async def servants(self, record: Record) -> list[NodeView]:
        """The nodes that live and can start a job."""
        queue, kind = record.job.queue, record.job.action.kind
        return [view for view in await self.store.nodes() if can_start(view, queue, kind, self.now)]


def can_start(view: NodeView, queue: str, kind: str, now: datetime) -> bool:
    """Whether a node lives, claims, and serves a queue and a kind of action."""
    node = view.node
    is_at_work = view.until >= now and not node.is_draining
    return is_at_work and queue in node.queues and (node.kinds is None or kind in node.kinds)


Asked = Callable[..., Awaitable[int]]


def takes_store(ask: Asked) -> Callable[..., int]:
    """Give a command a session with the store that `--store` names, and `as_json`."""

    @store_option
    @output_option
    @wraps(ask)
    def command(*, store: str, output: str, **options: Any) -> int:
        async def play() -> int:
            async with opened(store) as session:
                return await ask(session, as_json=output == "json", **options)

        return asyncio.run(play())

    return command


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Session]:
    """A session; a question neither creates a store nor changes its schema."""
    schema = checked_schema(url)
    if schema.found < schema.newest:
        raise StoreError(
            f"the store has schema {schema.found}, and this version of Foliot needs {schema.newest}"
            if schema.found
            else "the file is empty",
            details={"found": schema.found, "newest": schema.newest},
            hint="foliot store migrate",
        )
    clock = SystemClock()
    async with open_store(url, clock, lease=LEASE) as store:
        yield Session(store, clock, await store.now())


def checked_schema(url: str) -> Schema:
    """The schema of the store that a URL names."""
    try:
        return schema_of(url)
    except ValueError as error:
        if isinstance(error, FoliotError):
            raise
        raise InvalidStoreError(url, "is no URL") from None


def complete_job(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Keys for a shell; one that cannot be answered has none."""

    async def look() -> list[str]:
        async with opened(context.params["store"]) as session:
            views = await session.store.jobs(JobQuery(limit=_PAGE))
            keys = [view.key for view in views]
            return [k for k in keys if k.startswith(incomplete) or k.partition("/")[2].startswith(incomplete)]

    try:
        return asyncio.run(look())[:_MOST_COMPLETED]
    except (FoliotError, OSError, KeyError, TypeError):
        return []


def _ambiguous(job: str, keys: list[str]) -> click.UsageError:
    shown = ", ".join(map(shorten, keys[:_MOST_CANDIDATES]))
    more = f" and {len(keys) - _MOST_CANDIDATES} more" if len(keys) > _MOST_CANDIDATES else ""
    return click.UsageError(
        f"{len(keys)} jobs have the name {shorten(job)}: give one of {shown}{more}",
        click.get_current_context(),
    )


def _did_you_mean(job: str, keys: list[str]) -> str | None:
    if not keys:
        return "the store has no jobs"
    known = {key.partition("/")[2]: key for key in keys} | {key: key for key in keys}
    close = get_close_matches(job, known, n=1)
    return f"did you mean {known[close[0]]}?" if close else "foliot job list shows all"


job_argument = click.argument("job", metavar="JOB", shell_complete=complete_job)
store_option = click.option(
    "--store",
    metavar="URL",
    envvar="FOLIOT_STORE",
    default=lambda: default_store(os.environ),
    show_default="the store of foliot serve",
    show_envvar=True,
    help="Where the jobs are, such as sqlite:///jobs.db.",
)
output_option = click.option(
    "-o",
    "--output",
    type=click.Choice(("table", "json")),
    default="table",
    show_default=True,
    metavar="FORMAT",
    help="table, for people, or json, for programs.",
)
