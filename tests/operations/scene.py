"""Plays a coroutine at a desk where the source `shop` declares a job of every hour."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

from operations.desk import HOURLY, Desk

PATIENCE = 30


def scenario(play: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test of a coroutine that gets a desk first, and fixtures by their names."""

    @wraps(play)
    def act(**fixtures: Any) -> None:
        async def scene() -> None:
            desk = Desk()
            await desk.declare(HOURLY)
            await asyncio.wait_for(play(desk, **fixtures), PATIENCE)

        asyncio.run(scene())

    parameters = list(inspect.signature(play).parameters.values())[1:]
    act.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # pytest asks for it
    return act
