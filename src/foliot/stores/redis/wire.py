"""One connection to the server: it sends commands, returns answers, and translates the driver's errors."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from hiredis import pack_command
from redis import exceptions
from redis.backoff import NoBackoff
from redis.connection import Connection
from redis.exceptions import NoScriptError, RedisError, ResponseError
from redis.retry import Retry

from foliot.errors import StoreError, StoreUnavailableError, shorten
from foliot.stores.redis.address import Address

Command = Sequence[Any]
Answer = Any

_NO_ANSWER = (exceptions.ConnectionError, exceptions.TimeoutError, OSError)
# Errors that may be over later: by the driver's class, or by how the answer begins.
_LATER: dict[type[Exception] | str, str] = {
    exceptions.OutOfMemoryError: "the server is out of memory: raise maxmemory, or let it hold less",
    exceptions.ReadOnlyError: "that is a replica: name the master in the URL",
    exceptions.BusyLoadingError: "the server reads its data, and will answer",
    exceptions.MasterDownError: "that is a replica whose master is away: name the master in the URL",
    exceptions.ClusterDownError: "the cluster is not complete",
    exceptions.MovedError: "another node of the cluster has that namespace: redis+cluster:// finds it",
    exceptions.AskError: "the cluster moves the namespace to another node",
    exceptions.TryAgainError: "the cluster moves the namespace to another node",
    exceptions.AuthenticationError: "the user or the password is wrong: redis://user:password@host",
    exceptions.NoPermissionError: "the user lacks rights: see docs/how-to/redis.md",
    "BUSY": "a script or a command of another client keeps the server busy",
    "MISCONF": "the server cannot write to its disk, and takes no more writes",
    "NOREPLICAS": "the server has fewer replicas than min-replicas-to-write",
}


_SHORTEST_WAIT = 2.0  # seconds for an answer, on a machine that is busy


class Wire:
    """A connection, with a deadline for each answer. After any error it is closed, and opened anew."""

    def __init__(self, address: Address, deadline: timedelta) -> None:
        seconds = max(_SHORTEST_WAIT, deadline.total_seconds())  # the caller gives up earlier
        facts = dict(address.server)
        make = facts.pop("connection_class", Connection)
        self._connection: Any = make(
            **facts,
            socket_timeout=seconds,
            socket_connect_timeout=seconds,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )
        self.is_given_up = False
        self.host = str(facts.get("host", ""))
        self._confirmation = _confirmation(address, deadline)
        self._needed = address.replicas or 1
        self._connection.connect()

    def ask(self, *command: Any) -> Answer:
        """The answer to one command."""
        (answer,) = self.ask_all((command,))
        if isinstance(answer, RedisError):
            raise answer
        return answer

    def ask_all(self, commands: Sequence[Command]) -> list[Answer]:
        """The answers to commands that are sent together; a refusal is an answer."""
        if self.is_given_up:
            raise exceptions.TimeoutError("it was given up")
        connection = self._connection
        packed = b"".join([pack_command(tuple(command)) for command in commands])
        connection.send_packed_command((packed,), check_health=False)
        return [self._answer() for _ in commands]

    def ask_surely(self, commands: Sequence[Command]) -> list[Answer]:
        """The same for writes. StoreUnavailableError if fewer copies have them than the URL requires."""
        if not self._confirmation:
            return self.ask_all(commands)
        *answers, confirmed = self.ask_all([*commands, self._confirmation])
        if isinstance(confirmed, RedisError):
            raise confirmed
        count = confirmed[0] if isinstance(confirmed, list) else confirmed
        if count < self._needed:
            raise StoreUnavailableError(
                "write",
                f"{self._confirmation[0]} reports that {count} of {self._needed} have the last write",
                hint="it may count later; durable= in the URL requires more than the server could do in time",
            )
        return answers

    @property
    def confirms(self) -> bool:
        """Whether writes are confirmed."""
        return bool(self._confirmation)

    def _answer(self) -> Answer:
        try:
            return self._connection.read_response()
        except ResponseError as refusal:
            return refusal

    def hears(self, seconds: float) -> bool:
        """Whether a message has come, or comes within that time."""
        return bool(self._connection.can_read(timeout=seconds))

    def hear(self) -> Answer:
        """The next message that the server has published."""
        return self._answer()

    def is_stale(self) -> bool:
        """Whether the connection has unexpected data: then the server has closed it meanwhile."""
        try:
            return self.hears(0)
        except (RedisError, OSError):
            return True

    def cut(self) -> None:
        """End the connection from another thread, so that a waiting caller stops waiting."""
        self.is_given_up = True
        wire = self._connection._sock  # noqa: SLF001 - the driver has no other way to another thread's wait
        if wire is not None:
            with suppress(OSError):
                wire.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let go of the server."""
        with suppress(RedisError, OSError):
            self._connection.disconnect()


def _confirmation(address: Address, deadline: timedelta) -> Command:
    """The command after each write, if a write must be on disk or on replicas to count."""
    patience = int(deadline.total_seconds() * 700)  # milliseconds: less than the deadline
    if address.aof:
        return "WAITAOF", 1, 0, patience
    return ("WAIT", address.replicas, patience) if address.replicas else ()


def translated(verb: str, error: Exception) -> StoreError:
    """Translate an error of the driver: no answer now, or a lasting error. It contains no password."""
    said = shorten(str(error).strip().partition("\n")[0]) or type(error).__name__
    if isinstance(error, NoScriptError):
        return StoreUnavailableError(verb, "Redis has just lost a script")
    hint = next((hint for sign, hint in _LATER.items() if _is(error, sign)), None)
    if hint is not None or isinstance(error, _NO_ANSWER):
        return StoreUnavailableError(verb, f"Redis says: {said}", hint=hint)
    return StoreError(f"{verb}: Redis says: {said}", details={"verb": verb, "reason": said})


def _is(error: Exception, sign: type[Exception] | str) -> bool:
    if isinstance(sign, str):
        return str(error).startswith(f"{sign} ")
    return isinstance(error, sign)
