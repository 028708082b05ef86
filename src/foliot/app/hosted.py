"""What the program around an application asks of it: its store, how it fares, its jobs, an API to mount."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from foliot.app.core import Core
from foliot.app.registry import Registry
from foliot.app.runtime import Runtime
from foliot.app.thread import EngineThread
from foliot.errors import AppStateError
from foliot.model.decision import Event
from foliot.model.job import Job
from foliot.wiring import FullStore


class Hosted:
    """An application as others see it."""

    name: str
    _core: Core
    _registry: Registry
    _runtime: Runtime | None
    _thread: EngineThread

    @property
    def store(self) -> str:
        """The URL of the store, with its password, if it has one."""
        return self._core.url

    @property
    def metrics(self) -> Any:
        """What counts and measures, if something does."""
        return self._core.settings.metrics

    @property
    def failure(self) -> BaseException | None:
        """The error with which the engine has ended by itself, if it has: for a health check to ask."""
        return self._core.failure

    def asgi(self, **options: Any) -> Any:
        """The REST API as an ASGI application, to be mounted in FastAPI, Django or any other."""
        try:
            module = import_module("foliot.api.mount")  # it is above this, and needs packages of its own
        except ModuleNotFoundError as error:
            hint = "pip install 'foliot[api]'"
            raise AppStateError(self.name, f"the API is not installed ({error.name})", hint=hint) from None
        return module.make_asgi(self, **options)

    async def shared_store(self) -> FullStore:
        """The store object of the engine itself: only that in memory may be used on another thread."""
        if self._thread.is_running_here:
            return await self._core.store()
        with self._thread.held() as thread:
            return await thread.call(self._core.store())

    def handle_events(self, events: Sequence[Event]) -> None:
        """Something was changed beside the engine: have it look. From any thread."""
        if self._thread.is_open:
            with suppress(RuntimeError):  # it ends at this moment, and need not know
                self._thread.get().loop.call_soon_threadsafe(self._core.handle_events, events)

    def declare_all(self, jobs: Iterable[Job]) -> None:
        """Have these be all jobs that the code declares: for doors, whose users write no functions."""
        self._registry.replace_jobs(jobs)
        self._announce()

    def _announce(self) -> None:
        """What is registered while the engine runs is declared at once."""
        self._thread.refuse_if_forked()
        if self._runtime is not None:
            self._runtime.learn()

    async def until(self, asked: asyncio.Event) -> None:
        """Inside `async with app`: wait until it is asked to stop, or until the engine has failed."""
        if self._runtime is None:
            raise AppStateError(self.name, "it is not running", hint="use it inside `async with app:`")
        await self._runtime.until(asked)
