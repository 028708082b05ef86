"""A law: a dry run answers what the command then does, and writes nothing; whatever happened before."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.plan_lives import START as LIVES_START
from engine.plan_lives import jobs
from foliot.errors import FoliotError
from foliot.model.attempt import Outcome
from foliot.model.job import Job
from foliot.operations import Effect, Which
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock
from operations.desk import LONG, START, Desk

WAITS = [timedelta(0), timedelta(seconds=20), timedelta(minutes=1), timedelta(minutes=7), timedelta(hours=2)]
OUTCOMES = [Outcome.SUCCEEDED, Outcome.FAILED, Outcome.CANCELLED, Outcome.INTERRUPTED]
WORLD = ("claim", "claim", "finish", "finish")
COMMANDS = ("pause", "resume", "trigger", "cancel", "rerun", "backfill")

steps = st.tuples(st.sampled_from(WORLD + COMMANDS), st.sampled_from(WAITS), st.integers(0, 11))


@settings(max_examples=150, deadline=None)
@given(job=jobs(), life=st.lists(steps, min_size=1, max_size=25))
def test_a_dry_run_answers_what_the_command_then_does(
    job: Job, life: list[tuple[str, timedelta, int]]
) -> None:
    asyncio.run(_live(Desk(), job, life))


@settings(max_examples=15, deadline=None)
@given(job=jobs(), life=st.lists(steps, min_size=10, max_size=25))
def test_it_does_so_where_records_are_stored_as_rows(
    job: Job, life: list[tuple[str, timedelta, int]]
) -> None:
    async def play() -> None:
        clock = ManualClock(START)
        with TemporaryDirectory() as folder:
            path = Path(folder) / "jobs.db"
            async with SqliteStore(path, clock, lease=LONG, synchronous="OFF") as store:
                await _live(Desk(store, clock), job, life)

    asyncio.run(play())


async def _live(desk: Desk, job: Job, life: list[tuple[str, timedelta, int]]) -> None:
    await desk.advance(LIVES_START)
    await desk.declare(job)
    for event, wait, number in life:
        await desk.clock.advance(wait)
        if event == "claim":
            await desk.claim()
        elif event == "finish":
            held = await desk.store.held("n1")
            if held:
                await desk.finish(held[number % len(held)], OUTCOMES[number % len(OUTCOMES)])
        else:
            await _compare(desk, await _command(desk, job, event, number))


Asked = Callable[[bool], Awaitable[Effect]]


async def _command(desk: Desk, job: Job, name: str, number: int) -> Asked:
    """A command, ready to be given; `number` chooses its arguments."""
    ops, now = desk.ops, desk.clock.now()
    attempts = await ops.attempts()
    run = attempts[number % len(attempts)].run_key if attempts else "nobody/nothing!x"
    request = f"r{number % 3}"
    first = now - WAITS[2 + number % 3]
    which = [None, *Which][number % 4]
    commands: dict[str, Asked] = {
        "pause": lambda dry: ops.pause(job.key, reason="dinner", dry_run=dry),
        "resume": lambda dry: ops.resume(job.key, dry_run=dry),
        "trigger": lambda dry: ops.trigger(job.key, request=request, dry_run=dry),
        "rerun": lambda dry: ops.rerun(run, request=request, dry_run=dry),
        "cancel": lambda dry: ops.cancel(run, dry_run=dry),
        "backfill": lambda dry: ops.backfill(job.key, first, now, which=which, dry_run=dry),
    }
    return commands[name]


async def _compare(desk: Desk, asked: Asked) -> None:
    before = await desk.everything()
    told = len(desk.told)
    foreseen = await _answer(asked, dry_run=True)
    assert await desk.everything() == before
    assert len(desk.told) == told
    done = await _answer(asked, dry_run=False)
    if isinstance(foreseen, Effect):
        foreseen = foreseen._replace(is_dry_run=False)
    assert foreseen == done
    if isinstance(done, Effect):
        assert done.has_changed == (len(desk.told) > told)
        assert done.has_changed == (await desk.everything() != before)


async def _answer(asked: Asked, *, dry_run: bool) -> Effect | tuple[type[FoliotError], str, str | None]:
    try:
        return await asked(dry_run)
    except FoliotError as error:
        return type(error), error.message, error.hint
