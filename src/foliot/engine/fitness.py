"""Which due jobs a node passes over: jobs of its own kinds that it cannot start now.

Example: many nodes follow a repository, and one of them pulls a new revision first. Until the others have
pulled it, they cannot run jobs of that revision. The claim checks this in the same transaction, with the
definition that would run, so the check also covers retries, restarts and manual runs. A job that is passed
over does not change, and stays due.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime

from foliot.engine.listeners import Complaints, safely
from foliot.model.alike import Alike
from foliot.model.deciding import DecidesAlike
from foliot.model.decision import Decision
from foliot.model.job import Job
from foliot.model.kinds import ByKind, serves
from foliot.model.state import Record
from foliot.protocols import DecideDue, Executor, Selective


class _IfFit:
    """The decisions of one claim."""

    def __init__(
        self,
        decide: DecideDue,
        selective: ByKind[Selective | None],
        passed: dict[str, Job],
        fits: Callable[[Selective, Job], bool],
    ) -> None:
        self._decide = decide
        self._selective = selective
        self._passed = passed
        self._fits = fits

    def __call__(self, record: Record, now: datetime, node: str, most: int) -> Decision:
        executor = self._selective.find(record.job.action.kind)
        if executor is None or self._fits(executor, record.job):
            return self._decide(record, now, node, most)
        self._passed[record.job.key] = record.job
        return Decision(record.state)

    def alike(self, job: Job, first: datetime) -> Alike | None:
        """Jobs that must be checked one by one do not form a herd."""
        if self._selective.find(job.action.kind) is not None or not isinstance(self._decide, DecidesAlike):
            return None
        return self._decide.alike(job, first)


class Fitness:
    """Filters the jobs of a claim before the planner.

    After the claim it reports the jobs that it passed over.
    """

    def __init__(self, executors: Mapping[str, Executor]) -> None:
        self._selective = ByKind[Selective | None]()
        self._passed: dict[str, Job] = {}
        self._complaints = Complaints()
        self.learn(executors)

    def learn(self, executors: Mapping[str, Executor]) -> None:
        """Take over the present executors."""
        self._selective = ByKind(
            (kind, executor if isinstance(executor, Selective) else None)
            for kind, executor in executors.items()
        )
        self._is_needed = any(executor is not None for executor in self._selective.values())

    def guard(self, decide: DecideDue) -> DecideDue:
        """The planner of one claim, without the jobs that do not fit."""
        # A claim that timed out may still run on another thread, so each claim has its own object.
        self._passed = passed = dict[str, Job]()
        return _IfFit(decide, self._selective, passed, self._fits) if self._is_needed else decide

    def tell(self) -> frozenset[str]:
        """Tell the executors which of their jobs the last claim passed over. Returns the kinds."""
        passed, self._passed = self._passed, {}
        if not passed:
            return frozenset()
        by_kind: dict[str, list[Job]] = {}
        for job in passed.values():
            by_kind.setdefault(job.action.kind, []).append(job)
        for kind, jobs in by_kind.items():
            if (executor := self._selective.find(kind)) is not None:
                safely(executor.on_passed_over, jobs)
        return frozenset(kind for kind in self._selective if any(serves((kind,), of) for of in by_kind))

    def _fits(self, executor: Selective, job: Job) -> bool:
        try:
            return executor.fits(job)
        except BaseException as error:  # noqa: BLE001 - a fault of the executor's must not look like one of the job
            self._complaints.add(job.action.kind, error)
            return False
