"""A cancel that another process asks for reaches the node that looks for work."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

from foliot.engine.plan_command import Cancel, RunNow, plan_command
from foliot.engine.planner import plan_due
from foliot.engine.reconciler import reconcile
from foliot.model.job import Action, Job
from foliot.model.state import Node
from foliot.protocols import Snapshot
from foliot.schedules import Every
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock


def test_a_cancel_asked_for_elsewhere_is_a_hint_at_the_next_look(tmp_path: Path) -> None:
    async def scene() -> None:
        clock = ManualClock()
        job = Job(source="code", name="a", schedule=Every(timedelta(days=1)), action=Action(kind="x"))
        path = tmp_path / "jobs.db"
        async with SqliteStore(path, clock) as node, SqliteStore(path, clock) as other:
            await reconcile(node, "code", Snapshot("r1", (job,)), clock.now())
            await node.join(Node("n1"))
            await node.update("code/a", lambda record: plan_command(record, RunNow("please"), clock.now()))
            [(_, attempt)] = (await node.claim("n1", clock.now(), {"default": 1}, plan_due, "c1")).attempts
            hinted = asyncio.ensure_future(node.changed())
            await node.next_wake(["default"])
            assert not hinted.done()

            key = attempt.run_key
            await other.update("code/a", lambda record: plan_command(record, Cancel(key), clock.now()))
            await node.next_wake(["default"])

            await asyncio.wait_for(hinted, 10)
            assert (await node.renew("n1")).cancels == (attempt.key,)

    asyncio.run(scene())
