"""Python functions as actions: coroutines on the user's loop, plain functions in threads.

The engine has a loop of its own, so a job that blocks costs no lease. Attempts cross from loop to loop in
batches, one wake-up for each turn of a loop, because a wake-up costs more than a small job.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import Context, ContextVar, copy_context
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple

from foliot.errors import InvalidJobError
from foliot.executors.live_output import FollowLog
from foliot.executors.place import ExecutorPlace
from foliot.executors.run_log import RunLog
from foliot.executors.threads import ThreadCrew
from foliot.model.attempt import Outcome, Trigger
from foliot.model.payload import read_payload
from foliot.protocols import AskToEnd, OnEnd, OnEnds, Result, Run

_FRAMES = 5
_DONE = Result(Outcome.SUCCEEDED)
# The executor whose job the code is part of. Tasks and threads that a job starts by asyncio inherit it.
_current: ContextVar[PythonExecutor | None] = ContextVar("foliot_executor", default=None)


class Function(NamedTuple):
    """A function that is an action."""

    call: Callable[..., Any]
    is_async: bool
    takes_run: bool
    signature: inspect.Signature


class JobRun:
    """What a function gets to know about the run that it is: the `run` argument."""

    __slots__ = ("_is_asked", "_is_heeded", "_log", "_run")

    def __init__(self, run: Run) -> None:
        self._run = run
        self._log: RunLog | None = None
        self._is_asked = self._is_heeded = False

    @property
    def key(self) -> str:
        """The run's name, shared by all its attempts: use it as an idempotency key."""
        return self._run.key[0]

    @property
    def id(self) -> str:
        """The attempt's name."""
        return f"{self.key}#{self.attempt}"

    @property
    def job(self) -> str:
        """The job's name."""
        return self._run.job.name

    @property
    def scheduled_for(self) -> datetime:
        """The occurrence that this is for; for a manual run, when it was asked for."""
        return self._run.attempt.scheduled_for

    @property
    def attempt(self) -> int:
        """Which try at this run it is, from 1 on."""
        return self._run.attempt.number

    @property
    def trigger(self) -> Trigger:
        """Why it runs."""
        return self._run.attempt.trigger

    @property
    def token(self) -> int:
        """Grows with each claim of the job: a fence for what must not be written by one who is late."""
        return self._run.attempt.token

    @property
    def payload(self) -> dict[str, Any] | None:
        """What was given with the request that this run answers; None if nothing was. Each look is a copy."""
        return read_payload(self._run.attempt.payload)

    @property
    def is_asked_to_end(self) -> bool:
        """Whether a plain function should return: a thread cannot be ended from outside.

        A function that has seen this and returns has not succeeded; one that never looked has.
        """
        self._is_heeded = self._is_asked
        return self._is_asked

    @property
    def log(self) -> RunLog:
        """Call it like `print`; what it is told is kept in the history."""
        if self._log is None:
            self._log = RunLog()
            self._follow(self._log)
        return self._log

    @property
    def written(self) -> tuple[str, int]:
        """What the log was told, and how many characters of it are missing."""
        if self._log is None:
            return "", 0
        self._log.is_closed = True
        return self._log.text, self._log.dropped

    def _follow(self, log: RunLog) -> None:
        """Let others read what it says while it runs."""

    def __repr__(self) -> str:
        return f"<JobRun {self.id}>"


class _Act(JobRun):
    """One attempt on its way through the loops; and, for its function, the run that it is."""

    __slots__ = ("_executor", "function", "on_ends", "task")

    def __init__(self, executor: PythonExecutor, run: Run, on_ends: OnEnds, function: Function) -> None:
        super().__init__(run)
        self._executor = executor
        self.on_ends = on_ends
        self.function = function
        self.task: asyncio.Task[None] | None = None  # that carries it out, while it does

    @property
    def run(self) -> Run:
        return self._run

    @property
    def is_silent(self) -> bool:
        """Whether nothing was told to its log, and its function has seen no wish to end."""
        return self._log is None and not self._is_heeded

    @property
    def is_asked(self) -> bool:
        """Whether it is to end."""
        return self._is_asked

    @property
    def is_heeded(self) -> bool:
        """Whether its function has looked since it was asked to end."""
        return self._is_heeded

    def ask_to_end(self) -> None:
        self._is_asked = True
        self._executor.ask_to_end(self)

    def _follow(self, log: RunLog) -> None:
        self._executor.follow_log(self._run, log)


class PythonExecutor:
    """Carries out registered functions, by the kind of the action."""

    def __init__(
        self,
        functions: Mapping[str, Function],
        *,
        jobs_loop: asyncio.AbstractEventLoop,
        follow_log: FollowLog = lambda _, log: None,  # noqa: ARG005 - nobody follows it
    ) -> None:
        self._functions = functions
        self._jobs_loop = jobs_loop
        self.follow_log = follow_log
        self._crew = ThreadCrew()
        self._inbox: list[_Act] = []
        self._ready: deque[_Act] = deque()
        self._clean: Context | None = None  # what each attempt begins with
        self._drivers: set[asyncio.Task[None]] = set()
        self._outbox: list[tuple[_Act, Result]] = []
        self._lock = threading.Lock()  # of the outbox: coroutines and threads both fill it
        self._engine_loop: asyncio.AbstractEventLoop | None = None

    # -- on the engine's loop ----------------------------------------------------------------------

    def start(self, run: Run, on_end: OnEnd) -> AskToEnd:
        """Let it begin with the others of this turn."""

        def on_ends(ends: Iterable[tuple[Run, Result]]) -> None:
            for ended, result in ends:
                on_end(ended, result)

        (ask,) = self.start_many((run,), on_ends)
        return ask

    def start_many(self, runs: Sequence[Run], on_ends: OnEnds) -> Sequence[AskToEnd]:
        """Let them begin with the others of this turn."""
        functions = self._functions
        acts = [_Act(self, run, on_ends, functions[run.kind]) for run in runs]
        if not self._inbox:
            self._engine_loop = asyncio.get_running_loop()
            self._engine_loop.call_soon(self._hand_over)
        self._inbox += acts
        return [act.ask_to_end for act in acts]

    def _hand_over(self) -> None:
        acts, self._inbox = self._inbox, []
        coroutines = [act for act in acts if act.function.is_async]
        if coroutines:
            self._on_jobs_loop(coroutines, self._begin, coroutines)
        for act in acts:
            if not act.function.is_async:
                self._crew.do(lambda act=act: self._call(act))  # type: ignore[misc] # mypy knows no such default

    def _on_jobs_loop(self, acts: list[_Act], call: Callable[..., None], *args: Any) -> None:
        try:
            self._jobs_loop.call_soon_threadsafe(call, *args)
        except RuntimeError:  # the user's loop has ended before the engine
            for act in acts:
                self._ended(act, Result(Outcome.INTERRUPTED, "the program's event loop is closed"))

    def ask_to_end(self, act: _Act) -> None:
        """Have an attempt end: a coroutine is cancelled, a plain function should look."""
        if act.function.is_async:
            self._on_jobs_loop([], self._cancel, act)

    def _deliver(self) -> None:
        with self._lock:
            ended, self._outbox = self._outbox, []
        for on_ends, some in groupby(ended, lambda end: end[0].on_ends):
            on_ends([(act.run, result) for act, result in some])

    # -- on the user's loop ------------------------------------------------------------------------

    def _begin(self, acts: list[_Act]) -> None:
        if self._clean is None:
            self._clean = copy_context()
            self._clean.run(_current.set, self)
        self._ready.extend(acts)
        self._drive_on()

    def _drive_on(self) -> None:
        """Start one more driver, if a run is left that has not begun."""
        if self._ready:
            context = None if self._clean is None else self._clean.copy()
            driver = self._jobs_loop.create_task(self._drive(), context=context)
            self._drivers.add(driver)  # the loop itself would let go of it
            driver.add_done_callback(self._drivers.discard)

    async def _drive(self) -> None:
        """Carry out one attempt after the other, until one waits for something: then another driver goes on.

        A task for each attempt would cost more than many a job does. What a task keeps for its code is kept
        apart: whoever is cancelled, or changes the context, has had the task for itself.
        """
        ready, task = self._ready, asyncio.current_task()
        has_waited = False

        def go_on() -> None:
            nonlocal has_waited
            has_waited = True
            self._drive_on()

        watch = self._jobs_loop.call_soon(go_on)  # its turn comes when this task has waited for something
        while ready and not has_waited:
            act = ready.popleft()
            act.task = task
            try:
                if act.is_asked:
                    raise asyncio.CancelledError  # noqa: TRY301 - it was asked to end before it began
                await _invoke(act)
            except BaseException as error:  # noqa: BLE001 - a job's SystemExit is the job's, not the program's
                self._ended(act, _told(act, error))
            else:
                self._ended(act, _told(act, None))
            act.task = None
            if (task is not None and task.cancelling()) or copy_context() != self._clean:
                break
        if not has_waited:
            watch.cancel()
            self._drive_on()

    def _cancel(self, act: _Act) -> None:
        if act.task is not None:
            act.task.cancel()

    # -- in a thread -------------------------------------------------------------------------------

    def _call(self, act: _Act) -> None:
        _current.set(self)
        try:
            if act.is_asked:
                raise asyncio.CancelledError  # noqa: TRY301 - it was asked to end before it began
            _refuse_to_await(_invoke(act))
        except BaseException as error:  # noqa: BLE001 - as above
            self._ended(act, _told(act, error))
        else:
            self._ended(act, _told(act, None))

    def _ended(self, act: _Act, result: Result) -> None:
        """Tell the engine's loop, once for all that end before it looks."""
        with self._lock:
            self._outbox.append((act, result))
            is_first = len(self._outbox) == 1
        if is_first and self._engine_loop is not None and not self._engine_loop.is_closed():
            self._engine_loop.call_soon_threadsafe(self._deliver)


def make_executor(place: ExecutorPlace) -> PythonExecutor:
    """The executor of a program's functions."""
    return PythonExecutor(place.functions, jobs_loop=place.jobs_loop, follow_log=place.follow_log)


def current_executor() -> PythonExecutor | None:
    """The executor whose job asks, if a job does."""
    return _current.get()


def describe(function: Callable[..., Any]) -> Function:
    """What there is to know about a function that is an action."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise InvalidJobError("action", function, "is a generator, and its values would be lost")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        hint = "wrap it in a function of your own"
        raise InvalidJobError("action", function, "does not tell its arguments", hint=hint) from None
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object whose call is a coroutine
    )
    takes_run = next(iter(signature.parameters), None) == "run"
    return Function(function, is_async, takes_run, signature)


def _invoke(act: _Act) -> Any:
    call, _, takes_run, _ = act.function
    return call(act, **act.run.arguments) if takes_run else call(**act.run.arguments)


def _result(act: _Act, outcome: Outcome, error: str | None = None) -> Result:
    return Result(outcome, error, *act.written)


def _refuse_to_await(value: object) -> None:
    """A plain function that gives back a coroutine has not done its work."""
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise TypeError("it returned an awaitable, which is not awaited: declare the function `async def`")


def _told(act: _Act, error: BaseException | None) -> Result:
    """How it ended. Whatever happens here, it has ended."""
    try:
        if error is None:
            return _DONE if act.is_silent else _returned(act)
        return _cancelled(act) if isinstance(error, asyncio.CancelledError) else _failed(act, error)
    except BaseException as fault:  # noqa: BLE001 - an attempt without an end would hold its slot for ever
        return Result(Outcome.FAILED, f"how it ended cannot be told: {type(fault).__name__}")


def _returned(act: _Act) -> Result:
    return _result(act, Outcome.CANCELLED if act.is_heeded else Outcome.SUCCEEDED)


def _cancelled(act: _Act) -> Result:
    if act.is_asked:
        return _result(act, Outcome.CANCELLED)
    return _result(
        act, Outcome.FAILED, "CancelledError: the job cancelled itself, or the program's loop ended it"
    )


def _failed(act: _Act, error: BaseException) -> Result:
    """The failure's text: the error, then the last few frames of the job's own code."""
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != __file__]
    summary = "".join(traceback.format_exception_only(error)).rstrip()
    return _result(act, Outcome.FAILED, "\n".join([summary, *_frames(own)]))


def _frames(stack: list[traceback.FrameSummary]) -> list[str]:
    shown = [f"  {frame.filename}:{frame.lineno} in {frame.name}: {frame.line}" for frame in stack[-_FRAMES:]]
    return ["  …", *shown] if len(stack) > _FRAMES else shown
