"""The life of an attempt on its node: start, watch, end, report."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from foliot.engine.listeners import Complaints
from foliot.model.attempt import Attempt, Ending, Outcome
from foliot.protocols import AskToEnd, Clock, Executor, Output, Result, Run
from foliot.schedules.duration import format_duration

Key = tuple[str, int]
_SHARED = 0.005  # seconds
_EARLIEST = datetime.min.replace(tzinfo=UTC)


class Report(NamedTuple):
    """How attempts ended, and what they wrote."""

    endings: list[Ending]
    outputs: list[Output]


class _Life:
    """An attempt that runs here."""

    __slots__ = ("_runner", "cancel", "is_over", "key", "run", "started_at", "verdict", "watch")

    def __init__(self, runner: Runner, run: Run, key: Key, started_at: datetime) -> None:
        self._runner = runner
        self.run = run
        self.key = key
        self.started_at = started_at
        self.cancel: AskToEnd | None = None
        self.watch: asyncio.Task[None] | None = None
        self.verdict: Outcome | None = None  # of this node; it counts more than the executor's
        self.is_over = False

    def ended(self, run: Run, result: object) -> None:
        """Its executor says so. Only the first time counts, and only for the run that this was made for."""
        del run
        if not self.is_over:
            self.is_over = True
            self._runner.note_end(self, result if isinstance(result, Result) else _no_result(result))


class Runner:
    """Holds the attempts that run on this node, and collects how they ended."""

    def __init__(
        self,
        executors: Mapping[str, Executor],
        clock: Clock,
        now: Callable[[], datetime],
        on_ended: Callable[[], None],
    ) -> None:
        self._executors = executors
        self._clock = clock
        self._now = now  # the store's time: what is stored must not depend on this host's clock
        self._on_ended = on_ended
        self._lives: dict[Key, _Life] = {}
        self._busy: Counter[str] = Counter()
        self._endings: list[Ending] = []
        self._outputs: list[Output] = []
        self._complaints = Complaints()
        self._under_way: Sequence[Ending] = ()  # reported, and not yet answered
        self._told: datetime | None = None  # the time that was last told, and when that was
        self._told_at = 0.0
        self.idle = asyncio.Event()  # set while nothing runs
        self.idle.set()

    @property
    def count(self) -> int:
        """How many attempts run, or have ended and are not yet reported."""
        return len(self._lives) + self.untold

    @property
    def untold(self) -> int:
        """How many attempts have ended and are not yet reported."""
        return len(self._endings) + len(self._under_way)

    def busy(self, queue: str) -> int:
        """How many attempts of a queue run."""
        return self._busy[queue]

    def endings_of_unknown(self, held: Sequence[Attempt]) -> list[Ending]:
        """Attempts that are this node's by the store, and that are not held here, have never started."""
        now = self._now()
        known = {(ending.run_key, ending.number) for ending in (*self._endings, *self._under_way)}
        known.update(self._lives)
        return [
            Ending(a.job, a.run_key, a.number, a.token, Outcome.INTERRUPTED, None, now, "never started")
            for a in held
            if a.key not in known
        ]

    def _shared_now(self, not_before: datetime) -> datetime:
        """The store's time, to 5 ms: what starts or ends within that may share one."""
        at, told = self._clock.monotonic(), self._told
        if told is None or told < not_before or not 0 <= at - self._told_at < _SHARED:
            told = self._told = self._now()
            self._told_at = at
        return told

    # -- begin and end -----------------------------------------------------------------------------

    def start(self, run: Run) -> None:
        """Let an attempt run that the store has given to this node."""
        life = _Life(self, run, run.key, self._shared_now(run.claimed_at or _EARLIEST))
        self._lives[life.key] = life
        self._busy[run.queue] += 1
        self.idle.clear()
        try:
            life.cancel = self._executors[run.kind].start(run, life.ended)
        except BaseException as error:  # noqa: BLE001 - an executor's own fault fails the run, not the node
            fault = Result(Outcome.FAILED, f"{type(error).__name__}: {error}")
            asyncio.get_running_loop().call_soon(life.ended, run, fault)
        if run.timeout is not None and not life.is_over:
            life.watch = asyncio.ensure_future(self._end_after(run.timeout, life.key))

    async def _end_after(self, duration: timedelta, key: Key) -> None:
        await self._clock.wait(duration)
        self.end(key, Outcome.TIMED_OUT)

    def end(self, key: Key, verdict: Outcome) -> None:
        """Ask an attempt to end; that it was asked is its outcome. It is held until it has ended."""
        life = self._lives.get(key)
        if life is None or life.verdict is not None:
            return
        life.verdict = verdict
        if life.watch is not None:
            life.watch.cancel()  # it could only ask once more
        try:
            if life.cancel is not None:
                life.cancel()
        except BaseException as error:  # noqa: BLE001 - an executor's own fault must not end the node
            self._complaints.add(life.run.kind, error)

    def end_all(self, verdict: Outcome) -> None:
        """Ask every attempt to end."""
        for key in list(self._lives):
            self.end(key, verdict)

    async def abandon(self, grace: timedelta) -> None:
        """End everything and report nothing: this node's attempts are no longer its own.

        What does not end within the grace goes on without us, and keeps its slot until it does.
        """
        self.end_all(Outcome.LOST)
        await self._clock.wait(grace, self.idle)
        self._lives.clear()
        self.idle.set()
        self._endings, self._outputs, self._under_way = [], [], ()

    def note_end(self, life: _Life, result: Result) -> None:
        """An attempt has ended; it is part of the next report."""
        run = life.run
        if life.watch is not None:
            life.watch.cancel()
        self._busy[run.queue] -= 1
        if self._lives.get(life.key) is not life:
            return  # it was abandoned
        del self._lives[life.key]
        outcome, error = life.verdict or result.outcome, result.error
        if outcome is Outcome.INTERRUPTED and result.outcome is Outcome.SUCCEEDED:
            outcome = Outcome.SUCCEEDED  # it was asked to end, and was done already
        if outcome is Outcome.TIMED_OUT and error is None and run.timeout is not None:
            error = f"did not end within {format_duration(run.timeout)}"
        ending = run.ending(
            outcome, life.started_at, self._shared_now(life.started_at), error, result.exit_code
        )
        if result.output:
            self._outputs.append(
                Output(ending.job, ending.run_key, ending.number, result.output, result.dropped)
            )
        self._endings.append(ending)
        if not self._lives:
            self.idle.set()
        self._on_ended()

    # -- report ------------------------------------------------------------------------------------

    def take_report(self) -> Report:
        """What is to be reported now. It counts as held until it is settled, or given back."""
        report = Report(self._endings, self._outputs)
        self._under_way = self._endings
        self._endings, self._outputs = [], []
        return report

    def settle(self) -> None:
        """The report that was taken has arrived."""
        self._under_way = ()

    def give_back(self, report: Report) -> None:
        """The report that was taken did not arrive; it is part of the next one."""
        self._endings[:0] = report.endings
        self._outputs[:0] = report.outputs
        self._under_way = ()


def _no_result(given: object) -> Result:
    return Result(Outcome.FAILED, f"its executor gave no result, but {given!r}")
