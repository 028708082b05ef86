"""How long scripts hold the server while many jobs are declared, changed and run, by its slow log.

The slow log counts time on the wall: on a busy machine the server may lose its processor in the middle of a
script. So the server goes before all other programs, where this process may arrange that (`is_preferred`).
 What a script had to do is told, too: its words, and the words of its answer.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.fire.batches import LEASE, claim_and_finish, declare_all
from foliot.engine.plan_definition import PlanDeclared, plan_removed
from foliot.protocols import Changes, JobQuery, Store
from foliot.stores.redis import RedisStore, script
from foliot.stores.redis.script import Call
from foliot.stores.redis.wire import Wire

GOAL = 10.0  # milliseconds
_KEPT = 20_000
_SHORTEST = 300  # microseconds: shorter calls are not in the log
_PAGE = 10_000
_NAMES = ("begin", "bury", "commit", "forget", "herd", "look", "heartbeat", "put", "stage")


@dataclass
class _Work:
    """What the calls of one script had to do."""

    calls: int = 0
    most_words: int = 0
    most_answered: int = 0
    milliseconds: list[float] = field(default_factory=list)  # of calls that the slow log has

    def told(self) -> dict[str, Any]:
        """For people."""
        times = sorted(self.milliseconds, reverse=True)
        return {
            "calls": self.calls,
            "most_words": self.most_words,
            "most_answered": self.most_answered,
            "over_10_ms": sum(time > GOAL for time in times),
            "longest_ms": [round(time, 2) for time in times[:3]],
            "typical_ms": round(median(times), 2) if times else 0.0,  # of those in the log
        }


class _Weighed:
    """Notes each call of a script while it is in the place of the store's own `run`."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._names = {script.script(name).digest: name for name in _NAMES}
        self.works: dict[str, _Work] = {}

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Within this, calls are counted."""
        run = script.run

        def counted(wire: Wire, prefix: str, name: str, calls: Sequence[Call], counts: Any) -> list[Any]:
            answers = run(wire, prefix, name, calls, counts)
            for call, answer in zip(calls, answers, strict=True):
                work = self.works.setdefault(_step(name, call), _Work())
                work.calls += 1
                work.most_words = max(work.most_words, len(call.words))
                work.most_answered = max(work.most_answered, len(answer))
            return answers

        self._wire.ask("CONFIG", "SET", "slowlog-log-slower-than", _SHORTEST)
        self._wire.ask("CONFIG", "SET", "slowlog-max-len", _KEPT)
        self._wire.ask("SLOWLOG", "RESET")
        script.run = counted
        try:
            yield
        finally:
            script.run = run
            self._wire.ask("CONFIG", "SET", "slowlog-log-slower-than", -1)
            self._read()

    def _read(self) -> None:
        for _, _, micros, words, *_ in self._wire.ask("SLOWLOG", "GET", _KEPT):
            if words[0].upper() != b"EVALSHA":
                continue  # a command, or one within a script
            name = self._names.get(words[1].decode(), "of others")
            name = next((one for one in self.works if one == f"{name}.{_asked_step(words)}"), name)
            self.works.setdefault(name, _Work()).milliseconds.append(micros / 1000)
        self._wire.ask("SLOWLOG", "RESET")

    def told(self) -> dict[str, Any]:
        """All scripts, the longest first, and by name the one that held the server for longest."""
        by_time = sorted(
            self.works.items(), key=lambda one: max(one[1].milliseconds, default=0), reverse=True
        )
        name, work = by_time[0]
        return {
            "longest": name,
            "longest_ms": round(max(work.milliseconds, default=0.0), 2),
            "each": {name: work.told() for name, work in by_time},
        }


def _step(name: str, call: Call) -> str:
    step = call.facts.get("step")
    return name if step is None else f"{name}.{step}"


def _asked_step(words: Sequence[bytes]) -> str:
    """The step in the facts of a call; the log has the first 128 characters of each word."""
    _, found, rest = words[4].decode(errors="replace").partition('"step": "')
    return rest.partition('"')[0] if found else ""


async def hold(url: str, wire: Wire, jobs: int, runs: int) -> dict[str, Any]:
    """Declare jobs, then change all of them in one revision while runs are claimed and finished."""
    found: dict[str, Any] = {"jobs": jobs, "runs": runs, "is_preferred": _prefer(wire)}
    async with RedisStore(url, lease=LEASE) as store:
        declared, changed = _Weighed(wire), _Weighed(wire)
        with declared.noted():
            await declare_all(store, jobs)
        with changed.noted():
            began = perf_counter()
            await asyncio.gather(_change_all(store), claim_and_finish(store, runs, 500))
            found["seconds"] = round(perf_counter() - began, 1)
    return found | {"declared": declared.told(), "changed_under_load": changed.told()}


def _prefer(wire: Wire) -> bool:
    """Let no other program take the processor from the server; whether that was allowed."""
    facts = wire.ask("INFO", "server").decode()
    process = int(
        next(line for line in facts.splitlines() if line.startswith("process_id:")).partition(":")[2]
    )
    try:
        os.sched_setscheduler(process, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        return False
    return True


async def _change_all(store: Store) -> None:
    after, jobs = "", []
    while page := await store.jobs(JobQuery(after=after, limit=_PAGE)):
        jobs += [view.record.job for view in page if view.record is not None]
        after = page[-1].key
    changed = tuple(replace(job, policy=replace(job.policy, timeout=timedelta(minutes=5))) for job in jobs)
    base, now = await store.revision("bench"), await store.now()  # type: ignore[attr-defined]  # it has both
    await store.reconcile(
        "bench", base, "changed", Changes(changed), declared=PlanDeclared(now),
        removed=lambda record: plan_removed(record, now),
    )  # fmt: skip
