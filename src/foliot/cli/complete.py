"""What a shell completes: names and ids of what a store has; of one that cannot be asked, nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable

import click

from foliot.app.delivery import SOURCE as CHANNELS
from foliot.cli.session import Session, opened
from foliot.daemon.directories import default_store
from foliot.errors import FoliotError
from foliot.model.query import TokenQuery
from foliot.protocols import RunQuery

_PAGE = 1000
_MOST = 200
Complete = Callable[[click.Context, click.Parameter, str], list[str]]
Names = Callable[[Session, str], Awaitable[Iterable[str]]]


def completing(names: Names) -> Complete:
    """Complete from what a store has."""

    def complete(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
        async def look() -> list[str]:
            async with opened(context.params["store"] or default_store(os.environ)) as session:
                found = await names(session, incomplete)
                return sorted({name for name in found if _fits(name, incomplete)})

        try:
            return asyncio.run(look())[:_MOST]
        except (FoliotError, OSError, KeyError, TypeError, RuntimeError):
            return []

    return complete


def _fits(name: str, incomplete: str) -> bool:
    return name.startswith(incomplete) or name.partition("/")[2].startswith(incomplete)


async def _jobs(session: Session, _: str) -> Iterable[str]:
    return [view.key for view in await session.ops.jobs(limit=_PAGE)]


async def _runs(session: Session, incomplete: str) -> Iterable[str]:
    """Jobs, which stand for their latest run; and the runs of a job that is named already."""
    found = [*await _jobs(session, incomplete)]
    if not {"@", "!"}.isdisjoint(incomplete):
        found += [attempt.run_key for attempt in await session.store.runs(RunQuery(limit=_PAGE))]
    return found


async def _sources(session: Session, _: str) -> Iterable[str]:
    return [view.source for view in await session.store.sources()]


async def _queues(session: Session, _: str) -> Iterable[str]:
    lanes = {lane.queue for lane in (await session.store.overview()).lanes}
    return lanes | {queue for view in await session.store.nodes() for queue in view.node.queues}


async def _channels(session: Session, _: str) -> Iterable[str]:
    jobs = await session.ops.jobs(CHANNELS, limit=_PAGE)
    return [view.key.partition("/")[2] for view in jobs]


async def _tokens(session: Session, _: str) -> Iterable[str]:
    return [token.id for token in await session.store.tokens(TokenQuery(limit=_PAGE))]


async def _muted(session: Session, incomplete: str) -> Iterable[str]:
    return [*await _jobs(session, incomplete), *await _channels(session, incomplete)]


complete_job = completing(_jobs)
complete_run = completing(_runs)
complete_source = completing(_sources)
complete_queue = completing(_queues)
complete_channel = completing(_channels)
complete_token = completing(_tokens)
complete_job_or_channel = completing(_muted)
job_argument = click.argument("job", metavar="JOB", shell_complete=complete_job)
source_option = click.option(
    "--source", metavar="NAME", shell_complete=complete_source, help="Only jobs of this source."
)
