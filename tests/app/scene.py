"""What the tests of the application object share: both embedded stores, and patience."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

from foliot import Cron, Foliot, Once
from foliot.clock import SystemClock
from foliot.model.attempt import Attempt

PATIENCE = 20
NEVER = Cron("0 0 1 1 *")


def soon() -> Once:
    return Once(SystemClock().now() + timedelta(milliseconds=30))


def play(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scene(), PATIENCE))


async def ended(app: Foliot, name: str | None = None, count: int = 1) -> list[Attempt]:
    """The first so many attempts that have ended, as soon as they have."""
    while True:
        attempts = [a for a in await app.history(name) if not a.is_open]
        if len(attempts) >= count:
            return attempts[::-1]
        await SystemClock().wait(timedelta(milliseconds=5))
