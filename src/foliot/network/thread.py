"""Blocking calls, each in its own thread. The thread never delays the end of the process."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def in_thread(work: Callable[[], T], abandon: Callable[[], None], name: str) -> T:
    """Run the work in a thread. If the caller is cancelled, `abandon` must make the work end soon."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()

    def tell(result: T | None, error: BaseException | None) -> None:
        if answer.done():
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(result)  # type: ignore[arg-type]

    def serve() -> None:
        result: T | None = None
        failure: BaseException | None = None
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - the caller gets the error, whatever it is
            failure = error
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(tell, result, failure)

    threading.Thread(target=serve, name=name, daemon=True).start()
    try:
        return await answer
    except asyncio.CancelledError:
        abandon()
        raise
