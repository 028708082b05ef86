"""Herds on Redis: one script starts, or ends, the runs of many jobs that are alike (`scripts/herd.lua`).

The words of a call are columns; values that a herd shares are sent once. A run of a herd knows the mark that
its start gave to the job. If the job still has this mark when the run succeeds, it has not changed since.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from foliot.model.attempt import Ending
from foliot.model.run import Run
from foliot.protocols import DecideDue, DecideEnded, Finished
from foliot.stores.claim_loop import Page
from foliot.stores.optimistic.entry import Entry
from foliot.stores.optimistic.herd import Parts, TextHerdStart, next_at, plain_parts
from foliot.stores.optimistic.herd_starts import HerdStarts, Taken
from foliot.stores.optimistic.herd_starts import finish as end_herds
from foliot.stores.optimistic.session import Guard
from foliot.stores.redis import layout
from foliot.stores.redis.asking import text_of
from foliot.stores.redis.script import Call
from foliot.stores.redis.session import RedisSession
from foliot.stores.redis.shared import PLACES
from foliot.stores.redis.written import HERD, Written

AT_ONCE = 250  # jobs of one script
FoundRow = tuple[str, str, str, str]  # place, key, text and definition
_START, _END = "start", "end"


def herd_starts(session: RedisSession, guard: Guard, now: datetime, decide: DecideDue) -> HerdStarts:
    """The herd runs that one claim starts."""

    def start(taken: Sequence[Taken]) -> Collection[str]:
        return write(session, _START, taken, guard)

    return HerdStarts(session.herds, str(guard.node), now, decide, start)


class DuePage(Page[Entry]):
    """Due jobs, as they were found. A job that does not start with a herd is read."""

    def __init__(
        self,
        session: RedisSession,
        rows: Sequence[FoundRow],
        herd: HerdStarts,
    ) -> None:
        self._session = session
        self._rows = rows
        self._herd = herd

    def __len__(self) -> int:
        return len(self._rows)

    def key(self, number: int) -> str:
        return self._rows[number][1]

    def place(self, number: int) -> str:
        return self._rows[number][0]

    def job(self, number: int) -> Entry:
        place, *row = self._rows[number]
        entry = self._session.entry(*row)
        entry.place = place
        return entry

    def start_alike(self, first: int, most: int) -> Sequence[Run]:
        found: list[tuple[str, TextHerdStart, Parts, str, str]] = []
        start_of = self._herd.start_of
        for _, key, text, definition in self._rows[first : first + most]:
            mark, _, rest = text.partition(" ")
            body = rest[layout.LANE_DIGITS + layout.DIGITS + 2 :]  # behind lane and wake
            parts = plain_parts(body)
            if parts is None:
                break
            digest, _, data = definition.partition(" ")
            start = start_of(digest, next_at(parts))
            if start is None or not key.startswith(start.herd.prefix):
                break
            found.append((key, start, parts, data, mark))
        return self._herd.take(found) if found else ()


# -- ends ------------------------------------------------------------------------------------------


def finish(
    session: RedisSession, node: str, endings: Sequence[Ending], now: datetime, decide: DecideEnded
) -> Finished:
    """Record how attempts ended: successes of herds together, all others one by one."""
    guard = Guard(node=node)
    return end_herds(session, node, endings, now, decide, lambda taken: write(session, _END, taken, guard))


# -- writing ---------------------------------------------------------------------------------------


def write(session: RedisSession, step: str, taken: Sequence[Taken], guard: Guard) -> set[str]:
    """Start or end runs. Returns the keys of jobs that another writer has changed meanwhile."""
    parts = [taken[n : n + AT_ONCE] for n in range(0, len(taken), AT_ONCE)]
    refused: set[str] = set()
    while parts:
        made = [_written(session, step, part, guard) for part in parts]
        held = session.facts_of(guard)
        answers = session.run(HERD, *(Call({**one.facts, **held}, one.words) for one, _ in made))
        left = []
        for part, (one, mark), (status, told, seq) in zip(parts, made, answers, strict=True):
            if status == "FROZEN":
                left.append(part)
                session.wait_for(told)
                continue
            session.understand(status, guard)
            places = set(range(1, len(part) + 1)) if status == "LATE" else set(told)
            session.shared.counts.conflicts[session.verb] += len(places)
            session.keep(one, len(part), places, seq)
            for place, (run, _, _) in enumerate(part, start=1):
                run.mark = mark if step == _START and place not in places else ""
            refused |= {part[place - 1].run.key[0] for place in places}
        parts = left
    return refused


def _written(session: RedisSession, step: str, part: Sequence[Taken], guard: Guard) -> tuple[Written, str]:
    """The call, without the conditions of the guard; and the new mark of its jobs."""
    mark = next(session.shared.marks)
    herds: list[dict[str, Any]] = []
    wakes: list[str] = []
    for start, runs in groupby(part, key=lambda one: one.run.start):
        facts, wake = _herd_facts(start, sum(1 for _ in runs))
        herds.append(facts)
        wakes += [f"{mark} {wake} "] * facts["count"]
    words: list[str | int] = [one.run.job_key for one in part]
    words += [one.mark for one in part]
    shared: dict[str, Any] = {"step": step, "count": len(part), "herds": herds, "holder": guard.node}
    if step == _START:
        words += [wake + one.run.body for one, wake in zip(part, wakes, strict=True)]
        shared |= {"claimed": guard.claim_id or "", "first": next(session.shared.starts) * PLACES}
    else:
        ends = [one.run.ended(one.ending) for one in part if one.ending is not None]
        words += [wake + body for wake, (body, _, _) in zip(wakes, ends, strict=True)]
        words += [row for _, row, _ in ends]
        words += ["" if ripe_at is None else ripe_at for _, _, ripe_at in ends]
    return Written(shared, words, HERD), mark


def _herd_facts(start: TextHerdStart, count_: int) -> tuple[dict[str, Any], str]:
    """The facts of a herd for the script, and the lane and the wake of its texts."""
    herd = start.herd
    template = herd.mould.template
    lane, id_ = layout.lane_id(template.queue, template.action.kind), f"{herd.suffix}#1"
    facts = {"count": count_, "lane": lane, "wake": layout.time_text(herd.at), "id": id_, "name": f"\n{id_}"}
    if herd.following is None:
        return facts, "- -"
    wake = layout.time_text(herd.following)
    return {**facts, "next": wake}, f"{lane} {wake}"


def rows_of(words: Sequence[bytes]) -> list[FoundRow]:
    """The rows of a look's answer."""
    begin = layout.LANE_DIGITS + layout.DIGITS
    return [
        (place, place[begin:], text_of(text), text_of(definition))
        for place, text, definition in zip(map(text_of, words[::3]), words[1::3], words[2::3], strict=True)
    ]
