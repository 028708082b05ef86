"""A Redis of one's own, or a Valkey: started, stopped, paused and cleared away."""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Event
from types import MappingProxyType
from typing import IO, Any

from foliot.clock import SystemClock
from foliot.testing.servers.binaries import advice, find_redis
from foliot.testing.servers.faketime import OFFSET_FILE, clock_of_its_own, environment, set_offset
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
_SENTINEL = Path("data", "sentinel.conf")
NOTHING_MORE: Mapping[str, str] = MappingProxyType({})


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
        self.kind: str = facts["kind"]
        self._fsync: str = facts["fsync"]
        self._library: str | None = facts.get("faketime")
        self._offset = folder / OFFSET_FILE
        self._more: dict[str, str] = facts["more"]
        self.password: str = facts["password"]
        self.port: int = facts["port"]
        self.url: str = f"redis://:{self.password}@127.0.0.1:{self.port}/0"

    @classmethod
    def create(  # noqa: PLR0913 - what a server may be made with
        cls,
        folder: Path,
        kind: str = "redis",
        *,
        fsync: str = "always",
        has_clock: bool = False,
        password: str | None = None,
        more: Mapping[str, str] = NOTHING_MORE,
        sentinel: Sequence[str] = (),
    ) -> RedisServer:
        """Make a server in an empty folder, and start it. MissingServerError if that cannot be.

        `fsync` is what its append-only file does: `always`, `everysec`; `off`: it has none. `has_clock`: with
        a clock of its own, which can be set. `more` are settings of it beside ours. With lines of `sentinel`
        it is a Sentinel, and has no data.
        """
        program = find_redis(kind)
        if program is None:
            raise MissingServerError(f"there is no {kind}-server here: install {advice(kind)}")
        facts: dict[str, Any] = {
            "program": str(program), "kind": kind, "port": free_port(), "fsync": fsync, "more": dict(more),
            "password": password or secrets.token_hex(16),
        }  # fmt: skip
        if has_clock:
            if kind == "redis":  # of Debian, whose memory comes from jemalloc
                raise MissingServerError(
                    "the clock of Redis cannot be set, as libfaketime breaks it: use valkey"
                )
            facts |= clock_of_its_own(folder)
        (folder / _FACTS).write_text(json.dumps(facts), encoding="ascii")
        (folder / USERS).touch()
        (folder / "data").mkdir()
        if sentinel:
            (folder / _SENTINEL).write_text("\n".join([*sentinel, ""]), encoding="utf-8")
            give_away(folder / _SENTINEL)  # a Sentinel notes there what it has learned
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
            "requirepass": self.password,
            "masterauth": self.password,
            "dir": str(self.folder / "data"),
            "save": "",
            "appendonly": "no" if self._fsync == "off" else "yes",
            "appendfsync": "everysec" if self._fsync == "off" else self._fsync,
            "maxmemory-policy": "noeviction",
            "repl-diskless-sync-delay": "0",  # no other replica will come
            **self._more,
        }
        arguments = [word for name, value in settings.items() for word in (f"--{name}", value)]
        file = self.folder / _SENTINEL
        role = [str(file), "--sentinel"] if file.exists() else []
        variables = {} if self._library is None else environment(self._library, self._offset)
        process = run_server(self.folder, self._program, *role, *arguments, variables=variables)
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

    def set_clock(self, seconds: float) -> None:
        """Have the server's clock be off by so much, from now on."""
        set_offset(self._offset, seconds)

    @property
    def file_size(self) -> int:
        """How long the append-only file is: what comes after it can be cut away."""
        return self._file().stat().st_size

    def _file(self) -> Path:
        (newest,) = (self.folder / "data" / "appendonlydir").glob("*.incr.aof")
        return newest

    def cut_tail(self, size: int) -> None:
        """Take away the end of the append-only file of a server that is stopped: it forgets that much."""
        os.truncate(self._file(), max(0, self.file_size - size))

    def ask(self, *words: str) -> bytes:
        """What the server answers to one command, as it comes over the wire."""
        with closing(socket.create_connection(("127.0.0.1", self.port), PATIENCE)) as wire:
            log_in(wire, self.password)
            wire.sendall(_packed(*words))
            return wire.recv(65536)

    def setting(self, name: str) -> str:
        """One of the settings that this server has beside ours."""
        return self._more[name]

    def release(self) -> None:
        """Use the server no more; when the last one has done so, it is gone."""
        self._users.close()

    def log(self) -> str:
        """The last that the server said."""
        return last_words(self.folder)

    # -- with others -------------------------------------------------------------------------------

    @contextmanager
    def replica(self) -> Iterator[RedisServer]:
        """A server that follows this one; it has all that there is before this begins."""
        with redis_server(self.kind, fsync=self._fsync, password=self.password) as replica:
            replica.follow(self)
            yield replica

    def follow(self, master: RedisServer) -> None:
        """Have what another server has, and no more, from now on."""
        self.ask("REPLICAOF", "127.0.0.1", str(master.port))
        wait_until(lambda: b"master_link_status:up" in self.ask("INFO", "replication"), "to follow")
        # The master sends it writes only after its first answer, which may come a second later. There must be
        # something to answer: a message that nobody listens to.
        master.ask("PUBLISH", "foliot.testing", "followed")
        heard = re.compile(rb"port=%d,state=online,offset=[1-9]" % self.port)
        wait_until(lambda: heard.search(master.ask("INFO", "replication")) is not None, "to be heard of")

    def promote(self) -> None:
        """Follow no other any more: take writes."""
        self.ask("REPLICAOF", "NO", "ONE")

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


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    """Wait for a server; MissingServerError if it takes too long."""
    clock, pause = SystemClock(), Event()
    give_up_at = clock.monotonic() + PATIENCE
    while not is_so():
        if clock.monotonic() > give_up_at:
            raise MissingServerError(f"the server took too long {what}")
        pause.wait(0.02)


def log_in(wire: socket.socket, password: str) -> None:
    """Tell a server its password. OSError if it cuts the connection: one that is made a master cuts all."""
    wire.sendall(_packed("AUTH", password))
    answer = b""
    while not answer.endswith(b"\r\n"):
        more = wire.recv(100)
        if not more:
            raise ConnectionResetError("the server has cut the connection before it answered")
        answer += more
    if not answer.startswith(b"+OK"):
        raise MissingServerError("the server does not take its password")


def _packed(*words: str) -> bytes:
    parts = [f"*{len(words)}\r\n".encode()]
    for word in words:
        text = word.encode()
        parts.append(f"${len(text)}\r\n".encode() + text + b"\r\n")
    return b"".join(parts)


@contextmanager
def redis_server(kind: str = "redis", *, place: Path | None = None, **options: Any) -> Iterator[RedisServer]:
    """A server for one test, or for one program: no other test has it, so it may be stopped and paused.

    `place`: the folder in which its own folder is made; the user without privileges must be let in there.
    Options are those of `RedisServer.create`.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"foliot-{kind}-", dir=place))
    server = RedisServer.create(folder, kind, **options)
    try:
        yield server
    finally:
        end_server(server.folder)
        server.release()
