"""What a run says about itself, within a bound: the beginning and the end are kept, the middle is counted."""

from __future__ import annotations

from collections import deque

HEAD = 16_000
TAIL = 48_000


class RunLog:
    """A log of text: call it as you would call `print`. Kept in the history with the run."""

    __slots__ = ("_dropped", "_head", "_head_size", "_tail", "_tail_size")

    def __init__(self) -> None:
        self._head: list[str] = []
        self._tail: deque[str] = deque()
        self._head_size = self._tail_size = self._dropped = 0

    def __call__(self, *values: object, sep: str = " ", end: str = "\n") -> None:
        """Add a line."""
        self.write(sep.join(str(value) for value in values) + end)

    def write(self, text: str) -> int:
        """Add text, as to a file; `print(..., file=run.log)` works, too."""
        given: object = text
        if not isinstance(given, str):
            raise TypeError(f"a run's log takes text, not {type(given).__name__}")
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

    @property
    def text(self) -> str:
        """What is kept."""
        tail = "".join(self._tail)
        surplus = max(0, len(tail) - TAIL)
        gap = self._dropped + surplus
        middle = f"\n… {gap} characters left out …\n" if gap else ""
        return "".join(self._head) + middle + tail[surplus:]

    @property
    def dropped(self) -> int:
        """How many characters are missing in the middle."""
        return self._dropped + max(0, self._tail_size - TAIL)
