"""Messages between the daemon and its warden: one JSON object a line, over a socket that never blocks."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

Message = dict[str, Any]

_CHUNK = 1 << 18
_PATIENCE = 5.0
_loads = json.JSONDecoder().decode
_dumps = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


class Wire:
    """One end of the socket. What cannot be sent now is kept; `flush` tries again."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)  # noqa: FBT003 - the standard library's signature
        self._end = end
        self._inbox = b""
        self._outbox = bytearray()

    def fileno(self) -> int:
        return self._end.fileno()

    @property
    def unsent(self) -> int:
        """How many bytes wait to be sent."""
        return len(self._outbox)

    def post(self, message: Message) -> None:
        """Have a message sent with the next flush."""
        self._outbox += _dumps(message).encode() + b"\n"  # ASCII: JSON escapes the rest, lone surrogates too

    def flush(self) -> None:
        """Send what can be sent now. Nobody may be there to read it any more."""
        while self._outbox:
            try:
                sent = self._end.send(self._outbox)
            except BlockingIOError:
                return
            except OSError:  # the other side has gone; reading will say so
                self._outbox.clear()
                return
            del self._outbox[:sent]

    def receive(self) -> Iterator[Message]:
        """The messages that have arrived. EOFError when the other side has gone."""
        try:
            data = self._end.recv(_CHUNK)
        except BlockingIOError:
            return
        except ConnectionError as error:
            raise EOFError from error
        if not data:
            raise EOFError
        *lines, self._inbox = (self._inbox + data).split(b"\n")
        for line in lines:
            yield _loads(line.decode())

    def say_the_last(self) -> None:
        """Send what is left, and wait for the other side to take it, if it does."""
        with suppress(OSError):
            self._end.settimeout(_PATIENCE)
            self._end.sendall(self._outbox)

    def hang_up(self) -> None:
        """Say no more; what the other side has to say is still heard."""
        with suppress(OSError):
            self._end.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._end.close()
