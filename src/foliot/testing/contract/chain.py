"""Chains and boots: a run that is asked for because of an event is there once, whatever happens."""

# ruff: noqa: S101, PLR2004 - cases of a test suite: they assert, and compare with what they have set up

from __future__ import annotations

from contextlib import suppress
from typing import Any, cast

from foliot.engine.plan_command import Follow, plan_command
from foliot.engine.planner import plan_due, plan_ended
from foliot.errors import CommandRefusedError
from foliot.model.attempt import Outcome, Trigger
from foliot.model.chain import CHANNEL, Link, On, request_after
from foliot.model.outbox import AlertState
from foliot.model.policy import Keep, Policy
from foliot.protocols import AlertStore
from foliot.schedules import Every, Never
from foliot.testing.contract.sample import DAY, HOUR, a_job
from foliot.testing.contract.stage import Contract, Stage, scenario

_PARENT, _CHILD = "parent", "child"
_BRIEF = Keep(last=1, days=1)


async def _declare(stage: Stage) -> tuple[str, str]:
    """Two jobs, of which one runs after the other; the keys of both."""
    then = (Link(_CHILD, On.SUCCESS),)
    parent = a_job(_PARENT, schedule=Every("1h"), policy=Policy(then=then, keep=_BRIEF))
    child = a_job(_CHILD, schedule=Never(), policy=Policy(after=Link(_PARENT), keep=_BRIEF))
    await stage.plan(parent, child)
    return parent.key, child.key


async def _run(stage: Stage, node: str, outcome: Outcome = Outcome.SUCCEEDED) -> str:
    """The next run, from its claim to its end; its key."""
    (attempt,) = await stage.claim(node, decide=plan_due)
    await stage.finish(node, attempt, outcome=outcome, decide=plan_ended)
    return attempt.run_key


async def _follow(stage: Stage, child: str, run: str) -> None:
    """As nodes do; a node that died before it could settle the row does it again."""
    command = Follow(request_after(run), Trigger.AFTER, "after it", f'{{"after":"{run}"}}')
    with suppress(CommandRefusedError):
        await stage.store.update(child, lambda record: plan_command(record, command, stage.now))


class ChainContract(Contract):
    """What follows a run is in the outbox with its end; asked for again, it changes nothing."""

    @scenario
    async def test_the_end_of_a_run_and_what_follows_it_are_written_together(self, stage: Stage) -> None:
        outbox = cast("AlertStore", cast("Any", stage.store))
        await stage.join("n1")
        _, child = await _declare(stage)
        run, rows = "", await outbox.waiting(f"{CHANNEL}{child}", 10)
        for outcome, count in ((Outcome.SUCCEEDED, 1), (Outcome.FAILED, 1), (Outcome.SUCCEEDED, 2)):
            await stage.advance(HOUR)
            await stage.store.renew("n1")
            run = await _run(stage, "n1", outcome)
            rows = await outbox.waiting(f"{CHANNEL}{child}", 10)
            assert len(rows) == count
        assert rows[-1].alert.run == run
        ids = [row.alert.id for row in rows]
        assert await outbox.settle(f"{CHANNEL}{child}", ids, AlertState.SENT, stage.now) == 2
        assert await outbox.waiting(f"{CHANNEL}{child}", 10) == ()

    @scenario
    async def test_each_run_is_followed_once_even_when_history_has_forgotten_it(self, stage: Stage) -> None:
        await stage.join("n1")
        _, child = await _declare(stage)
        parents = []
        for _ in range(3):
            await stage.advance(HOUR)
            await stage.store.renew("n1")
            parents.append(await _run(stage, "n1"))
            for run in parents:
                await _follow(stage, child, run)
            for attempt in await stage.claim("n1", decide=plan_due):
                assert attempt.trigger is Trigger.AFTER
                await stage.finish("n1", attempt, decide=plan_ended)
        await stage.advance(DAY * 3)
        for _ in range(10):
            await stage.store.prune(stage.now, 100)
        for run in parents:
            await _follow(stage, child, run)
        record = await stage.record(child)
        assert (record.attempts, record.state.fired_count) == ((), 3)
