"""Keeps work beside the engine running. An error ends neither of them silently."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from datetime import timedelta

from foliot.observability.log import tell
from foliot.protocols import Clock

_FIRST_PAUSE = timedelta(seconds=1)
_LONGEST_PAUSE = timedelta(minutes=5)
_OWN_FAULTS = (Exception, SystemExit, asyncio.CancelledError)
_CALM = 600.0  # seconds without an error, after which the pause is short again


async def keep_alive(name: str, work: Callable[[], Awaitable[None]], clock: Clock) -> None:
    """Do the work until it is cancelled or returns. If it raises, log it and start it again after a pause.

    Each pause is twice as long as the one before, up to five minutes.
    """
    pause = _FIRST_PAUSE
    while True:
        began_at = clock.monotonic()
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - whatever it is, the rest of the program goes on
            if clock.monotonic() - began_at >= _CALM:
                pause = _FIRST_PAUSE
            tell("task_failed", error, task=name, error=f"{type(error).__name__}: {error}", again_in=pause)
        else:
            return
        await clock.wait(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)


def tell_listener(listener: object, tell_it: Callable[[], None]) -> None:
    """Call a function of the program. Its error, even `sys.exit`, is logged and stops here.

    Only on the main thread an exception may come from outside: a Ctrl-C, or the end of a test.
    """
    try:
        tell_it()
    except BaseException as error:
        if not isinstance(error, _OWN_FAULTS) and threading.current_thread() is threading.main_thread():
            raise
        name = getattr(listener, "__qualname__", type(listener).__name__)
        tell("listener_failed", error, listener=name, error=str(error))
