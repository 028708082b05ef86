"""Carries out actions of the kind `celery`: each run is one Celery task that a worker gets."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

from foliot.errors import InvalidJobError, InvalidPolicyError
from foliot.executors.celery.errors import EnqueueError, told
from foliot.executors.celery.lengths import QueueLengths
from foliot.executors.celery.line import open_connection
from foliot.executors.celery.message import Letter, task_id
from foliot.executors.celery.publisher import USUAL_TIMEOUT, Publisher
from foliot.executors.celery.results import Results, TaskState
from foliot.executors.celery_action import TRACKS, TaskCall, read_call
from foliot.executors.place import ExecutorPlace
from foliot.model.attempt import Outcome, Trigger, format_instant
from foliot.model.payload import read_payload
from foliot.model.policy import read_duration
from foliot.protocols import AskToEnd, Clock, OnEnd, OnEnds, Result, Run

_MOST_IDS = 20  # of one run, if timeouts have revoked some
_DONE = Result(Outcome.SUCCEEDED)
_CANCELLED = Result(Outcome.CANCELLED)
_NO_BACKEND = "its Celery application has no result backend that other processes can ask"
_log = logging.getLogger("foliot")


class CeleryTasks:
    """What makes the executor of Celery tasks: `Foliot(executors={"celery": CeleryTasks(app)})`.

    `track`: a run ends when its task is in the queue (`enqueue`), or when the task has ended (`result`); a
    job may say otherwise. `timeout`: for how long the broker may take. `priorities`: numbers for the words
    high, normal and low. `watch_queues`: queues whose length the metrics tell.
    """

    def __init__(
        self,
        app: Any,
        *,
        track: str = "enqueue",
        timeout: timedelta | str = USUAL_TIMEOUT,
        priorities: Mapping[str, int] | None = None,
        watch_queues: Sequence[str] = (),
    ) -> None:
        check_celery_app(app, "executors.celery")
        if track not in TRACKS:
            raise InvalidPolicyError("track", track, "is not known", hint=f"one of: {', '.join(TRACKS)}")
        self._app = app
        self._track = track
        self._timeout = read_duration("timeout", timeout)
        if self._timeout <= timedelta(0):
            raise InvalidPolicyError("timeout", timeout, "must be a positive duration", hint='such as "5s"')
        self._priorities = priorities
        self._watch_queues = tuple(watch_queues)

    def __call__(self, place: ExecutorPlace) -> CeleryExecutor:
        """Make the executor, and warn of settings that promise less than one may think."""
        if self._track == "result" and not has_backend(self._app):
            hint = 'give it one, such as Celery(…, backend="redis://…")'
            raise InvalidPolicyError("track", self._track, _NO_BACKEND, hint=hint)
        warn(self._app, self._timeout, is_tracked=self._track == "result")
        publisher = Publisher(
            self._app, place.clock, timeout=self._timeout, priorities=self._priorities, watch=place.watch
        )
        lengths = QueueLengths(self._app, self._watch_queues, place.clock, self._timeout, place.watch)
        results = Results(self._app, place.clock, self._timeout)
        return CeleryExecutor(self._app, place.clock, publisher, results, lengths, track=self._track)


class CeleryExecutor:
    """Sends the tasks of runs, many at once, and follows those whose end counts."""

    def __init__(  # noqa: PLR0913 - its parts
        self,
        app: Any,
        clock: Clock,
        publisher: Publisher,
        results: Results,
        lengths: QueueLengths,
        *,
        track: str,
    ) -> None:
        self._app = app
        self._clock = clock
        self._publisher = publisher
        self._results = results
        self._lengths = lengths
        self._track = track
        self._tasks: set[asyncio.Task[None]] = set()  # the loop itself would let go of them
        lengths.begin()

    def start(self, run: Run, on_end: OnEnd) -> AskToEnd:
        """Send the task of one run."""

        def on_ends(ends: Iterable[tuple[Run, Result]]) -> None:
            for ended, result in ends:
                on_end(ended, result)

        return self.start_many([run], on_ends)[0]

    def start_many(self, runs: Sequence[Run], on_ends: OnEnds) -> Sequence[AskToEnd]:
        """Send the tasks of many runs."""
        asks: list[AskToEnd] = []
        sent: dict[str, Run] = {}
        letters = []
        for run in runs:
            try:
                call = _call_of(run)
            except InvalidJobError as error:
                result = Result(Outcome.FAILED, error.message, is_final=True)
                asyncio.get_running_loop().call_soon(on_ends, [(run, result)])
                asks.append(_nothing)
                continue
            if (call.track or self._track) == "result":
                asks.append(self._follow(run, call, on_ends))
                continue
            letter = self._letter(run, call, task_id(run.key[0]))
            sent[letter.id] = run
            letters.append(letter)
            asks.append(partial(self._take_back, letter, run, on_ends))
        self._publisher.send(letters, lambda letter, error: on_ends([(sent[letter.id], _told(error))]))
        return asks

    async def close(self) -> None:
        """Let go of the connections. Nothing runs any more."""
        await self._lengths.close()
        await self._results.close()
        await self._publisher.close()

    # -- what is sent ------------------------------------------------------------------------------

    def _letter(self, run: Run, call: TaskCall, letter_id: str) -> Letter:
        attempt = run.attempt
        headers = {
            "schedule_id": run.job.name,
            "scheduled_at": format_instant(self._clock.now().replace(microsecond=0)),
            "scheduled_for": format_instant(attempt.scheduled_for),
            "trigger_type": "manual" if attempt.trigger is Trigger.MANUAL else "cron",
            "run_key": run.key[0],
            "attempt": attempt.number,
            "token": attempt.token,
        }
        return Letter(letter_id, call, headers)

    def _take_back(self, letter: Letter, run: Run, on_ends: OnEnds) -> None:
        """A run is to end. A message that is on its way cannot be taken back; it ends within the deadline."""
        if self._publisher.take_back(letter.id):
            on_ends([(run, _CANCELLED)])

    # -- what is followed --------------------------------------------------------------------------

    def _follow(self, run: Run, call: TaskCall, on_ends: OnEnds) -> AskToEnd:
        following = _Following()
        task = asyncio.ensure_future(self._live(run, call, following, on_ends))
        following.cancel = task.cancel
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return following

    async def _live(self, run: Run, call: TaskCall, following: _Following, on_ends: OnEnds) -> None:
        try:
            result = await self._carry_out(run, call, following)
        except asyncio.CancelledError:
            result = Result(Outcome.INTERRUPTED) if following.is_let_go else await self._revoke(following)
        except Exception as error:  # noqa: BLE001 - a fault fails the run, not the node
            result = Result(Outcome.FAILED, f"{type(error).__name__}: {error}")
        on_ends([(run, result)])

    async def _carry_out(self, run: Run, call: TaskCall, following: _Following) -> Result:
        if not has_backend(self._app):
            return Result(Outcome.FAILED, f'track="result": {_NO_BACKEND}', is_final=True)
        following.task_id, state = await self._begin(run)
        if state is not None and state.has_ended:
            return state.result
        if state is None:
            following.is_sent = True
            try:
                await self._publisher.publish(self._letter(run, _with_result(call), following.task_id))
            except EnqueueError as error:
                return _told(error)
        return (await self._results.ended(following.task_id)).result

    async def _begin(self, run: Run) -> tuple[str, TaskState | None]:
        """The id under which to send, or what has become of what an earlier attempt has sent.

        An earlier attempt may be lost, or may not know whether the broker has its message. Then its task may
        run, or may have run. A task that has failed is sent once more, under the same id. Workers refuse the
        id of a task that was revoked: then this attempt has an id of its own.
        """
        key, number = run.key
        first = max(2, number - _MOST_IDS)
        ids = [task_id(key), *(task_id(f"{key}#{n}") for n in range(first, number + 1))]
        if number == 1:
            return ids[0], None
        states = await self._results.look(ids)
        last = next((one for one in reversed(ids) if one in states), ids[0])
        state = states.get(last)
        is_lost = run.attempt.trigger is Trigger.LOST
        if state is None or not state.has_ended or is_lost or state.result.outcome is Outcome.SUCCEEDED:
            return last, state
        if state.is_revoked:
            return ids[-1], None
        await self._results.forget(last)
        return last, None

    async def _revoke(self, following: _Following) -> Result:
        if not following.is_sent or self._publisher.take_back(following.task_id):
            return _CANCELLED
        return Result(Outcome.CANCELLED, await self._results.revoke(following.task_id))


class _Following:
    """Asks a run to end whose task a worker carries out. If only the node ends, the task goes on."""

    def __init__(self) -> None:
        self.task_id = ""
        self.is_sent = False
        self.is_let_go = False
        self.cancel: Any = _nothing

    def __call__(self) -> None:
        self.cancel()

    def let_go(self) -> None:
        self.is_let_go = True
        self.cancel()


def check_celery_app(app: object, field: str) -> None:
    """Refuse what is no Celery application."""
    if isinstance(app, type) or not all(hasattr(app, name) for name in ("amqp", "conf", "tasks")):
        hint = 'such as Celery("proj", broker="redis://…")'
        raise InvalidPolicyError(field, app, "is no Celery application", hint=hint)


def has_backend(app: Any) -> bool:
    """Whether there is a result backend that answers every process; `rpc` answers the sender only."""
    url = str(app.conf.result_backend or "disabled")
    return not url.startswith(("disabled", "rpc"))


def warn(app: Any, timeout: timedelta, *, is_tracked: bool) -> None:
    """Tell of settings of Celery that promise less than one may think. Refuse a broker of no known kind."""
    try:
        connection = open_connection(app, timeout)
    except Exception as error:  # noqa: BLE001 - no such transport, or a driver that is not installed
        reason = f"has a broker that cannot be used: {told(error)}"
        hint = "is its transport installed, such as celery[redis]?"
        raise InvalidPolicyError("executors.celery", app, reason, hint=hint) from None
    is_confirmed = connection.transport_options.get("confirm_publish")
    if connection.transport.driver_type == "amqp" and not is_confirmed:
        _log.warning("broker_unconfirmed hint=\"broker_transport_options = {'confirm_publish': True}\"")
    if is_tracked and not app.conf.task_track_started:
        _log.warning('task_start_not_reported hint="task_track_started = True"')


def _call_of(run: Run) -> TaskCall:
    """What the run sends. What was given with a trigger are arguments by name, beside the job's own."""
    call = read_call(run.kind, run.data)
    payload = read_payload(run.attempt.payload)
    return call if payload is None else call._replace(kwargs={**call.kwargs, **payload})


def _with_result(call: TaskCall) -> TaskCall:
    """Its end is waited for, so the worker has to tell it, whatever the task says by itself."""
    return call._replace(options={**call.options, "ignore_result": False})


def _told(error: EnqueueError | None) -> Result:
    return _DONE if error is None else Result(Outcome.FAILED, error.message, is_final=error.is_final)


def _nothing() -> None:
    """It ends at once by itself."""
