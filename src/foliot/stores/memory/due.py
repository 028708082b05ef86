"""The memory store's index of due records, by queue and kind of action."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from heapq import heappop, heappush

from foliot.model.kinds import serves
from foliot.model.state import Record

_Heap = list[tuple[datetime, str]]


_SPARE = 64  # with fewer outdated entries, rebuilding the heaps is not worth it


class DueIndex:
    """Heaps of (wake_at, key). An outdated entry is dropped when it comes to the top.

    If most entries are outdated, the heaps are rebuilt, so they stay small.
    """

    def __init__(self, find: Callable[[str], Record | None]) -> None:
        self._find = find
        self._heaps: dict[str, dict[str, _Heap]] = {}
        self._places: dict[str, tuple[str, str, datetime]] = {}  # the valid entry of each key
        self._size = 0

    def push(self, record: Record) -> None:
        """Add a record with its time to wake."""
        job, wake_at = record.job, record.state.wake_at
        if wake_at is None:
            self._places.pop(job.key, None)
            return
        place = job.queue, job.action.kind, wake_at
        if self._places.get(job.key) != place:
            self._places[job.key] = place
            self._add(job.key, *place)
            if self._size > 2 * len(self._places) + _SPARE:
                self._build_anew()

    def _add(self, key: str, queue: str, kind: str, wake_at: datetime) -> None:
        heappush(self._heaps.setdefault(queue, {}).setdefault(kind, []), (wake_at, key))
        self._size += 1

    def _build_anew(self) -> None:
        self._heaps, self._size = {}, 0
        for key, place in self._places.items():
            self._add(key, *place)

    def drop(self, key: str) -> None:
        """The job is gone."""
        self._places.pop(key, None)

    def pop(self, queue: str, kinds: Collection[str] | None, now: datetime) -> Record | None:
        """Take out the record that has been due for longest."""
        heap = min(self._current(queue, kinds), key=lambda heap: heap[0], default=None)
        if heap is None or heap[0][0] > now:
            return None
        _, key = self._take(heap)
        del self._places[key]
        return self._find(key)

    def push_again(self, key: str) -> None:
        """Put a record back that was taken out."""
        if (record := self._find(key)) is not None:
            self.push(record)

    def _take(self, heap: _Heap) -> tuple[datetime, str]:
        self._size -= 1
        return heappop(heap)

    def first(
        self, queues: Collection[str], kinds: Collection[str] | None, after: datetime | None = None
    ) -> datetime | None:
        """When the next record is due, or the next one after a time."""
        heaps = [heap for queue in queues for heap in self._current(queue, kinds)]
        if after is None:
            return min((heap[0][0] for heap in heaps), default=None)
        return min((at for heap in heaps for at in self._after(after, heap)), default=None)

    def _after(self, after: datetime, heap: _Heap) -> Iterator[datetime]:
        """The candidates for the first time after an instant: children of these in the heap are later."""
        places = [0]
        while places:
            place = places.pop()
            if place < len(heap):
                wake_at, key = heap[place]
                if wake_at > after and key in self._places and self._places[key][2] == wake_at:
                    yield wake_at
                else:
                    places += (2 * place + 1, 2 * place + 2)

    def count(self, queues: Collection[str], kinds: Collection[str] | None, now: datetime) -> int:
        """How many records are due."""
        due = {
            key
            for queue in queues
            for kind, heap in self._heaps.get(queue, {}).items()
            if serves(kinds, kind)
            for wake_at, key in _up_to(now, heap)
            if self._holds(queue, kind, wake_at, key)
        }
        return len(due)

    def _current(self, queue: str, kinds: Collection[str] | None) -> Iterator[_Heap]:
        """The heaps with a valid entry on top."""
        for kind, heap in self._heaps.get(queue, {}).items():
            if not serves(kinds, kind):
                continue
            while heap and not self._holds(queue, kind, *heap[0]):
                wake_at, key = self._take(heap)
                if self._places.get(key) == (queue, kind, wake_at):  # it is set aside, and may come back
                    del self._places[key]
            if heap:
                yield heap

    def _holds(self, queue: str, kind: str, wake_at: datetime, key: str) -> bool:
        """Whether an entry is valid. Otherwise the job has moved, changed its lane, or was set aside."""
        return self._places.get(key) == (queue, kind, wake_at) and self._find(key) is not None


def _up_to(now: datetime, heap: _Heap) -> Iterator[tuple[datetime, str]]:
    """The entries up to an instant, in no order. Later entries are not searched."""
    places = [0]
    while places:
        place = places.pop()
        if place < len(heap) and heap[place][0] <= now:
            yield heap[place]
            places += (2 * place + 1, 2 * place + 2)
