"""Which record is to be looked at first, by queue and kind of action: the memory store's index."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from datetime import datetime
from heapq import heappop, heappush

from foliot.model.state import Record

_Heap = list[tuple[datetime, str]]


class DueIndex:
    """Heaps of (wake_at, key). An entry whose record has moved meanwhile is dropped when its turn comes."""

    def __init__(self, find: Callable[[str], Record | None]) -> None:
        self._find = find
        self._heaps: dict[str, dict[str, _Heap]] = {}

    def push(self, record: Record) -> None:
        """Note when a record wants to be looked at."""
        job, wake_at = record.job, record.state.wake_at
        if wake_at is not None:
            heap = self._heaps.setdefault(job.queue, {}).setdefault(job.action.kind, [])
            heappush(heap, (wake_at, job.key))

    def pop(self, queue: str, kinds: Collection[str] | None, now: datetime) -> Record | None:
        """Take out the record that has been due for longest."""
        heap = min(self._current(queue, kinds), key=lambda heap: heap[0], default=None)
        if heap is None or heap[0][0] > now:
            return None
        return self._find(heappop(heap)[1])

    def first(self, queues: Collection[str], kinds: Collection[str] | None) -> datetime | None:
        """When the next record is due."""
        wakes = (heap[0][0] for queue in queues for heap in self._current(queue, kinds))
        return min(wakes, default=None)

    def count(self, queues: Collection[str], kinds: Collection[str] | None, now: datetime) -> int:
        """How many records are due."""
        due = {
            key
            for queue in queues
            for kind, heap in self._heaps.get(queue, {}).items()
            if kinds is None or kind in kinds
            for wake_at, key in _up_to(now, heap)
            if self._holds(queue, kind, wake_at, key)
        }
        return len(due)

    def _current(self, queue: str, kinds: Collection[str] | None) -> Iterator[_Heap]:
        """The heaps that have an entry, with one on top that still holds."""
        for kind, heap in self._heaps.get(queue, {}).items():
            if kinds is not None and kind not in kinds:
                continue
            while heap and not self._holds(queue, kind, *heap[0]):
                heappop(heap)
            if heap:
                yield heap

    def _holds(self, queue: str, kind: str, wake_at: datetime, key: str) -> bool:
        """Otherwise the job has moved, changed its queue or its kind, or been set aside since."""
        record = self._find(key)
        if record is None:
            return False
        job = record.job
        return record.state.wake_at == wake_at and job.queue == queue and job.action.kind == kind


def _up_to(now: datetime, heap: _Heap) -> Iterator[tuple[datetime, str]]:
    """The entries up to an instant, in no order; of what comes later, no more than the edge is looked at."""
    places = [0]
    while places:
        place = places.pop()
        if place < len(heap) and heap[place][0] <= now:
            yield heap[place]
            places += (2 * place + 1, 2 * place + 2)
