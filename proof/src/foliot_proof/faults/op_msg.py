"""As much of MongoDB's protocol as it takes to see a write go, and its answer come."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from foliot_proof.faults.wire import Answer

_HEAD = 16  # bytes: four numbers, the least byte first
_NUMBER = 4
_DONE = b"\x01ok\0\0\0\0\0\0\0\xf0?"  # ok: 1.0, in BSON
_REFUSALS = (b"writeErrors\0", b"writeConcernError\0")


class Message(NamedTuple):
    """One message: its number, the number of what it answers, and the rest."""

    number: int
    answers: int
    body: bytes


class Messages:
    """One direction of a connection, cut into messages as the bytes come."""

    def __init__(self) -> None:
        self._bytes = b""

    def of(self, data: bytes) -> Iterator[Message]:
        """The messages that are whole by now."""
        self._bytes += data
        while len(self._bytes) >= _HEAD:
            length, number, answers = (_read(self._bytes, place) for place in range(3))
            if len(self._bytes) < length:
                return
            yield Message(number, answers, self._bytes[_HEAD:length])
            self._bytes = self._bytes[length:]


def _read(data: bytes, place: int) -> int:
    return int.from_bytes(data[place * _NUMBER : (place + 1) * _NUMBER], "little")


class WriteTalk:
    """What node and server say to each other on one connection: an answer names what it answers."""

    def __init__(self) -> None:
        self._asked = Messages()
        self._answered = Messages()
        self._wanted: int | None = None  # the number of the write that is waited for

    def ask(self, data: bytes, words: bytes) -> bool:
        """The node has said something; whether it has asked for the write that is waited for."""
        is_asked_for = False
        for message in self._asked.of(data):
            if words and not is_asked_for and words in message.body:
                self._wanted, is_asked_for = message.number, True
        return is_asked_for

    def answer(self, data: bytes) -> Answer:
        """The server has said something; what it means to the write that is waited for."""
        found = Answer.NONE
        for message in self._answered.of(data):
            if message.answers == self._wanted:
                self._wanted = None
                is_done = _DONE in message.body and not any(word in message.body for word in _REFUSALS)
                found = Answer.DONE if is_done else Answer.REFUSED
        return found
