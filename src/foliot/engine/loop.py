"""Waiting, and the one loop that all services of a node share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from datetime import timedelta
from typing import Any

from foliot.errors import StoreUnavailableError
from foliot.protocols import Clock

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


async def run_together(services: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Run services side by side; if one fails, the others end too. In order, unlike a TaskGroup's set."""
    tasks = [asyncio.ensure_future(service) for service in services]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def unless(event: asyncio.Event, work: Coroutine[Any, Any, None]) -> None:
    """Wait for something, unless an event makes it pointless."""
    tasks = [asyncio.ensure_future(work), asyncio.ensure_future(event.wait())]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done():
            tasks[0].result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
