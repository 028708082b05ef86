"""What a run says about itself, within a bound: the beginning and the end are kept, the middle is counted."""

from __future__ import annotations

from collections import deque
from threading import Lock

from foliot.model.output import HEAD, TAIL, gap_mark


class RunLog:
    """A log of text: call it as you would call `print`. Kept in the history with the run.

    A function writes in its own thread while the engine's reads what is new.
    """

    __slots__ = ("_dropped", "_head", "_head_size", "_lock", "_tail", "_tail_size", "is_closed")

    def __init__(self) -> None:
        self._head: list[str] = []
        self._tail: deque[str] = deque()
        self._head_size = self._tail_size = self._dropped = 0
        self._lock = Lock()
        self.is_closed = False  # the run has ended: the engine reads no further

    def __call__(self, *values: object, sep: str = " ", end: str = "\n") -> None:
        """Add a line."""
        self.write(sep.join(str(value) for value in values) + end)

    def write(self, text: str) -> int:
        """Add text, as to a file; `print(..., file=run.log)` works, too."""
        given: object = text
        if not isinstance(given, str):
            raise TypeError(f"a run's log takes text, not {type(given).__name__}")
        with self._lock:
            room = HEAD - self._head_size
            if room > 0:
                self._head.append(text[:room])
                self._head_size += len(self._head[-1])
            self._keep_end(text[max(room, 0) :])
        return len(text)

    def flush(self) -> None:
        """Nothing to do; files have it."""

    def _keep_end(self, text: str) -> None:
        if not text:
            return
        self._dropped += max(0, len(text) - TAIL)
        self._tail.append(text[-TAIL:])
        self._tail_size += len(self._tail[-1])
        while self._tail_size - len(self._tail[0]) >= TAIL:
            gone = self._tail.popleft()
            self._tail_size -= len(gone)
            self._dropped += len(gone)

    def skip(self, place: int) -> None:
        """Go on at a place: what was written between is not known. Behind the beginning only."""
        with self._lock:
            missing = place - self._head_size - self._dropped - self._tail_size
            if missing > 0:
                self._dropped += self._tail_size + missing
                self._tail_size = 0
                self._tail.clear()

    def since(self, place: int) -> list[tuple[int, str]]:
        """What was written from a place on and is kept: one text or two, each with its place."""
        with self._lock:
            head, tail = "".join(self._head)[place:], "".join(self._tail)
            begin = self._head_size + self._dropped  # of the tail
        parts = [(place, head), (max(place, begin), tail[max(0, place - begin) :])]
        if head and not self._dropped:
            return [(place, head + parts[1][1])]
        return [part for part in parts if part[1]]

    @property
    def text(self) -> str:
        """What is kept."""
        tail = "".join(self._tail)
        surplus = max(0, len(tail) - TAIL)
        gap = self._dropped + surplus
        return "".join(self._head) + (gap_mark(gap) if gap else "") + tail[surplus:]

    @property
    def dropped(self) -> int:
        """How many characters are missing in the middle."""
        return self._dropped + max(0, self._tail_size - TAIL)
