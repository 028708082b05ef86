"""What an executor is made with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from foliot.executors.live_output import FollowLog
from foliot.model.view import EnqueueHealth
from foliot.network.guard import Guard
from foliot.protocols import Clock, Executor

if TYPE_CHECKING:
    from foliot.executors.python import Function


class ExecutorPlace(NamedTuple):
    """What an application gives to those that make its executors, each time that it starts.

    `lease`: for how long a node that is silent counts as living. `jobs_loop`: the event loop of the program.
    `functions`: those that jobs may call, by the kind of their action. More may come while the engine runs.
    `guard`: which servers jobs may reach over the network, as the operator says.
    `watch`: tell the metrics what was put into queues of others.
    `follow_log`: what a run writes into that log is brought to the store while it runs; close it at the end.
    """

    clock: Clock
    lease: timedelta
    jobs_loop: asyncio.AbstractEventLoop
    functions: Mapping[str, Function]
    follow_log: FollowLog = lambda _, log: None  # noqa: ARG005 - its log is not brought to others
    guard: Guard = Guard()
    watch: Callable[[EnqueueHealth], None] = lambda _: None


MakeExecutor = Callable[[ExecutorPlace], Executor]


@runtime_checkable
class Closing(Protocol):
    """An executor that has something to let go of."""

    async def close(self) -> None:
        """Let go of everything; nothing runs any more."""
        ...
