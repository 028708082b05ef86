"""Processes of servers: without privileges, watched over, and gone when no test uses them any more."""

from __future__ import annotations

import atexit
import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from foliot.clock import SystemClock
from foliot.testing.servers import guardian

PATIENCE = 60.0  # seconds for a server to come up or go down, on a machine that is busy
_TIME_TO_PART = 5.0  # seconds that an ending program waits for its servers to end
started: list[subprocess.Popen[bytes]] = []
_PORTS, _TRIES = (12_000, 32_000), 100


class MissingServerError(Exception):
    """A server cannot be had here; the message says why."""


def run_server(
    folder: Path, program: Path, *arguments: str, variables: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """A program of a server, without privileges, away from the terminal's signals."""
    account: dict[str, Any] = {}
    if os.geteuid() == 0:
        user = pwd.getpwnam(unprivileged())
        account = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(  # noqa: S603 - a program of the server that was found
            [program, *arguments],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder,
            start_new_session=True, env={"PATH": os.defpath, "LC_ALL": "C", **(variables or {})}, **account,
        )  # fmt: skip
    started.append(process)
    return process


def wait_until_ready(process: subprocess.Popen[bytes], is_ready: Callable[[], bool], folder: Path) -> None:
    """Wait for a server that was started; MissingServerError if it ends, or takes too long."""
    clock = SystemClock()
    give_up_at = clock.monotonic() + PATIENCE
    while not is_ready():
        if process.poll() is not None or clock.monotonic() > give_up_at:
            raise MissingServerError(f"the server did not start:\n{last_words(folder)}")
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.02)


def stop_server(folder: Path, how: signal.Signals) -> None:
    """Ask the server in a folder to end, by a signal, and wait for that; one that does not is killed."""
    number = guardian.server_number(folder)
    if number is None:
        return
    with suppress(ProcessLookupError):  # it has just ended by itself
        os.kill(number, how)
    clock = SystemClock()
    give_up_at = clock.monotonic() + PATIENCE
    while guardian.server_number(folder) is not None and clock.monotonic() < give_up_at:
        for process in started:
            process.poll()  # one that has ended is there until somebody has asked
        clock.sleep(0.01)
    if guardian.server_number(folder) is not None:
        guardian.end_server(folder)


def last_words(folder: Path) -> str:
    """The last that the server in a folder said."""
    with suppress(OSError):
        return (folder / "log").read_text(encoding="utf-8", errors="replace")[-4000:]
    return ""


def give_away(*paths: Path) -> None:
    """Let the user without privileges have what root has made."""
    if os.geteuid() == 0:
        for path in paths:
            shutil.chown(path, unprivileged())


@atexit.register
def _part() -> None:
    """Wait for what was started here; where others still use a server, not for long."""
    for process in started:
        with suppress(subprocess.TimeoutExpired):
            process.wait(_TIME_TO_PART)
        process.returncode = process.returncode or 0  # it may outlive this program, which is no mistake


def watch_over(folder: Path) -> None:
    """Have the server in a folder ended when its last user has ended, however that was."""
    process = subprocess.Popen(  # noqa: S603 - this package's own program
        [sys.executable, "-I", "-S", guardian.__file__, str(folder)],  # it needs nothing but the language
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True, cwd="/",
    )  # fmt: skip
    started.append(process)


def unprivileged() -> str:
    """Who runs servers for root: PostgreSQL refuses to run as root itself."""
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name).pw_name
    raise MissingServerError("root has no other user to run a server as")


def free_port() -> int:
    """A port of the loopback that is free now, and that no client is given while a server restarts.

    On Linux, clients get their own ports from 32,768 on. A client of a server there that is down may be
    given its very port, reach itself, and so take the port from the server.
    """
    for _ in range(_TRIES):
        port = _PORTS[0] + secrets.randbelow(_PORTS[1] - _PORTS[0])
        with closing(socket.socket()) as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise MissingServerError("no port of the loopback is free")
