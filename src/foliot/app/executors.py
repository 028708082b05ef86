"""The executors of an application, built in or its own, as a part of the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from foliot.app.part import Workplace
from foliot.app.registry import PREFIX, Registry
from foliot.errors import InvalidPolicyError
from foliot.executors.place import Closing, ExecutorPlace, MakeExecutor
from foliot.executors.python import current_executor
from foliot.model.kinds import all_of
from foliot.network.guard import Guard
from foliot.observability.log import tell
from foliot.protocols import Executor
from foliot.wiring import built_in_executors, is_executor


class ExecutorsPart:
    """Makes executors when the engine starts, and closes them at the end."""

    def __init__(
        self,
        own: Mapping[str, Executor | MakeExecutor],
        registry: Registry,
        jobs_loop: asyncio.AbstractEventLoop,
        http_allow: Sequence[str] = (),
    ) -> None:
        self._guard = Guard.allowing(http_allow)
        self._given: dict[str, Any] = {**built_in_executors(), **own}
        self._registry = registry
        self._jobs_loop = jobs_loop
        self._made: dict[str, Executor] = {}
        self.marker = ""  # announces the version of the code; no job has this kind

    async def begin(self, host: Workplace) -> Mapping[str, Executor]:
        """Make all of them."""
        place = ExecutorPlace(
            host.clock, host.lease, self._jobs_loop, self._registry.functions, host.follow_log, self._guard,
            host.watch,
        )  # fmt: skip
        for prefix, given in self._given.items():
            self._made[prefix] = given if is_executor(given) else _made(prefix, given, place)
        return self.by_kind()

    def by_kind(self) -> dict[str, Executor]:
        """Each function has its own kind; any other executor has all kinds of its prefix."""
        found = {all_of(prefix): executor for prefix, executor in self._made.items()}
        python = found.pop(PREFIX)
        return found | dict.fromkeys((*self._registry.functions, self.marker), python)

    @property
    def is_in_job(self) -> bool:
        """Whether the caller is a function that runs as a job."""
        return current_executor() in self._made.values()

    async def live(self) -> None:
        """Nothing to do."""

    async def close(self) -> None:
        """Close the executors made here; an executor object that was given belongs to the program."""
        for prefix, executor in self._made.items():
            if isinstance(executor, Closing) and executor is not self._given[prefix]:
                try:
                    await executor.close()
                except Exception as error:  # noqa: BLE001 - the others are closed all the same
                    tell("executor_failed", error, kind=prefix)
        self._made = {}

    def title(self, job: str) -> None:
        """The name of a job."""


def _made(prefix: str, make: MakeExecutor, place: ExecutorPlace) -> Executor:
    executor = make(place)
    if not is_executor(executor):
        hint = "see foliot.protocols.Executor, and foliot.executors.task for the simple way"
        raise InvalidPolicyError(f"executors.{prefix}", executor, "was made, and is no executor", hint=hint)
    return executor
