"""The attempts that run on this node: start, watch, end, report.

An executor may get many runs at once (`StartsMany`), and may report many ends at once. A faulty executor
costs its own run at most: an end that is reported twice, or by an executor that never got the run, is
ignored.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import groupby
from typing import NamedTuple

from foliot.engine.deadlines import Deadlines, Key
from foliot.engine.listeners import Complaints
from foliot.model.attempt import Attempt, Ending, Outcome
from foliot.protocols import AskToEnd, Clock, Executor, LetsGo, Output, Result, Run, StartsMany
from foliot.schedules.duration import format_duration

# A run, when it started, and its index in its portion, which is needed to ask it to end.
_Held = tuple[Run, datetime, int, list[AskToEnd]]
_PORTION = 100  # runs that start together; the lease is checked before each portion
_SHARED = 0.005  # seconds
_OF_THE_NODE = frozenset({Outcome.INTERRUPTED, Outcome.LOST})  # outcomes that are no failure of the run
_EARLIEST = datetime.min.replace(tzinfo=UTC)


class Report(NamedTuple):
    """The results of ended attempts, and their output."""

    endings: list[Ending]
    outputs: list[Output]


class Runner:
    """Holds the running attempts of this node, and collects their results."""

    def __init__(
        self,
        executors: Mapping[str, Executor],
        clock: Clock,
        now: Callable[[], datetime],
        on_ended: Callable[[], None],
    ) -> None:
        self._executors = executors
        self._clock = clock
        self._now = now  # the store's time: stored times must not depend on this host's clock
        self._on_ended = on_ended
        self._lives: dict[Key, _Held] = {}
        self._verdicts: dict[Key, Outcome] = {}  # decided by this node; they override the executor's
        self._abandoned: set[Key] = set()  # attempts that belong to other nodes now, and have not ended here
        self.deadlines = Deadlines(
            clock,
            lambda: len(self._lives),
            self._lives.__contains__,
            partial(self.end, verdict=Outcome.TIMED_OUT),
        )
        self._busy: Counter[str] = Counter()
        self._endings: list[Ending] = []
        self._outputs: list[Output] = []
        self._complaints = Complaints()
        self._under_way: Sequence[Ending] = ()  # reported; the store has not answered yet
        self._told: datetime | None = None  # the last store time, and when it was read
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

    def open_runs(self) -> list[str]:
        """The keys of what runs here; may be asked on any thread."""
        return sorted({run_key for run_key, _ in list(self._lives)})

    def endings_of_unknown(self, held: Sequence[Attempt]) -> list[Ending]:
        """Endings for attempts of this node that only the store knows: they have never started."""
        now = self._now()
        known = {(ending.run_key, ending.number) for ending in (*self._endings, *self._under_way)}
        known.update(self._lives)
        return [
            Ending(a.job, a.run_key, a.number, a.token, Outcome.INTERRUPTED, None, now, "never started")
            for a in held
            if a.key not in known
        ]

    def _shared_now(self, not_before: datetime) -> datetime:
        """The store's time, to 5 ms: attempts that start or end within 5 ms share one value."""
        at, told = self._clock.monotonic(), self._told
        if told is None or told < not_before or not 0 <= at - self._told_at < _SHARED:
            told = self._told = self._now()
            self._told_at = at
        return told

    # -- begin and end -----------------------------------------------------------------------------

    def portions(self, runs: Sequence[Run]) -> Iterator[Sequence[Run]]:
        """Split runs into portions: many for an executor that takes many, otherwise one each."""
        for executor, some in groupby(runs, self._executor_of):
            alike = list(some)
            size = _PORTION if _takes_many(executor) else 1
            for first in range(0, len(alike), size):
                yield alike[first : first + size]

    def start(self, runs: Sequence[Run]) -> None:
        """Start a portion of claimed runs."""
        at = self._shared_now(runs[0].claimed_at or _EARLIEST)
        asks: list[AskToEnd] = []
        self._lives.update({run.key: (run, at, place, asks) for place, run in enumerate(runs)})
        self._busy.update([run.queue for run in runs])
        self.idle.clear()
        try:
            asks += self._hand_over(runs)
        except BaseException as error:  # noqa: BLE001 - an executor's own fault fails the run, not the node
            fault = Result(Outcome.FAILED, f"{type(error).__name__}: {error}")
            asyncio.get_running_loop().call_soon(self._note_ends, [(run, fault) for run in runs])
        for timeout in {timeout for run in runs if (timeout := run.timeout) is not None}:
            if keys := [run.key for run in runs if run.timeout == timeout and run.key in self._lives]:
                self.deadlines.add(timeout, keys)

    def _executor_of(self, run: Run) -> Executor | None:
        try:
            return self._executors[run.kind]
        except KeyError:  # this node has no executor for it: the run fails
            return None

    def _hand_over(self, runs: Sequence[Run]) -> Sequence[AskToEnd]:
        executor = self._executors[runs[0].kind]
        if isinstance(executor, StartsMany):
            asks = executor.start_many(runs, self._note_ends)
            if len(asks) != len(runs):
                raise ValueError(f"its executor was given {len(runs)} runs, and gave {len(asks)} answers")
            return asks
        return [executor.start(run, partial(self._note_only, run)) for run in runs]

    def end(self, key: Key, verdict: Outcome) -> None:
        """Ask an attempt to end, and set its outcome. It is held until it has ended."""
        held = self._lives.get(key)
        if held is None or key in self._verdicts:
            return
        self._verdicts[key] = verdict
        run, _, place, asks = held
        try:
            if asks:
                _ask(asks[place], verdict)
        except BaseException as error:  # noqa: BLE001 - an executor's own fault must not end the node
            self._complaints.add(run.kind, error)

    def end_all(self, verdict: Outcome) -> None:
        """Ask every attempt to end."""
        for key in list(self._lives):
            self.end(key, verdict)

    async def abandon(self, grace: timedelta) -> None:
        """End all attempts and report nothing: they belong to other nodes now.

        An attempt that does not end within the grace continues, and keeps its slot until it ends.
        """
        self.end_all(Outcome.LOST)
        await self._clock.wait(grace, self.idle)
        self._abandoned.update(self._lives)
        self._lives.clear()
        self._verdicts.clear()
        self.idle.set()
        self._endings, self._outputs, self._under_way = [], [], ()

    def _note_only(self, run: Run, told: Run, result: Result) -> None:
        """The callback of one run. It knows its own run, whatever the executor passes."""
        del told
        self._note_ends([(run, result)])

    def _note_ends(self, ends: Iterable[tuple[Run, Result]]) -> None:
        """Note ended attempts for the next report."""
        at = _EARLIEST
        for number, (run, result) in enumerate(ends):
            if number % _PORTION == 0:
                at = self._shared_now(_EARLIEST)
            held = self._lives.pop(run.key, None)
            if held is not None:
                self._busy[run.queue] -= 1
                self._note_end(run, held[1], at, result)
            elif run.key in self._abandoned:
                self._abandoned.remove(run.key)
                self._busy[run.queue] -= 1
        if not self._lives:
            self.idle.set()
        self._on_ended()

    def _note_end(self, run: Run, started_at: datetime, at: datetime, given: object) -> None:
        result = given if isinstance(given, Result) else _no_result(given)
        outcome, error, output, dropped, exit_code, is_final, retry_after = result
        verdict = self._verdicts.pop(run.key, None) if self._verdicts else None
        is_done_already = verdict is Outcome.INTERRUPTED and outcome is Outcome.SUCCEEDED
        if verdict is not None and not is_done_already:
            outcome = verdict
        if outcome is Outcome.TIMED_OUT and error is None and run.timeout is not None:
            error = f"did not end within {format_duration(run.timeout)}"
        finished_at = at if at >= started_at else self._shared_now(started_at)
        ending = run.ending(outcome, started_at, finished_at, error, exit_code)
        if output:
            ending = ending._replace(has_output=True)
            self._outputs.append(Output(ending.job, ending.run_key, ending.number, output, dropped))
        if is_final or retry_after is not None:
            ending = ending._replace(is_final=is_final, retry_after=retry_after)
        self._endings.append(ending)

    # -- report ------------------------------------------------------------------------------------

    def take_report(self) -> Report:
        """The results to report now. They count as held until `settle` or `give_back`."""
        report = Report(self._endings, self._outputs)
        self._under_way = self._endings
        self._endings, self._outputs = [], []
        return report

    def settle(self) -> None:
        """The store has accepted the report."""
        self._under_way = ()

    def give_back(self, report: Report) -> None:
        """The store did not accept the report; it becomes part of the next one."""
        self._endings[:0] = report.endings
        self._outputs[:0] = report.outputs
        self._under_way = ()


def _ask(ask: AskToEnd, verdict: Outcome) -> None:
    asked: object = ask
    if verdict in _OF_THE_NODE and isinstance(asked, LetsGo):
        asked.let_go()
    else:
        ask()


def _takes_many(executor: object) -> bool:
    return isinstance(executor, StartsMany)


def _no_result(given: object) -> Result:
    return Result(Outcome.FAILED, f"its executor gave no result, but {given!r}")
