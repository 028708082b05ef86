"""As much of PostgreSQL's protocol as it takes to see a COMMIT go, and its answer come."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum, auto
from typing import Protocol

_LENGTH = 4
_QUERY, _PARSE = b"Q", b"P"
_COMPLETE, _READY = b"C", b"Z"
_COMMIT = b"COMMIT"


class Stream:
    """One direction of a connection, cut into messages as the bytes come.

    The first message of a client has no type; all others are a type of one byte, a length and a body.
    """

    def __init__(self, *, is_client: bool) -> None:
        self._bytes = bytearray()
        self._is_greeting = is_client

    def messages(self, data: bytes) -> Iterator[tuple[bytes, bytes]]:
        """The messages that are whole by now: type and body."""
        self._bytes += data
        while True:
            head = 0 if self._is_greeting else 1
            length = int.from_bytes(self._bytes[head : head + _LENGTH], "big")
            if len(self._bytes) < head + _LENGTH or len(self._bytes) < head + length:
                return
            kind, body = bytes(self._bytes[:head]), bytes(self._bytes[head + _LENGTH : head + length])
            del self._bytes[: head + length]
            self._is_greeting = False
            yield kind, body


class Answer(Enum):
    """What the server has said to a COMMIT so far."""

    NONE = auto()
    DONE = auto()
    REFUSED = auto()


class Talk(Protocol):
    """Follows what node and server say to each other on one connection, in the protocol of a server."""

    def ask(self, data: bytes, words: bytes) -> bool:
        """The node has said something; whether it has asked for the write that has these words in it."""
        ...

    def answer(self, data: bytes) -> Answer:
        """The server has said something; what it means to the write that is waited for."""
        ...


class Conversation:
    """What node and server say to each other on one connection.

    `is_committing`: a COMMIT is on its way, of a transaction in which a statement had the words.
    """

    def __init__(self) -> None:
        self.is_committing = False
        self._asked = Stream(is_client=True)
        self._answered = Stream(is_client=False)
        self._statements: list[bytes] = []

    def ask(self, data: bytes, words: bytes) -> bool:
        """The node has said something; whether it has asked for the commit that is waited for."""
        is_asked_for = False
        for kind, body in self._asked.messages(data):
            statement = _statement(kind, body)
            if statement == _COMMIT:
                self.is_committing = is_asked_for = any(words in other for other in self._statements)
            elif statement.startswith(b"BEGIN"):
                self._statements = [statement]
            elif statement:
                self._statements.append(statement)
        return is_asked_for

    def answer(self, data: bytes) -> Answer:
        """The server has said something; what it means to a commit that is on its way."""
        found = Answer.NONE
        for kind, body in self._answered.messages(data):
            if not self.is_committing or found is not Answer.NONE:
                continue
            if kind == _COMPLETE and body.rstrip(b"\0") == _COMMIT:
                found = Answer.DONE
            elif kind == _READY:
                found = Answer.REFUSED
        if found is not Answer.NONE:
            self.is_committing = False
        return found


def _statement(kind: bytes, body: bytes) -> bytes:
    """The text of a statement, if a message has one: of the simple or of the extended protocol."""
    if kind == _QUERY:
        return body.rstrip(b"\0")
    if kind == _PARSE:
        return body.split(b"\0", 2)[1]
    return b""
