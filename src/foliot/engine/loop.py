"""Waiting, and the one loop that all services of a node share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

from foliot.errors import StoreUnavailableError
from foliot.protocols import Clock
from foliot.schedules.duration import format_duration

T = TypeVar("T")
_FIRST_PAUSE = timedelta(milliseconds=100)
# With a longer pause a node would still wait when the store is back: no claim, no recovery.
_LONGEST_PAUSE = timedelta(seconds=1)


async def run_until_stopped(
    turn: Callable[[], Awaitable[timedelta]],
    stopping: asyncio.Event,
    clock: Clock,
    on_trouble: Callable[[StoreUnavailableError], None],
) -> None:
    """Call `turn` until stopped. A turn returns how long to wait for the next one.

    A store that does not answer ends the turn, not the loop: the next turn comes after a growing pause.
    """
    pause = _FIRST_PAUSE
    while not stopping.is_set():
        try:
            wait = await turn()
            pause = _FIRST_PAUSE
        except StoreUnavailableError as error:
            on_trouble(error)
            wait, pause = pause, min(pause * 2, _LONGEST_PAUSE)
        await clock.wait(wait, stopping)


async def run_beside(
    main: Coroutine[Any, Any, None],
    services: Iterable[Coroutine[Any, Any, None]],
    clock: Clock,
    patience: timedelta,
) -> None:
    """Run services beside a main coroutine until it ends. If one of them fails, all end.

    At the end, services may finish their present turn; one that takes longer than `patience` is cancelled.
    """
    tasks = [asyncio.ensure_future(work) for work in (main, *services)]
    running = set(tasks)
    try:
        while tasks[0] in running:
            ended, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            _check(ended)
        await _wait_for(tasks, clock, patience)
        _check(task for task in tasks if task.done())
    finally:
        await _cancel(tasks)


def _check(ended: Iterable[asyncio.Task[None]]) -> None:
    for task in ended:
        if task.cancelled():  # by its own work: raised as it is, it would cancel this node
            raise RuntimeError("a service of the engine was cancelled by what it called")
        task.result()


async def soon_after(
    event: asyncio.Event, work: Coroutine[Any, Any, T], clock: Clock, patience: timedelta
) -> T | None:
    """Wait for a coroutine that ends soon after an event; cancel it if it takes longer."""
    task, asked = asyncio.ensure_future(work), asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait((task, asked), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            await _wait_for((task,), clock, patience)
        return task.result() if task.done() else None
    finally:
        await _cancel((task, asked))


async def answered(verb: str, call: Coroutine[Any, Any, T], clock: Clock, patience: timedelta) -> T:
    """The answer to a call. A call that takes longer counts as not answered."""
    task = asyncio.ensure_future(call)
    try:
        await _wait_for((task,), clock, patience)
        if not task.done():
            raise StoreUnavailableError(verb, f"did not answer within {format_duration(patience)}")
        return task.result()
    finally:
        await _cancel((task,))


async def _wait_for(tasks: Sequence[asyncio.Task[Any]], clock: Clock, patience: timedelta) -> None:
    """Wait until all have ended, for that time at most."""
    ended = asyncio.Event()
    asyncio.gather(*tasks, return_exceptions=True).add_done_callback(lambda _: ended.set())
    await clock.wait(patience, ended)


async def _cancel(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel in order, unlike a TaskGroup, which has a set."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def unless(event: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Wait for a coroutine, or stop waiting when an event is set."""
    tasks: list[asyncio.Task[Any]] = [asyncio.ensure_future(work), asyncio.ensure_future(event.wait())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done():
            tasks[0].result()
    finally:
        await _cancel(tasks)
