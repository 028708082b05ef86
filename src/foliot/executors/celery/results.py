"""What has become of tasks, as the result backend of a Celery application tells.

Each second one question asks for all tasks that are waited for: one command on Redis, for a thousand of them.
A backend that does not answer is told of once, and asked again; the runs stay open meanwhile.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple, TypeVar

from celery.backends.base import BaseKeyValueStoreBackend
from celery.states import FAILURE, REVOKED, SUCCESS

from foliot.executors.celery.errors import told
from foliot.executors.celery.line import open_connection
from foliot.executors.threads import ThreadCrew
from foliot.model.attempt import Outcome
from foliot.protocols import Clock, Result

T = TypeVar("T")
_ENDED: tuple[str, ...] = (SUCCESS, FAILURE, REVOKED)
_PAUSE = timedelta(seconds=1)
_MOST_AT_ONCE = 1000
_LONGEST_TRACEBACK = 16_000
_EXPIRED = "TaskRevokedError: expired"
_log = logging.getLogger("foliot")


class TaskState(NamedTuple):
    """How far a task has come. `error` is what it failed with, as one line."""

    status: str
    error: str = ""
    traceback: str = ""

    @property
    def has_ended(self) -> bool:
        """Whether nothing more comes of it."""
        return self.status in _ENDED

    @property
    def is_revoked(self) -> bool:
        """Whether workers were told not to run it: they remember its id, and never run it again."""
        return bool(self.status == REVOKED)

    @property
    def result(self) -> Result:
        """The result of the attempt whose task this is."""
        if self.status == SUCCESS:
            return Result(Outcome.SUCCEEDED)
        if self.is_revoked and self.error != _EXPIRED:
            return Result(Outcome.CANCELLED, f"the task was revoked: {self.error}")
        return Result(Outcome.FAILED, self.error or self.status, self.traceback)


class Results:
    """Asks the result backend about tasks. It belongs to the loop on which it is made."""

    def __init__(self, app: Any, clock: Clock, timeout: timedelta) -> None:
        self._app = app
        self._clock = clock
        self._timeout = timeout
        self._threads = ThreadCrew("foliot-celery-results")
        self._open: dict[asyncio.Future[TaskState], str] = {}  # who waits, and for which task
        self._poll: asyncio.Task[None] | None = None
        self._is_in_trouble = False
        self._backend: Any = None

    async def ended(self, task_id: str) -> TaskState:
        """Wait for the end of a task."""
        waits: asyncio.Future[TaskState] = asyncio.get_running_loop().create_future()
        self._open[waits] = task_id
        if self._poll is None or self._poll.done():
            self._poll = asyncio.ensure_future(self._ask_on())
        try:
            return await waits
        finally:
            del self._open[waits]

    async def look(self, ids: Sequence[str]) -> Mapping[str, TaskState]:
        """How far tasks have come, as soon as the backend answers; without those that it does not know."""
        while (found := await self._read(ids)) is None:
            await self._clock.wait(_PAUSE)
        return found

    async def forget(self, task_id: str) -> None:
        """Forget how a task has ended, because it is sent once more."""
        while not await self._do(partial(_forget, task_id)):
            await self._clock.wait(_PAUSE)

    async def revoke(self, task_id: str) -> str | None:
        """Tell the workers to end a task, and to run it no more; what went wrong, if something did.

        Workers give no answer. If one of them has ended the task, or has found it in its queue, the backend
        knows. If not, the backend is told that it is revoked: a later attempt must not use the id again.
        """
        try:
            await self._threads.call(partial(_revoke, self._app, task_id, self._timeout), self._timeout)
        except Exception as error:  # noqa: BLE001 - the broker may be away; the attempt ends all the same
            return f"the task could not be revoked, and may run on: {told(error)}"
        waits = asyncio.ensure_future(self.ended(task_id))
        done = asyncio.Event()
        waits.add_done_callback(lambda _: done.set())
        await self._clock.wait(self._timeout, done)
        waits.cancel()
        if not done.is_set():
            await self._do(lambda backend: backend.mark_as_revoked(task_id, "by Foliot"))
        return None

    async def close(self) -> None:
        """Ask no more, and let go of the connections."""
        if self._poll is not None:
            self._poll.cancel()
            await asyncio.wait((self._poll,))
        if self._backend is not None:
            await self._do(_close)

    # -- inside ------------------------------------------------------------------------------------

    async def _ask_on(self) -> None:
        while self._open:
            await self._clock.wait(_PAUSE)
            ids = sorted(set(self._open.values()))
            for first in range(0, len(ids), _MOST_AT_ONCE):
                self._settle((await self._read(ids[first : first + _MOST_AT_ONCE])) or {})

    def _settle(self, states: Mapping[str, TaskState]) -> None:
        for waits, task_id in self._open.items():
            state = states.get(task_id)
            if state is not None and state.has_ended and not waits.done():
                waits.set_result(state)

    async def _read(self, ids: Sequence[str]) -> dict[str, TaskState] | None:
        return await self._do(partial(_read_states, ids))

    async def _do(self, work: Callable[[Any], T]) -> T | None:
        """Have the backend do something; None if it does not answer."""
        try:
            answer = await self._threads.call(partial(self._do_here, work), self._timeout)
        except Exception as error:  # noqa: BLE001 - a time-out, or whatever its driver raises
            if not self._is_in_trouble:
                self._is_in_trouble = True
                _log.warning("results_trouble error=%s", json.dumps(told(error)))
            return None
        if self._is_in_trouble:
            self._is_in_trouble = False
            _log.info("results_recovered")
        return answer

    def _do_here(self, work: Callable[[Any], T]) -> T:
        if self._backend is None:
            self._backend = self._app.backend  # each thread would get one of its own
        return work(self._backend)


def _close(backend: Any) -> None:
    """Celery leaves the connections of Redis to the garbage collector. Other backends have no pool."""
    pool = getattr(getattr(backend, "client", None), "connection_pool", None)
    if pool is not None:
        pool.disconnect(inuse_connections=False)


def _forget(task_id: str, backend: Any) -> bool:
    backend.forget(task_id)
    return True


def _revoke(app: Any, task_id: str, timeout: timedelta) -> None:
    with open_connection(app, timeout) as connection:
        connection.ensure_connection(max_retries=0, interval_start=0)
        app.control.revoke(task_id, terminate=True, connection=connection)


def _read_states(ids: Sequence[str], backend: Any) -> dict[str, TaskState]:
    if isinstance(backend, BaseKeyValueStoreBackend):
        try:
            return dict(_all_at_once(backend, ids))
        except NotImplementedError:  # it can only be asked about one at a time
            pass
    metas = ((task_id, backend.get_task_meta(task_id, cache=False)) for task_id in ids)
    return {task_id: _state(meta) for task_id, meta in metas if meta["status"] != "PENDING"}


def _all_at_once(backend: Any, ids: Sequence[str]) -> Iterable[tuple[str, TaskState]]:
    keys = [backend.get_key_for_task(task_id) for task_id in ids]
    found = backend.mget(keys)
    values = [found.get(key) for key in keys] if isinstance(found, Mapping) else found
    for task_id, value in zip(ids, values, strict=True):
        if value is not None:
            # Not `decode_result`: it makes an exception of what a worker has written there.
            yield task_id, _state(backend.decode(value))


def _state(meta: Mapping[str, Any]) -> TaskState:
    result, error = meta.get("result"), ""
    if isinstance(result, BaseException):
        error = told(result)
    elif isinstance(result, Mapping) and "exc_type" in result:
        message = result.get("exc_message")
        words = message if isinstance(message, list | tuple) else [message]
        error = f"{result['exc_type']}: {', '.join(map(str, words))}"
    return TaskState(str(meta["status"]), error, str(meta.get("traceback") or "")[-_LONGEST_TRACEBACK:])
