"""What one script has to do is bounded, however many jobs there are: no script holds the server for long."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from foliot.engine.plan_definition import PlanDeclared, plan_removed
from foliot.engine.planner import plan_due, plan_ended
from foliot.model.attempt import Outcome
from foliot.model.job import Action
from foliot.model.state import Node
from foliot.protocols import Changes, JobQuery, RunQuery
from foliot.stores.redis import RedisStore, script
from foliot.stores.redis.script import Call
from foliot.stores.redis.wire import Wire
from foliot.testing.clock import ManualClock
from foliot.testing.contract.sample import HOUR, SOURCE, some_jobs

MOST_WORDS = 8_000  # of one script: 125 jobs, each with what a change of it touches
MOST_LOOKED_AT = 250


class Scale:
    """Weighs each call of a script, and each answer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: Counter[str] = Counter()
        self.words: Counter[str] = Counter()
        self.answers: Counter[str] = Counter()
        self.commands = 0
        run, ask_all = script.run, Wire.ask_all

        def weighed(wire: Wire, prefix: str, name: str, calls: Sequence[Call], counts: Any) -> list[Any]:
            answers = run(wire, prefix, name, calls, counts)
            for call, answer in zip(calls, answers, strict=True):
                self.calls[name] += 1
                self.words[name] = max(self.words[name], len(call.words))
                self.answers[name] = max(self.answers[name], len(answer))
            return answers

        def counted(wire: Wire, commands: Sequence[Any]) -> list[Any]:
            self.commands += len(commands)
            return ask_all(wire, commands)

        monkeypatch.setattr(script, "run", weighed)
        monkeypatch.setattr(Wire, "ask_all", counted)


async def live(store: RedisStore, clock: ManualClock, scale: Scale, count: int) -> dict[str, int]:
    """Declare, change, run and remove so many jobs; how many scripts each of it took."""
    took: dict[str, int] = {}

    async def revise(base: str | None, revision: str, changes: Changes) -> None:
        before = scale.calls.total()
        await store.reconcile(
            SOURCE, base, revision, changes,
            declared=PlanDeclared(clock.now()), removed=lambda record: plan_removed(record, clock.now()),
        )  # fmt: skip
        took[revision] = scale.calls.total() - before

    await store.join(Node("a"))
    jobs = some_jobs(count)
    await revise(None, "new", Changes(jobs))
    await revise("new", "changed", Changes(some_jobs(count, action=Action(kind="test", data={"v": 2}))))
    await clock.advance(HOUR)
    await store.renew("a")
    await store.claim(
        "a", clock.now() - HOUR, {"default": 1}, plan_due, "in vain"
    )  # it learns lanes and kinds
    before = scale.calls.total()
    claimed = await store.claim("a", clock.now(), {"default": 1000}, plan_due, "c")
    took["claim"] = scale.calls.total() - before
    assert len(claimed.runs) == 1000
    endings = [run.ending(Outcome.SUCCEEDED, clock.now(), clock.now()) for run in claimed.runs]
    before = scale.calls.total()
    assert (await store.finish("a", endings, clock.now(), plan_ended)).refused == ()
    took["finish"] = scale.calls.total() - before
    before = scale.commands
    await store.jobs(JobQuery(limit=20))
    await store.runs(RunQuery(limit=20))
    await store.wakes(["default"], due_by=clock.now())
    await store.overview()
    took["questions"] = scale.commands - before
    await revise("changed", "removed", Changes(removed=tuple(job.name for job in jobs)))
    return took


def lives(url: str, count: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    scale = Scale(monkeypatch)

    async def act() -> dict[str, int]:
        clock = ManualClock()
        async with RedisStore(url, time=clock, lease=timedelta(hours=2)) as store:
            return await live(store, clock, scale, count)

    took = asyncio.run(act())
    assert max(scale.words.values()) <= MOST_WORDS, scale.words
    assert scale.answers["look"] <= 3 * MOST_LOOKED_AT + 10
    return took


def test_a_script_has_no_more_to_do_for_thousands_of_jobs(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    took = lives(url, 2000, monkeypatch)
    assert took["claim"] == 4 + 4, "four looks of 250, and four scripts that start so many"
    assert took["finish"] == 4, "what this node has claimed it need not read"
    assert took["questions"] < 1200


@pytest.mark.prove
def test_nor_for_a_hundred_thousand(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    took = lives(url, 100_000, monkeypatch)
    assert (took["claim"], took["finish"]) == (8, 4)
    assert took["questions"] < 1200
    assert took["new"] < 3 * 100_000 // 125 + 10
