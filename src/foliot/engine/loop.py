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
# Whoever waits longer is still waiting when the store is back: then nobody is buried, nothing is claimed.
_LONGEST_PAUSE = timedelta(seconds=1)


async def run_until_stopped(
    turn: Callable[[], Awaitable[timedelta]],
    stopping: asyncio.Event,
    clock: Clock,
    on_trouble: Callable[[StoreUnavailableError], None],
) -> None:
    """Take turns until stopped. A turn says how long to wait for the next one.

    A store that does not answer ends a turn, not the loop: the next one comes after a pause that grows.
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
    """Run services beside something, until that has ended; if one of them all fails, the others end too.

    When it has ended, services end what they have begun; one that hangs for longer than that is cancelled.
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
        if task.cancelled():  # by its own work: as a cancellation it would look like an order to this node
            raise RuntimeError("a service of the engine was cancelled by what it called")
        task.result()


async def soon_after(
    event: asyncio.Event, work: Coroutine[Any, Any, T], clock: Clock, patience: timedelta
) -> T | None:
    """Wait for something that is to end soon after an event; if it hangs for longer, it is cancelled."""
    task, asked = asyncio.ensure_future(work), asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait((task, asked), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            await _wait_for((task,), clock, patience)
        return task.result() if task.done() else None
    finally:
        await _cancel((task, asked))


async def answered(verb: str, call: Coroutine[Any, Any, T], clock: Clock, patience: timedelta) -> T:
    """The answer to a call; one that hangs for longer than that counts as not answered."""
    task = asyncio.ensure_future(call)
    try:
        await _wait_for((task,), clock, patience)
        if not task.done():
            raise StoreUnavailableError(verb, f"did not answer within {format_duration(patience)}")
        return task.result()
    finally:
        await _cancel((task,))


async def _wait_for(tasks: Sequence[asyncio.Task[Any]], clock: Clock, patience: timedelta) -> None:
    """Wait until all have ended, but no longer than that."""
    ended = asyncio.Event()
    asyncio.gather(*tasks, return_exceptions=True).add_done_callback(lambda _: ended.set())
    await clock.wait(patience, ended)


async def _cancel(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """In order, unlike a TaskGroup's set."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def unless(event: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Wait for something, unless an event makes it pointless."""
    tasks: list[asyncio.Task[Any]] = [asyncio.ensure_future(work), asyncio.ensure_future(event.wait())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done():
            tasks[0].result()
    finally:
        await _cancel(tasks)
