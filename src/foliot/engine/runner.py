"""The life of an attempt on its node: start, watch, end, report."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from foliot.model.attempt import Attempt, Ending, Outcome
from foliot.model.job import Job
from foliot.protocols import Clock, Executor, Output, Result, Run

Key = tuple[str, int]


class Report(NamedTuple):
    """How attempts ended, and what they wrote."""

    endings: list[Ending]
    outputs: list[Output]


class Runner:
    """Holds the attempts that run on this node, one task each, and collects how they ended."""

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
        self._running: dict[Key, tuple[Run, asyncio.Task[None]]] = {}
        self._verdicts: dict[Key, Outcome] = {}
        self._endings: list[Ending] = []
        self._outputs: list[Output] = []
        self.idle = asyncio.Event()  # set while nothing runs
        self.idle.set()

    @property
    def count(self) -> int:
        """How many attempts run, or have ended and are not yet reported."""
        return len(self._running) + len(self._endings)

    def busy(self) -> Counter[str]:
        """How many attempts run, by queue."""
        return Counter(run.job.queue for run, _ in self._running.values())

    def holds(self, key: Key) -> bool:
        return key in self._running or any((e.run_key, e.number) == key for e in self._endings)

    def start(self, job: Job, attempt: Attempt) -> None:
        """Let an attempt run that the store has given to this node."""
        run = Run(job, attempt)
        self.idle.clear()
        self._running[attempt.key] = run, asyncio.ensure_future(self._live(run))

    def end(self, key: Key, verdict: Outcome) -> None:
        """Ask an attempt to end; that it was asked is its outcome."""
        if key in self._running and key not in self._verdicts:
            self._verdicts[key] = verdict
            self._running[key][1].cancel()

    def end_all(self, verdict: Outcome) -> None:
        """Ask every attempt to end."""
        for key in list(self._running):
            self.end(key, verdict)

    async def abandon(self) -> None:
        """End everything and report nothing: this node's attempts are no longer its own."""
        self.end_all(Outcome.LOST)
        await self.idle.wait()
        self._endings.clear()
        self._outputs.clear()

    def take_report(self) -> Report:
        """What is to be reported; if that fails, it is given back."""
        report = Report(self._endings, self._outputs)
        self._endings, self._outputs = [], []
        return report

    def give_back(self, report: Report) -> None:
        self._endings[:0] = report.endings
        self._outputs[:0] = report.outputs

    async def _live(self, run: Run) -> None:
        attempt, started_at = run.attempt, self._now()
        watch = self._watch(run)
        result = await self._execute(run)
        if watch is not None:
            watch.cancel()
        outcome = self._verdicts.pop(attempt.key, None) or result.outcome
        error = result.error
        if outcome is Outcome.TIMED_OUT and error is None:
            error = f"did not end within {run.job.policy.timeout}"
        del self._running[attempt.key]
        if result.output:
            self._outputs.append(
                Output(attempt.job, attempt.run_key, attempt.number, result.output, result.dropped)
            )
        self._endings.append(
            Ending(
                attempt.job, attempt.run_key, attempt.number, attempt.token,
                outcome, started_at, self._now(), error,
            )
        )  # fmt: skip
        if not self._running:
            self.idle.set()
        self._on_ended()

    def _watch(self, run: Run) -> asyncio.Task[None] | None:
        """Ends an attempt that takes longer than its job allows."""
        timeout = run.job.policy.timeout
        return None if timeout is None else asyncio.ensure_future(self._end_after(timeout, run.attempt.key))

    async def _end_after(self, duration: timedelta, key: Key) -> None:
        await self._clock.wait(duration)
        self.end(key, Outcome.TIMED_OUT)

    async def _execute(self, run: Run) -> Result:
        try:
            return await self._executors[run.job.action.kind].execute(run)
        except asyncio.CancelledError:
            return Result(Outcome.CANCELLED)
        except Exception as error:  # noqa: BLE001 - an executor's own fault fails the run, not the node
            return Result(Outcome.FAILED, f"{type(error).__name__}: {error}")
