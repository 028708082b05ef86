"""Herds: at one instant, more jobs of a queue are due than its living nodes have slots for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import NamedTuple

from foliot.operations.facts import node_state
from foliot.operations.questions import Questions
from foliot.operations.rule_count import Rule
from foliot.protocols import JobQuery

_MINUTE = timedelta(minutes=1)
_NEWEST = 200  # attempts whose durations are looked at


class Herd(NamedTuple):
    """The jobs of a queue at an instant. `delay`: seconds until all have started; None if unknown."""

    at: datetime
    queue: str
    jobs: int
    slots: int
    delay: float | None

    def __str__(self) -> str:
        """A sentence for people."""
        lasts = "" if self.delay is None else f": about {max(1, round(self.delay))} s to start all"
        return f"{self.jobs:,} jobs of queue {self.queue} at {self.at:%H:%M} UTC, {self.slots:,} slots{lasts}"


class Room(NamedTuple):
    """The slots of each queue whose nodes tell them; how long the newest runs of its jobs took."""

    slots: Mapping[str, int]
    took: Mapping[str, Sequence[float]]  # seconds


NO_ROOM = Room({}, {})


async def find_room(ops: Questions) -> Room:
    """The slots of running nodes.

    A queue with a node of an older version is left out: its slots are unknown.
    """
    now, slots, unknown = await ops.store.now(), Counter[str](), set[str]()
    for node in await ops.store.nodes():
        if node_state(node, now) == "alive":
            slots.update(dict(node.node.slots))
            unknown.update(set(node.node.queues) - dict(node.node.slots).keys())
    ended = await ops.attempts(is_open=False, limit=_NEWEST)
    took = {
        one.job: (one.finished_at - one.started_at).total_seconds()
        for one in reversed(ended)  # of several runs of a job, the newest
        if one.started_at and one.finished_at
    }
    by_queue: dict[str, list[float]] = {}
    for view in await ops.store.jobs(JobQuery(keys=frozenset(took), limit=_NEWEST)) if took else ():
        if view.record is not None:
            by_queue.setdefault(view.record.job.queue, []).append(took[view.key])
    return Room({queue: count for queue, count in slots.items() if queue not in unknown}, by_queue)


def find_herds(
    rules: Counter[Rule],
    spans: Iterable[tuple[datetime, datetime, int]],
    room: Room,
) -> Iterator[Herd]:
    """The largest herd of each queue in each span, which has its occurrences."""
    for begin, end, occurrences in spans:
        for queue, slots in sorted(room.slots.items()):
            served = [pair for pair in rules.items() if pair[0].queue == queue and not pair[0].is_spread]
            if occurrences <= slots or sum(count for _, count in served) <= slots:
                continue
            jobs, at = max(
                (
                    (sum(rule.occurrences(at, at) * n for rule, n in served), at)
                    for at in _minutes(begin, end)
                ),
                key=lambda found: found[0],
                default=(0, begin),
            )
            if jobs > slots:
                took = room.took.get(queue)
                rounds = -(-jobs // slots) - 1  # that must end before the last one starts
                yield Herd(at, queue, jobs, slots, rounds * median(took) if took else None)


def _minutes(begin: datetime, end: datetime) -> Iterator[datetime]:
    at = begin.replace(second=0, microsecond=0)
    at = at if at == begin else at + _MINUTE
    while at < end:
        yield at
        at += _MINUTE
