"""What the surrounding program may use: the store, health, jobs, and an API to mount."""

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
from foliot.protocols import Snapshot
from foliot.wiring import FullStore


class Hosted:
    """The parts of an application that its host program uses."""

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
        """The metrics object, if there is one."""
        return self._core.settings.metrics

    @property
    def failure(self) -> BaseException | None:
        """The error that ended the engine, if any: for a health check."""
        return self._core.failure

    def asgi(self, **options: Any) -> Any:
        """The REST API and the dashboard, to mount in FastAPI, Django or another framework of ASGI."""
        try:
            module = import_module("foliot.dashboard.mount")  # a higher layer, which needs more packages
        except ModuleNotFoundError as error:
            hint = "pip install 'foliot[api]'"
            raise AppStateError(self.name, f"the API is not installed ({error.name})", hint=hint) from None
        return module.make_asgi(self, **options)

    async def shared_store(self) -> FullStore:
        """The engine's own store object. Only a memory store may be used on another thread."""
        if self._thread.is_running_here:
            return await self._core.store()
        with self._thread.held() as thread:
            return await thread.call(self._core.store())

    def handle_events(self, events: Sequence[Event]) -> None:
        """Tell the engine about changes made beside it. May be called from any thread."""
        if self._thread.is_open:
            with suppress(RuntimeError):  # it is ending, and need not know
                self._thread.get().loop.call_soon_threadsafe(self._core.handle_events, events)

    def snapshot(self) -> Snapshot:
        """The jobs that the code declares, and the revision of the code."""
        return self._registry.snapshot()

    def declare_all(self, jobs: Iterable[Job]) -> None:
        """Replace all jobs of the code. For doors, whose users write no functions."""
        self._registry.replace_jobs(jobs)
        self._announce()

    def _announce(self) -> None:
        """Declare new registrations at once if the engine runs."""
        self._thread.refuse_if_forked()
        if self._runtime is not None:
            self._runtime.learn()

    async def until(self, asked: asyncio.Event) -> None:
        """Inside `async with app`: wait until the event is set, or until the engine has failed."""
        if self._runtime is None:
            raise AppStateError(self.name, "it is not running", hint="use it inside `async with app:`")
        await self._runtime.until(asked)
