"""`Ratd`: the scheduler of pipelines, and the API to it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Generator
from datetime import timedelta
from typing import Any

from foliot.app import Foliot
from foliot.app.pipelines import RunPipeline
from foliot.protocols import Clock


class _Done:
    """Can be awaited, and need not be."""

    def __await__(self) -> Generator[None]:
        return
        yield


class Ratd:
    """Runs pipelines by their schedules. `executor` is a coroutine function of a pipeline and a run.

    `interval`: how often to look for what is due, if no wake-up comes. Without an executor the scheduler is
    off: the API serves, and nothing runs. Other settings are those of `Foliot`.
    """

    def __init__(
        self,
        store: str = "sqlite:///ratd.db",
        executor: RunPipeline | None = None,
        interval: timedelta | str = "30s",
        *,
        name: str = "ratd",
        clock: Clock | None = None,
        **settings: Any,
    ) -> None:
        self._app = Foliot(store, name=name, clock=clock, poll=interval, pipelines=executor, **settings)
        self._has_executor = executor is not None
        self._is_in_background = False

    def start(self) -> Awaitable[None]:
        """Let the scheduler run. In a coroutine, await it; elsewhere it has begun when this returns."""
        if not self._has_executor:
            return _Done()
        self._is_in_background = not _has_loop()
        if self._is_in_background:
            self._app.start()
            return _Done()
        return asyncio.ensure_future(self._begin())

    def stop(self) -> Awaitable[None]:
        """Claim no more, end the turn in progress, and wait for what runs, as long as `drain` says."""
        if not self._has_executor:
            return _Done()
        if not self._is_in_background:
            return asyncio.ensure_future(self._app.__aexit__(None, None, None))
        if _has_loop():
            return asyncio.ensure_future(asyncio.to_thread(self._app.stop))
        self._app.stop()
        return _Done()

    def asgi(self, **options: Any) -> Any:
        """The API as an ASGI application, for uvicorn, or to be mounted in another one."""
        return self._app.asgi(has_engine=self._has_executor, **options)

    async def _begin(self) -> None:
        await self._app.__aenter__()


def _has_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
