"""Calling what the user gave: async functions on the event loop, others in a thread."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from foliot.doors.documents.config import Config, takes_job
from foliot.doors.documents.job import Job

_log = logging.getLogger("foliot.documents")
T = TypeVar("T")


class Handlers:
    """The handlers of a config. An error of theirs never ends the loop."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._takes_job = takes_job(config.on_error)
        self._told: str | None = None

    async def start(self) -> None:
        """Call `on_start`; its error is the caller's."""
        await _call(self._config.on_start)

    async def idle(self) -> None:
        """Call `on_idle`."""
        await self._safely(self._config.on_idle)

    async def stop(self) -> None:
        """Call `on_stop`."""
        await self._safely(self._config.on_stop)

    async def document(self, job: Job) -> None:
        """Call `on_document`; its error is the caller's."""
        await _call(self._config.on_document, job)

    async def tell(self, error: Exception, job: Job | None = None) -> None:
        """Call `on_error`, or log, if there is none or if it fails."""
        on_error = self._config.on_error
        if on_error is None:
            _log.error("document_failed", exc_info=error, extra={"document": job and str(job.id)})
            return
        try:
            await _call(on_error, *((error, job) if self._takes_job else (error,)))
        except Exception as failure:  # noqa: BLE001 - a handler's error, of whatever kind
            failure.__context__ = error
            _log.error("on_error_failed", exc_info=failure)

    async def tell_once(self, error: Exception, job: Job | None = None) -> None:
        """Tell an error that may come again and again, until `forget`."""
        kind = f"{type(error).__name__}: {error}"
        if kind != self._told:
            self._told = kind
            await self.tell(error, job)

    def forget(self) -> None:
        """What went wrong is over: tell it, if it comes again."""
        self._told = None

    async def _safely(self, handler: Callable[..., Any] | None) -> None:
        try:
            await _call(handler)
        except Exception as error:  # noqa: BLE001 - a handler's error, of whatever kind
            await self.tell(error)


async def _call(handler: Callable[..., Any] | None, *arguments: Any) -> None:
    if handler is None:
        return
    is_async = inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(
        getattr(handler, "__call__", None)  # noqa: B004 - an object whose call is async
    )
    answer = handler(*arguments) if is_async else await asyncio.to_thread(handler, *arguments)
    if inspect.isawaitable(answer):  # a lambda or a partial that gives a coroutine
        await answer


async def to_the_end(work: Awaitable[T]) -> tuple[T, bool]:
    """Wait for work that must not be cut short. Also tells whether we were cancelled meanwhile.

    A write that is cancelled under way may have taken effect, and then a job would be locked by no worker.
    """
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task), False
    except asyncio.CancelledError:
        if task.cancelled():
            raise
        try:
            return await task, True
        except Exception as error:
            raise asyncio.CancelledError from error  # else the cancellation would be lost
