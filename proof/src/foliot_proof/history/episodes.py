"""How the runs of a job ended, and which episodes of failure follow from that: as a reader would say it.

It shares nothing with the planner. A run is *over* when its last attempt has ended; the store heard of that
some time between `at` and `until`. Where the logs leave open whether a run counts (it was cancelled,
replaced, or dropped; its job was removed; the store's clock was off), its end is *unsure*: it excuses, and
demands nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from foliot.model.alert import AlertKind
from foliot.model.attempt import Outcome
from foliot.model.policy import Expect, Notify, OverlapMode, Policy
from foliot_proof.history.case import Case
from foliot_proof.history.facts import Operation, Told, Verdict
from foliot_proof.history.rows import Row, Run
from foliot_proof.history.spans import covering

_BAD = (Outcome.FAILED, Outcome.TIMED_OUT, Outcome.LOST, Outcome.INTERRUPTED)


class End(NamedTuple):
    """The end of a run: when the store heard of it, whether it was a success, whether it surely counts."""

    at: datetime
    until: datetime
    name: str  # of the attempt, as alerts write it
    is_good: bool
    is_sure: bool


class Episodes:
    """What the ends of a job's runs mean to its channels."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self._removals = [change for change in case.asked(Operation.REMOVE) if change.verdict is not _NO]

    @cached_property
    def policy(self) -> Policy | None:
        """Its policy, if it is watched, and by one policy all the time."""
        policies = {definition.policy for definition in self.case.all_definitions}
        return next(iter(policies)) if len(policies) == 1 and all(p.is_watched for p in policies) else None

    @property
    def notify(self) -> Notify:
        assert self.policy is not None and self.policy.notify is not None  # noqa: PT018, S101 - asked before
        return self.policy.notify

    @property
    def expect(self) -> Expect:
        return (self.policy and self.policy.expect) or Expect()

    @property
    def is_steady(self) -> bool:
        """Whether failures and recoveries are never held back because the job flaps."""
        return AlertKind.FLAPPING not in self.notify.on

    # -- how runs ended ----------------------------------------------------------------------------

    @cached_property
    def ends(self) -> list[End]:
        """All of them, in order."""
        return sorted(end for run in self.case.runs.values() for end in self._ends(run))

    def _ends(self, run: Run) -> Iterator[End]:
        last = run.rows[-1]
        for row in run.rows:
            if row.outcome is Outcome.SUCCEEDED:
                yield self._end(row, is_good=True, is_sure=self._is_watched(row))
        if last.outcome in _BAD and last.claimed is not None:
            yield self._end(last, is_good=False, is_sure=self._is_watched(last) and self._is_unasked(run))
        elif last.outcome is Outcome.CANCELLED and (last.claimed is not None or len(run.rows) > 1):
            yield self._end(last, is_good=False, is_sure=False)

    def _end(self, row: Row, *, is_good: bool, is_sure: bool) -> End:
        finished = row.finished or self.case.final
        at, until = finished, self.case.reported(row) + self.case.bounds.eps
        for instant in (row.claimed, row.finished):
            murk = covering(self.case.hosts.murky, instant) if instant is not None else None
            if murk is not None:
                at, until, is_sure = min(at, murk[0]), max(until, murk[1]), False
        return End(at - self.case.bounds.skew, until, f"{row.run_key}#{row.number}", is_good, is_sure)

    def _is_watched(self, row: Row) -> bool:
        """Whether its job was there from the claim of an attempt until its end was known."""
        claimed, until = row.claimed or row.at, self.case.reported(row) + self.case.bounds.eps
        return self.case.is_surely_declared(until) and not self.is_removed(claimed, until)

    def _is_unasked(self, run: Run) -> bool:
        """Whether neither a person nor the next occurrence can have asked a run to end."""
        modes = {definition.policy.overlap.mode for definition in self.case.all_definitions}
        return OverlapMode.REPLACE not in modes and not self.case.asked(Operation.CANCEL, run.key)

    def is_removed(self, begin: datetime, end: datetime) -> bool:
        """Whether its job was removed between two instants, or may have been: then all is forgotten."""
        skew = self.case.bounds.skew
        return any(c.asked_at <= end + skew and c.until >= begin - skew for c in self._removals)

    def is_live(self, begin: datetime, end: datetime) -> bool:
        """Whether it counted all the time between two instants, by one definition."""
        near = [stretch for stretch in self.case.stretches if stretch.begin <= end and stretch.end >= begin]
        return len(near) == 1 and all(world.is_live for world in near[0].worlds)

    # -- what follows ------------------------------------------------------------------------------

    @cached_property
    def bad(self) -> dict[str, End]:
        """The runs that may have failed, by the names of their last attempts."""
        return {end.name: end for end in self.ends if not end.is_good}

    @cached_property
    def good(self) -> dict[str, End]:
        """The successes, by the names of their attempts."""
        return {end.name: end for end in self.ends if end.is_good}

    def surely_between(self, before: datetime, after: datetime) -> End | None:
        """A success that surely came after one instant and before another."""
        sure = (end for end in self.good.values() if end.is_sure)
        return next((end for end in sure if before < end.at and end.until < after), None)

    def may_lie_between(self, begin: datetime, end: datetime) -> bool:
        """Whether a success may have come between two instants."""
        return any(good.until >= begin and good.at <= end for good in self.good.values())

    def owed(self) -> Iterator[End]:
        """The failed runs that surely were the `after`-th in a row, or a later one."""
        for end in self.bad.values():
            if not end.is_sure:
                continue
            last = max((good.until for good in self.good.values() if good.at <= end.until), default=None)
            if last is not None and last >= end.at:
                continue
            in_row = [
                other
                for other in self.bad.values()
                if other.is_sure
                and (last is None or other.at > last)
                and other.at <= end.at
                and not self.is_removed(other.at, end.until)
            ]
            if len(in_row) >= self.notify.after:
                yield end

    def possible_in_row(self, end: End) -> int:
        """How many runs can have failed in a row when one ended, at most."""
        sure = [good.until for good in self.good.values() if good.is_sure and good.until < end.at]
        last = max(sure, default=None)
        return sum(
            (last is None or other.until > last) and other.at <= end.until for other in self.bad.values()
        )

    def is_same(self, told: End, end: End) -> bool:
        """Whether one failed run may belong to the episode that another one began."""
        is_before = told.at <= end.until
        is_cut = self.surely_between(told.until, end.at) is not None
        return is_before and not is_cut


_NO = Verdict.REFUSED


def firsts(told: Sequence[Told], kind: AlertKind) -> list[Told]:
    """What was told of a kind when its episodes began."""
    return [one for one in told if one.kind is kind and one.reminder == 0]
