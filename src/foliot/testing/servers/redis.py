"""A Redis of one's own, or a Valkey: started, stopped, paused and cleared away."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from foliot.testing.servers.binaries import advice, find_redis
from foliot.testing.servers.guardian import PID_FILE, USERS, end_server, server_number
from foliot.testing.servers.process import (
    PATIENCE,
    MissingServerError,
    free_port,
    give_away,
    last_words,
    run_server,
    stop_server,
    wait_until_ready,
    watch_over,
)

_FACTS = "facts.json"


class RedisServer:
    """A server in a folder, and this process as one of its users.

    `url` is that of its first database. The server lives until `release` of this object.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._users: IO[bytes] = (folder / USERS).open("rb")
        fcntl.flock(self._users, fcntl.LOCK_SH)
        facts: dict[str, Any] = json.loads((folder / _FACTS).read_text(encoding="ascii"))
        self._program = Path(facts["program"])
        self._fsync: str = facts["fsync"]
        self._password: str = facts["password"]
        self.port: int = facts["port"]
        self.url: str = f"redis://:{self._password}@127.0.0.1:{self.port}/0"

    @classmethod
    def create(cls, folder: Path, kind: str = "redis", *, fsync: str = "always") -> RedisServer:
        """Make a server in an empty folder, and start it. MissingServerError if that cannot be.

        `fsync` is what its append-only file does: `always`, `everysec`; `off`: it has none.
        """
        program = find_redis(kind)
        if program is None:
            raise MissingServerError(f"there is no {kind}-server here: install {advice(kind)}")
        facts = {
            "program": str(program), "port": free_port(), "password": secrets.token_hex(16), "fsync": fsync,
        }  # fmt: skip
        (folder / _FACTS).write_text(json.dumps(facts), encoding="ascii")
        (folder / USERS).touch()
        (folder / "data").mkdir()
        give_away(folder, folder / "data")
        server = cls(folder)
        watch_over(folder)
        server.start()
        return server

    # -- its life ----------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        settings = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "unixsocket": str(self.folder / "socket"),
            # The guardian finds the process by this file, and knows it by the folder in its title.
            "pidfile": str(self.folder / PID_FILE),
            "proc-title-template": "{title} {unixsocket}",
            "requirepass": self._password,
            "dir": str(self.folder / "data"),
            "save": "",
            "appendonly": "no" if self._fsync == "off" else "yes",
            "appendfsync": "everysec" if self._fsync == "off" else self._fsync,
            "maxmemory-policy": "noeviction",
        }
        arguments = [word for name, value in settings.items() for word in (f"--{name}", value)]
        process = run_server(self.folder, self._program, *arguments)
        wait_until_ready(process, self._is_ready, self.folder)

    def stop(self, *, immediate: bool = False) -> None:
        """Stop the server; `immediate`: as a crash would."""
        stop_server(self.folder, signal.SIGKILL if immediate else signal.SIGTERM)

    def restart(self, *, immediate: bool = False) -> None:
        """Stop the server, and start it again on the same port."""
        self.stop(immediate=immediate)
        self.start()

    def pause(self) -> None:
        """Let the server hang: it takes connections and requests, and never answers."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let the server go on after a pause."""
        self._signal(signal.SIGCONT)

    def cut_tail(self, size: int) -> None:
        """Take away the end of the append-only file of a server that is stopped: it forgets that much."""
        (newest,) = (self.folder / "data" / "appendonlydir").glob("*.incr.aof")
        os.truncate(newest, max(0, newest.stat().st_size - size))

    def ask(self, *words: str) -> bytes:
        """What the server answers to one command, as it comes over the wire."""
        with closing(socket.create_connection(("127.0.0.1", self.port), PATIENCE)) as wire:
            wire.sendall(_packed("AUTH", self._password))
            if not wire.recv(100).startswith(b"+OK"):
                raise MissingServerError("the server does not take its password")
            wire.sendall(_packed(*words))
            return wire.recv(65536)

    def release(self) -> None:
        """Use the server no more; when the last one has done so, it is gone."""
        self._users.close()

    def log(self) -> str:
        """The last that the server said."""
        return last_words(self.folder)

    # -- inside ------------------------------------------------------------------------------------

    def _signal(self, number: int) -> None:
        server = server_number(self.folder)
        if server is not None:
            with suppress(ProcessLookupError):
                os.kill(server, number)

    def _is_ready(self) -> bool:
        with suppress(OSError, MissingServerError):
            return self.ask("PING").startswith(b"+PONG")
        return False


def _packed(*words: str) -> bytes:
    parts = [f"*{len(words)}\r\n".encode()]
    for word in words:
        text = word.encode()
        parts.append(f"${len(text)}\r\n".encode() + text + b"\r\n")
    return b"".join(parts)


@contextmanager
def redis_server(kind: str = "redis", *, fsync: str = "always") -> Iterator[RedisServer]:
    """A server for one test, or for one program: no other test has it, so it may be stopped and paused."""
    server = RedisServer.create(Path(tempfile.mkdtemp(prefix=f"foliot-{kind}-")), kind, fsync=fsync)
    try:
        yield server
    finally:
        end_server(server.folder)
        server.release()
