"""A pgbouncer in transaction mode: few connections for many, each transaction on any of them."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from foliot.clock import SystemClock

CONNECTIONS = 3  # fewer than one store would open by itself
_SETTINGS = """\
[databases]
postgres = host={host} port={port} dbname=postgres user={user} password={password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {connections}
max_client_conn = 200
logfile = {folder}/log
"""


def find_pgbouncer() -> str:
    """The program; it is in no wheel, so whoever has it not skips."""
    found = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    return found or pytest.skip("there is no pgbouncer here (Debian: apt-get install pgbouncer)")


@contextmanager
def pooled(url: str) -> Iterator[str]:
    """The URL of the same database, through a pooler."""
    program, server = find_pgbouncer(), urlsplit(url)
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="foliot-pooler-"))
    settings = folder / "pgbouncer.ini"
    settings.write_text(
        _SETTINGS.format(
            host=server.hostname, port=server.port, user=server.username, password=server.password,
            listen=port, connections=CONNECTIONS, folder=folder,
        )
    )  # fmt: skip
    process = subprocess.Popen(  # noqa: S603 - the program that was found
        [program, settings], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        **_without_privileges(folder),
    )  # fmt: skip
    try:
        _wait_until_it_answers(process, port, folder)
        yield f"postgresql://anybody@127.0.0.1:{port}/postgres"
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder)


def _without_privileges(folder: Path) -> dict[str, Any]:
    """It refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam("nobody")
    for path in (folder, *folder.iterdir()):
        shutil.chown(path, user.pw_uid, user.pw_gid)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _wait_until_it_answers(process: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    clock = SystemClock()
    give_up_at = clock.monotonic() + 20
    while process.poll() is None and clock.monotonic() < give_up_at:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        clock.sleep(timedelta(milliseconds=20).total_seconds())
    raise AssertionError((folder / "log").read_text())
