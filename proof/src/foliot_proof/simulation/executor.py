"""Jobs that take time, fail, hang or succeed, and write down by themselves what they did."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta

from foliot.executors.task import TaskExecutor
from foliot.model.attempt import Outcome
from foliot.model.job import Job
from foliot.protocols import AskToEnd, OnEnd, Result, Run
from foliot_proof.history.facts import Mark, Witness
from foliot_proof.simulation.logbook import Logbook
from foliot_proof.simulation.world import Host, World


class SimulatedExecutor(TaskExecutor):
    """Carries out what `action.data` describes: {"takes": seconds, "fails": chance, "hangs": chance}.

    Only what it has pulled: a job of a newer revision does not fit until it has pulled again, which it does,
    in a few seconds, when one was passed over. `newest` tells what there is to be pulled.
    """

    def __init__(self, world: World, host: Host, logbook: Logbook, newest: Callable[[], int]) -> None:
        super().__init__()
        self._world = world
        self._host = host
        self._logbook = logbook
        self._newest = newest
        self._pulled = newest()
        self._pulling: asyncio.Task[None] | None = None

    def start(self, run: Run, on_end: OnEnd) -> AskToEnd:
        if not self.fits(run.job):
            self._logbook.unfit_starts += 1
        return super().start(run, on_end)

    def fits(self, job: Job) -> bool:
        return int(job.revision) <= self._pulled

    def on_passed_over(self, jobs: Sequence[Job]) -> None:
        self._logbook.passed_over += len(jobs)
        if self._pulling is None or self._pulling.done():
            self._pulling = asyncio.ensure_future(self._pull())

    async def _pull(self) -> None:
        await asyncio.sleep(self._world.random.uniform(0, 5))  # noqa: TID251 - virtual time
        await self._host.gate()
        self._pulled = self._newest()

    async def execute(self, run: Run) -> Result:
        await self._host.gate()
        chance = self._world.random
        data = run.job.action.data
        takes = chance.uniform(0.2, 1.8) * float(data.get("takes", 1))
        if chance.random() < float(data.get("hangs", 0)):
            takes *= 500
        fails = chance.random() < float(data.get("fails", 0))
        self._write(Mark.START, run)
        try:
            await asyncio.sleep(takes)  # noqa: TID251 - virtual time
            await self._host.gate()
        except asyncio.CancelledError:
            await self._end_slowly(run)
            raise
        self._write(Mark.END, run)
        return Result(Outcome.FAILED, "as it was told") if fails else Result(Outcome.SUCCEEDED)

    async def _end_slowly(self, run: Run) -> None:
        """A job that is asked to end takes its time, too."""
        await self._host.gate()
        grace = timedelta(seconds=self._world.random.uniform(0, 3))
        await asyncio.sleep(grace.total_seconds())  # noqa: TID251 - virtual time
        await self._host.gate()
        self._write(Mark.END, run)

    def _write(self, what: Mark, run: Run) -> None:
        attempt = run.attempt
        line = Witness(
            what, attempt.job, attempt.run_key, attempt.number, attempt.token, attempt.node or "",
            self._world.now,
        )  # fmt: skip
        self._logbook.witness.append(line)
        self._world.note(*line)
