"""What is written down while a simulation runs: the logs that the history checker judges by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from foliot.model.attempt import Attempt, Ending
from foliot.model.job import Job
from foliot.model.outbox import ChannelAlert
from foliot.model.state import Skip
from foliot.protocols import Finished
from foliot_proof.history.facts import (
    Bounds,
    Change,
    Fault,
    Finish,
    Forgotten,
    History,
    Host,
    Identity,
    Operation,
    Told,
    Trouble,
    Verdict,
    Witness,
    define,
)


class Logbook:
    """Everything that was seen from outside; nothing in it comes from the engine."""

    def __init__(self) -> None:
        self.witness: list[Witness] = []
        self.told: list[Told] = []
        self.passed_over = 0  # jobs that a claim found and left to others, each time
        self.unfit_starts = 0  # of jobs that the node could not know
        self._changes: list[Change] = []
        self._faults: list[Fault] = []
        self._since: dict[tuple[str | None, Trouble], tuple[datetime, timedelta]] = {}
        self._identities: dict[str, str] = {}
        self._finishes: list[Finish] = []
        self._forgotten: list[Forgotten] = []

    def identify(self, node: str, host: str) -> None:
        self._identities[node] = host

    def declared(self, job: Job, at: datetime) -> None:
        self._changes.append(Change(Operation.DECLARE, job.key, at, definition=define(job)))

    def removed(self, job: Job, at: datetime) -> None:
        self._changes.append(Change(Operation.REMOVE, job.key, at))
        if not job.policy.remembers:
            self._forgotten.append(Forgotten(job.key, at))

    def commanded(self, what: Operation, job: str, at: datetime, subject: str | None, *, took: bool) -> None:
        verdict = Verdict.APPLIED if took else Verdict.REFUSED
        self._changes.append(Change(what, job, at, verdict=verdict, subject=subject))

    def begin(self, host: str | None, kind: Trouble, at: datetime, offset: timedelta = timedelta(0)) -> None:
        """Trouble begins; if it is there already, nothing changes."""
        self._since.setdefault((host, kind), (at, offset))

    def over(self, host: str | None, kind: Trouble, at: datetime) -> None:
        if begun := self._since.pop((host, kind), None):
            self._faults.append(Fault(kind, begun[0], at, host, offset=begun[1]))

    def failed_call(self, host: str, begin: datetime, end: datetime) -> None:
        """A call to the store that failed: for that long, the host could not reach it."""
        self._faults.append(Fault(Trouble.PARTITIONED, begin, end, host))

    def finished(self, node: str, endings: Sequence[Ending], answer: Finished, at: datetime) -> None:
        refused = {refusal.ending for refusal in answer.refused}
        for ending in endings:
            self._finishes.append(
                Finish(
                    ending.job, ending.run_key, ending.number, ending.token, node, at, ending not in refused
                )
            )

    def close(  # noqa: PLR0913 - all that a history has
        self,
        *,
        final: datetime,
        bounds: Bounds,
        attempts: Sequence[Attempt],
        skips: Sequence[Skip],
        outbox: Sequence[ChannelAlert],
        channels: Mapping[str, tuple[str, ...]],
    ) -> History:
        """The history, for the checker."""
        lasting = [
            Fault(kind, begin, None, host, offset=offset)
            for (host, kind), (begin, offset) in self._since.items()
        ]
        return History(
            final=final,
            bounds=bounds,
            hosts=tuple(Host(name, None, channels[name]) for name in sorted(set(self._identities.values()))),
            changes=tuple(self._changes),
            attempts=tuple(attempts),
            skips=tuple(skips),
            witness=tuple(self.witness),
            faults=(*self._faults, *lasting),
            identities=tuple(Identity(node, host) for node, host in self._identities.items()),
            finishes=tuple(self._finishes),
            forgotten=tuple(self._forgotten),
            told=tuple(self.told),
            outbox=tuple(outbox),
        )
