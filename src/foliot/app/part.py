"""Parts: they add jobs to an application's engine, such as those of a git repository.

A part runs on the engine's loop, from before the engine's first claim until after its last report. It has one
or several sources, and executors for their actions. Only the engine schedules.
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

    `handle_events`: pass events to all listeners, and let the engine look again.
    `watch`: pass figures about sources, alerts or queues to the metrics.
    `follow_log`: store the output of a run while it runs.
    `learn`: let the engine serve more kinds of action than `begin` returned.
    `limit`: set the limits of groups, over all nodes.
    `rests_until`: when the engine claims again, by the monotonic clock; 0 while it claims. On any thread.
    """

    store: FullStore
    clock: Clock
    lease: timedelta
    handle_events: Callable[[Sequence[Event]], None]
    watch: Callable[[SourceHealth | AlertHealth | EnqueueHealth], None]
    follow_log: FollowLog
    learn: Callable[[Mapping[str, Executor]], None] = lambda _: None
    limit: Callable[[Mapping[str, int]], None] = lambda _: None
    rests_until: Callable[[], float] = lambda: 0.0


class Part(Protocol):
    """An attachment to an application. If it is also a `Listener`, it gets events."""

    async def begin(self, host: Workplace) -> Mapping[str, Executor]:
        """Declare the jobs. Returns their executors by kind of action. May raise."""
        ...

    async def live(self) -> None:
        """Work beside the engine until cancelled; return if there is nothing to do.

        If it raises, the error is logged, and it is called again after a pause.
        """
        ...

    async def close(self) -> None:
        """Release everything; no run is left. Also called after a failed `begin`."""
        ...

    def title(self, job: str) -> str | None:
        """The name of a job of this part, for the log; None for other jobs."""
        ...


def check_part(part: object) -> None:
    """Raise an error if this is not a part."""
    if not all(callable(getattr(part, name, None)) for name in ("begin", "live", "close", "title")):
        raise InvalidPolicyError("part", part, "is no part", hint="such as Rollcron(…)")
