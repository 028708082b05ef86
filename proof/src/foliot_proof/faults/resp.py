"""As much of Redis' protocol as it takes to see a script go, and its answer come."""

from __future__ import annotations

from collections import deque

from foliot_proof.faults.wire import Answer

_END = b"\r\n"
_SCRIPT = b"EVALSHA"
_LISTS, _TEXTS = b"*", b"$"


class Reader:
    """One direction of a connection, cut into values as the bytes come. A list is one value."""

    def __init__(self) -> None:
        self._bytes = b""

    def values(self, data: bytes) -> list[list[bytes]]:
        """The values that are whole by now, each as the flat list of its parts."""
        self._bytes += data
        found: list[list[bytes]] = []
        while True:
            parts: list[bytes] = []
            end = self._end_of(0, parts)
            if end is None:
                return found
            found.append(parts)
            self._bytes = self._bytes[end:]

    def _end_of(self, start: int, parts: list[bytes]) -> int | None:
        """Where the value that begins here ends; None: it is not whole yet."""
        line_end = self._bytes.find(_END, start)
        if line_end < 0:
            return None
        kind, word = self._bytes[start : start + 1], self._bytes[start + 1 : line_end]
        at = line_end + len(_END)
        if kind == _TEXTS and int(word) >= 0:
            end = at + int(word)
            parts.append(self._bytes[at:end])
            return end + len(_END) if len(self._bytes) >= end + len(_END) else None
        if kind == _LISTS:
            for _ in range(int(word)):
                following = self._end_of(at, parts)
                if following is None:
                    return None
                at = following
            return at
        parts.append(kind + word)
        return at


class ScriptTalk:
    """What node and server say to each other on one connection: each command has one answer, in order."""

    def __init__(self) -> None:
        self._asked = Reader()
        self._answered = Reader()
        self._open: deque[bool] = (
            deque()
        )  # of commands without an answer: which is the one that is waited for

    def ask(self, data: bytes, words: bytes) -> bool:
        """The node has said something; whether it has called the script that is waited for."""
        is_asked_for = False
        for command in self._asked.values(data):
            is_wanted = bool(words) and command[0] == _SCRIPT and any(words in word for word in command)
            self._open.append(is_wanted and not is_asked_for)
            is_asked_for = is_asked_for or is_wanted
        return is_asked_for

    def answer(self, data: bytes) -> Answer:
        """The server has said something; what it means to the script that is waited for."""
        found = Answer.NONE
        for value in self._answered.values(data):
            if self._open and self._open.popleft() and found is Answer.NONE:
                found = Answer.DONE if value[:1] == [b"OK"] else Answer.REFUSED
        return found
