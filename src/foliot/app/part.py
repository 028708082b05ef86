"""Parts: what brings jobs of its own to an application's engine, such as a git repository that is followed.

A part lives on the engine's loop, from before the engine's first claim to after its last report. It has a
source, or several, and the executors for their actions; scheduling is the engine's alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import NamedTuple, Protocol

from foliot.errors import InvalidPolicyError
from foliot.executors.live_output import FollowLog
from foliot.model.decision import Event
from foliot.model.view import AlertHealth, EnqueueHealth, SourceHealth
from foliot.protocols import Clock, Executor
from foliot.wiring import FullStore


class Workplace(NamedTuple):
    """What an application gives to its parts.

    `handle_events`: tell all listeners, and have the engine look again.
    `watch`: tell the metrics how a source fares, what became of alerts, or of what was put into queues.
    `follow_log`: bring what a run writes to the store while it runs.
    `learn`: have the engine serve more kinds of actions than `begin` has named.
    """

    store: FullStore
    clock: Clock
    lease: timedelta
    handle_events: Callable[[Sequence[Event]], None]
    watch: Callable[[SourceHealth | AlertHealth | EnqueueHealth], None]
    follow_log: FollowLog
    learn: Callable[[Mapping[str, Executor]], None] = lambda _: None


class Part(Protocol):
    """Something that is attached to an application. One that is a `Listener`, too, is told of events."""

    async def begin(self, host: Workplace) -> Mapping[str, Executor]:
        """Declare what there is; the executors for it, by the kind of their actions. May raise."""
        ...

    async def live(self) -> None:
        """Do what there is to do while the engine works, until cancelled; return if there is nothing.

        If it raises, the log is told, and after a pause it is called again.
        """
        ...

    async def close(self) -> None:
        """Let go of everything; nothing runs any more. Called after a `begin` that failed, too."""
        ...

    def title(self, job: str) -> str | None:
        """What people call a job, if it is one of this part's: its runs are then told of in the log."""
        ...


def check_part(part: object) -> None:
    """Refuse what cannot be attached."""
    if not all(callable(getattr(part, name, None)) for name in ("begin", "live", "close", "title")):
        raise InvalidPolicyError("part", part, "is no part", hint="such as Rollcron(…)")
