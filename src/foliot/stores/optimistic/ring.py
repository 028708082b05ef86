"""The last writes of this process. If the database loses them, they are written again.

A server may answer before its disk or its replicas have the write. After a crash it may come back without it.
The database counts its writes. The count after the crash shows the loss: every write with a higher number is
lost. Each write is guarded by the mark that the job had before it, so a write that is sent again takes effect
only where it is missing.

    this process       writes 98, 101, 103
    another process    writes 99, 100, 102     the database comes back with 100 writes
                       102 has changed a job after 101 did: it is refused until 101 is there again
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from datetime import timedelta
from typing import Generic, TypeVar

from foliot.protocols import Clock

Write = TypeVar("Write")
REMEMBERED = timedelta(minutes=1)
MOST_JOBS = 20_000


class _Kept(Generic[Write]):
    """One write: its number, and when it was answered."""

    __slots__ = ("at", "jobs", "number", "write")

    def __init__(self, number: int, at: float, jobs: int, write: Write) -> None:
        self.number = number
        self.at = at
        self.jobs = jobs
        self.write = write


class Ring(Generic[Write]):
    """The writes of the last minute, with a bound on their jobs. Threads may add while another reads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._kept: deque[_Kept[Write]] = deque()
        self._jobs = 0
        self._lost: list[_Kept[Write]] = []  # in the order of their numbers

    def add(self, write: Write, jobs: int, number: int) -> None:
        """Keep a write that the database has confirmed under that number; `jobs`: how many jobs it writes."""
        now = self._clock.monotonic()
        self._kept.append(_Kept(number, now, jobs, write))
        self._jobs += jobs
        oldest = now - REMEMBERED.total_seconds()
        while self._kept and (self._jobs > MOST_JOBS or self._kept[0].at < oldest):
            self._jobs -= self._kept.popleft().jobs

    def clear(self) -> None:
        """Remember nothing."""
        self._kept.clear()
        self._jobs, self._lost = 0, []

    def note_loss(self, number: int) -> int:
        """The database has come back with `number` writes. Returns how many kept writes it has lost."""
        lost = [one for one in tuple(self._kept) if one.number > number]
        self._lost = sorted(lost, key=lambda one: one.number)
        return len(lost)

    @property
    def has_lost(self) -> bool:
        """Whether some lost writes are not written again yet."""
        return bool(self._lost)

    def write_again(self, write: Callable[[Write], tuple[int, Write | None]]) -> int:
        """Send lost writes again. Returns how many of them took effect, at least in part.

        `write` returns the new number of the write, and the refused part of it. If that part is the whole
        write, nothing was written.
        """
        left: list[_Kept[Write]] = []
        written = 0
        for one in self._lost:
            number, refused = write(one.write)
            if refused is not None:
                left.append(one if refused is one.write else _Kept(one.number, one.at, one.jobs, refused))
            if refused is not one.write:
                one.number = number  # it may be lost again
                written += 1
        self._lost = left
        return written
