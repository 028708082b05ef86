"""Jobs that are due and that no node will start: nobody who lives has their queue and their action."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from foliot.cli.moment import relative
from foliot.cli.session import Session
from foliot.model.view import NodeView
from foliot.operations import can_start


class Unserved(NamedTuple):
    """A queue and an action of which jobs are due, how many, and since when the first of them is."""

    queue: str
    action: str
    jobs: int
    since: datetime

    def told(self, now: datetime) -> str:
        """In a sentence."""
        are = "job is" if self.jobs == 1 else "jobs are"
        since = relative(self.since, now).removesuffix(" ago")
        due = f"{self.jobs} {are} due" + ("" if since == "now" else f", the first for {since}")
        return f"{due}, and no node that lives serves the queue {self.queue} and runs {self.action}"


async def find_unserved(session: Session, nodes: Sequence[NodeView]) -> list[Unserved]:
    """What waits for a node. Who drains starts nothing more."""
    found = []
    for queue, kind, wake_at in (await session.store.overview()).lanes:
        if wake_at <= session.now and not any(can_start(view, queue, kind, session.now) for view in nodes):
            count = (await session.store.wakes((queue,), (kind,), session.now)).due
            found.append(Unserved(queue, kind, count, wake_at))
    return [unserved for unserved in found if unserved.jobs]  # a node may have come meanwhile
