"""A life in a process of its own."""

from __future__ import annotations

import os
import select
import signal
import sys
import traceback
from collections.abc import Callable


def lead(live: Callable[[], None], patience: float | None, told: str) -> bool:
    """Lead a life, killed when the patience is over; whether it killed itself before. `told`: which it is."""
    pid = fork(live)
    handle = os.pidfd_open(pid)
    try:
        ready, _, _ = select.select([handle], [], [], patience)
        if not ready:
            os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
    finally:
        os.close(handle)
    code = os.waitstatus_to_exitcode(status)
    if code > 0:
        raise SystemExit(f"{told} ended with {code}")
    return bool(ready) and code < 0


def fork(live: Callable[[], None]) -> int:
    """Begin a life; the number of its process."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            live()
            code = 0
        except BaseException:  # noqa: BLE001 - whatever it was is told, and must not return into the loop
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    return pid
