"""A history told by hand: what was declared, what ran, what was skipped, what broke."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.policy import Keep, Policy
from foliot.model.state import Skip
from foliot_proof.history import (
    Bounds,
    Change,
    Definition,
    Fault,
    Finish,
    History,
    Host,
    Mark,
    Operation,
    Rule,
    Trouble,
    Witness,
)

DAY = datetime(2026, 3, 2, tzinfo=UTC)
JOB = "s/job"
BOUNDS = Bounds()
SECOND = timedelta(seconds=1)


def clock(text: str) -> datetime:
    """An instant of the day: "10:00", "10:00:30" or "10:00:30.5"."""
    hours, minutes, seconds = (*text.split(":"), "0")[:3]
    return DAY + timedelta(hours=int(hours), minutes=int(minutes), seconds=float(seconds))


def when(at: str | datetime) -> datetime:
    return clock(at) if isinstance(at, str) else at


class CaseBuilder:
    """Collects facts in the order they are told. Nodes are hosts by their own names."""

    def __init__(self, final: str | datetime = "10:35", hosts: tuple[str, ...] = ("a", "b")) -> None:
        self.final = when(final)
        self.hosts = hosts
        self.changes: list[Change] = []
        self.attempts: list[Attempt] = []
        self.skips: list[Skip] = []
        self.witness: list[Witness] = []
        self.faults: list[Fault] = []
        self.finishes: list[Finish] = []
        self.tokens = count(1)
        self.told_tokens: set[int] = set()

    def declare(
        self, at: str | datetime = "09:55", rule: str = "*/10 * * * *", job: str = JOB, **policy: Any
    ) -> CaseBuilder:
        definition = Definition(Rule(rule), Policy(**{"keep": Keep(last=None, days=None), **policy}))
        return self.change(Operation.DECLARE, at, job=job, definition=definition)

    def change(self, what: Operation, at: str | datetime, job: str = JOB, **facts: Any) -> CaseBuilder:
        self.changes.append(Change(what, job, when(at), **facts))
        return self

    def run(
        self,
        slot: str | datetime,
        *,
        start: str | datetime | None = None,
        takes: float = 30,
        node: str = "a",
        number: int = 1,
        trigger: Trigger = Trigger.SCHEDULE,
        outcome: Outcome | None = Outcome.SUCCEEDED,
        covers: str | datetime | None = None,
        end: str | datetime | None = None,
        lost_at: str | datetime | None = None,
        token: int | None = None,
        seen: bool = True,
        job: str = JOB,
        request: str | None = None,
    ) -> CaseBuilder:
        """An attempt that was claimed, with its witness. `lost_at`: it never ended by itself."""
        began = when(start) if start is not None else when(slot)
        if token is None:
            token = next(self.tokens)
        else:
            self.told_tokens.add(token)
        ended = began + timedelta(seconds=takes) if end is None else when(end)
        finished = None if outcome is None else when(lost_at) if lost_at is not None else ended
        state = AttemptState.RUNNING if outcome is None else AttemptState.ENDED
        attempt = Attempt(
            job, number, trigger, state, when(slot),
            request=request, covers_from=None if covers is None else when(covers), node=node, token=token,
            claimed_at=began, started_at=began, finished_at=finished, outcome=outcome,
        )  # fmt: skip
        self.attempts.append(attempt)
        if seen:
            self.see(Mark.START, attempt, began)
            if lost_at is None and outcome is not None:
                self.see(Mark.END, attempt, ended)
        return self

    def runs(self, *slots: str) -> CaseBuilder:
        """Plain runs, in time."""
        for slot in slots:
            self.run(slot)
        return self

    def see(self, what: Mark, attempt: Attempt, at: str | datetime, **changes: Any) -> CaseBuilder:
        line = Witness(
            what, attempt.job, attempt.run_key, attempt.number, attempt.token, attempt.node or "", when(at)
        )
        self.witness.append(line._replace(**changes))
        return self

    def drop(
        self,
        slot: str | datetime,
        at: str | datetime,
        *,
        number: int = 1,
        job: str = JOB,
        trigger: Trigger = Trigger.SCHEDULE,
        covers: datetime | None = None,
    ) -> CaseBuilder:
        """An attempt that was pending, and never started."""
        self.attempts.append(
            Attempt(
                job, number, trigger, AttemptState.ENDED, when(slot), covers_from=covers,
                finished_at=when(at), outcome=Outcome.CANCELLED, reason="a newer occurrence took its place",
            )
        )  # fmt: skip
        return self

    def skip(
        self, first: str | datetime, last: str | datetime | None = None, reason: str = "told", job: str = JOB
    ) -> CaseBuilder:
        self.skips.append(Skip(job, when(first), when(first if last is None else last), reason))
        return self

    def fault(
        self,
        kind: Trouble,
        begin: str | datetime,
        end: str | datetime | None = None,
        host: str | None = "a",
        **facts: Any,
    ) -> CaseBuilder:
        self.faults.append(Fault(kind, when(begin), None if end is None else when(end), host, **facts))
        return self

    def outage(self, begin: str | datetime, end: str | datetime) -> CaseBuilder:
        """Every host is down."""
        for host in self.hosts:
            self.fault(Trouble.DOWN, begin, end, host)
        return self

    def history(self, bounds: Bounds = BOUNDS, **changes: Any) -> History:
        told = History(
            final=self.final,
            bounds=bounds,
            hosts=tuple(Host(name) for name in self.hosts),
            changes=tuple(self.changes),
            attempts=tuple(self.attempts),
            skips=tuple(self.skips),
            witness=tuple(self.witness),
            faults=tuple(self.faults),
            finishes=tuple(self.finishes),
        )
        return replace(in_claim_order(told, self.told_tokens), **changes)


def in_claim_order(history: History, fixed: Collection[int] = ()) -> History:
    """The same with tokens that grow with the claims, but for those that are fixed."""
    claimed = [a for a in history.attempts if a.claimed_at and a.token not in fixed]
    order = sorted(claimed, key=lambda a: a.claimed_at or DAY)
    new = dict(zip((a.token for a in order), sorted(a.token for a in claimed), strict=True))
    return replace(
        history,
        attempts=tuple(a._replace(token=new.get(a.token, a.token)) for a in history.attempts),
        witness=tuple(w._replace(token=new.get(w.token, w.token)) for w in history.witness),
        finishes=tuple(f._replace(token=new.get(f.token, f.token)) for f in history.finishes),
    )
