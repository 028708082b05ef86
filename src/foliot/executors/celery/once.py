"""`@once_per_run`: a task does its work once for each run, however many messages of it a worker gets.

message ──▶ SET run-key NX ──▶ it was free   the task runs; then it is `done`, or, if it fails, free
                          └──▶ it is `done`  the message is dropped, and the result stays
                          └──▶ another runs  the message comes again: that one may fail, or die
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NoReturn, TypeVar, cast
from uuid import uuid4

from celery import current_task
from celery.exceptions import Ignore

from foliot.errors import AppStateError, InvalidPolicyError
from foliot.model.policy import read_duration

F = TypeVar("F", bound=Callable[..., Any])
_PREFIX = "foliot:once:"
_DONE = (b"done", "done")  # a client may decode what it gets
_AGAIN = 5.0  # seconds until a message is looked at again
# Only the one who holds the key changes it: its hold may have ended, and another may run now.
_CHANGE = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '' then return redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
"""


def once_per_run(
    function: F | None = None,
    *,
    hold: timedelta | str = "1h",
    keep: timedelta | str = "7d",
    client: Any = None,
) -> Any:
    """Let a Celery task run once for each run of its Foliot job. Write it below `@app.task`.

    `hold`: longer than the task ever takes; if its worker dies, another may begin after that. `keep`: for how
    long it is remembered that a run is done. `client`: a client of redis-py; without one, that of the result
    backend, if that is Redis. A task that was not sent by Foliot runs as if this were not there.
    """
    held, kept = _milliseconds("hold", hold), _milliseconds("keep", keep)

    def wrap(function: F) -> F:
        @functools.wraps(function)
        def run_once(*args: Any, **kwargs: Any) -> Any:
            key = _run_key()
            if key is None:
                return function(*args, **kwargs)
            return _Once(_client(client), _PREFIX + key, held, kept).run(function, args, kwargs)

        return cast("F", run_once)

    return wrap if function is None else wrap(function)


class _Once:
    """The key of a run, and one worker that wants it."""

    def __init__(self, client: Any, key: str, held: int, kept: int) -> None:
        self._client = client
        self._key = key
        self._held = held
        self._kept = kept
        self._token = uuid4().hex.encode()

    def run(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        if not self._client.set(self._key, self._token, nx=True, px=self._held):
            self._give_way()
        try:
            answer = function(*args, **kwargs)
        except BaseException:  # also Celery's own Retry: the next message of this run must find it free
            self._change(b"", 0)
            raise
        self._change(_DONE[0], self._kept)
        return answer

    def _give_way(self) -> NoReturn:
        if self._client.get(self._key) not in _DONE:
            # Not `retry`: its count is for failures, and its state would hide that of the one that runs.
            current_task.signature_from_request(current_task.request, countdown=_AGAIN).apply_async()
        raise Ignore  # neither a success nor a failure: the result of the one that ran stays

    def _change(self, value: bytes, kept: int) -> None:
        self._client.eval(_CHANGE, 1, self._key, self._token, value, kept)


def _run_key() -> str | None:
    """The key of the Foliot run that the present task is for, if it is for one."""
    request = current_task.request if current_task else None
    if request is None or request.called_directly:
        return None
    key = (request.headers or {}).get("run_key")
    return None if key is None else str(key)


def _client(given: Any) -> Any:
    client = given if given is not None else getattr(current_task.backend, "client", None)
    if not callable(getattr(client, "eval", None)):
        hint = "give it one: @once_per_run(client=redis.Redis(…))"
        raise AppStateError("once_per_run", "the result backend is not Redis", hint=hint)
    return client


def _milliseconds(field: str, given: timedelta | str) -> int:
    duration = read_duration(field, given)
    if duration < timedelta(seconds=1):
        raise InvalidPolicyError(field, given, "must be at least a second", hint='such as "1h"')
    return duration // timedelta(milliseconds=1)
