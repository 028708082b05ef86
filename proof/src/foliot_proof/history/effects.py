"""Rules about effects: what the jobs saw is what the ledger says, once, and not over each other."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise

from foliot.model.attempt import Outcome, Trigger
from foliot_proof.history.case import Case
from foliot_proof.history.facts import Finish, Operation
from foliot_proof.history.report import Code, Finding
from foliot_proof.history.rows import Effect, Row, Run

_WITNESSED = (Outcome.SUCCEEDED, Outcome.FAILED, Outcome.TIMED_OUT)
_BEFORE = {
    Trigger.LOST: (Outcome.LOST, Outcome.INTERRUPTED),
    Trigger.RETRY: (Outcome.FAILED, Outcome.TIMED_OUT),
}


def mismatched(case: Case) -> Iterator[Finding]:
    """The witness of an attempt has another token or node than its row."""
    for row in case.rows:
        held = row.attempt.token, row.attempt.node
        if len(row.seen) == 1 and (row.seen[0].token, row.seen[0].node) != held:
            text = f"{row} ran with token {row.seen[0].token} on {row.seen[0].node}, "
            yield Finding(
                Code.TOKEN_MISMATCH, row.seen[0].start, text + f"its row has token {held[0]} of {held[1]}"
            )


def repeated(case: Case) -> Iterator[Finding]:
    """One claim of an attempt was started more than once."""
    for (key, number), seen in case.effects_of.items():
        claims = {(effect.node, effect.token) for effect in seen}
        if len(seen) > len(claims):
            yield Finding(Code.DUP_EFFECT, seen[-1].start, f"{key} #{number} was started {len(seen)} times")


def unrecorded(case: Case) -> Iterator[Finding]:
    """A start that has no row, in a time of which the ledger must know."""
    for effect in case.effects:
        if (effect.run_key, effect.number) not in case.rows_of and not case.is_forgotten(effect.start):
            text = f"{effect.run_key} #{effect.number} ran on {effect.node}, and has no row"
            yield Finding(Code.UNRECORDED_EFFECT, effect.start, text)


def fabricated(case: Case) -> Iterator[Finding]:
    """A row that says it ran without a witness, or that no occurrence and no person asked for."""
    for row in case.rows:
        if text := _without_witness(row) or _without_cause(case, row):
            yield Finding(Code.FABRICATED, row.claimed or row.at, f"{row} {text}")


def _without_witness(row: Row) -> str:
    if row.outcome in _WITNESSED and not row.seen:
        return f"{row.outcome}, but nobody saw it start"
    if row.outcome is Outcome.SUCCEEDED and row.seen and row.end is None:
        return "succeeded, but nobody saw it end"
    return ""


def _without_cause(case: Case, row: Row) -> str:
    is_scheduled = row.trigger in (Trigger.SCHEDULE, Trigger.CATCH_UP)
    if is_scheduled and case.slot(row.at) is None and not case.is_murky(row):
        return "is for a time that is no occurrence, or did not count"
    if row.trigger is Trigger.RETRY and not case.is_murky(row) and not _may_retry(case, row):
        return "is a retry that its policy does not allow"
    if row.trigger is Trigger.MANUAL and not case.asked(Operation.RUN_NOW, row.attempt.request):
        return "was asked for by nobody"
    backfills = case.asked(Operation.BACKFILL) if row.trigger is Trigger.BACKFILL else None
    if backfills is not None and not any(
        c.first and c.last and c.first <= row.at <= c.last for c in backfills
    ):
        return "was asked for by nobody"
    return ""


def _may_retry(case: Case, row: Row) -> bool:
    limits = [d.policy.retry.max for d in case.definitions(row.at, row.claimed or case.final)]
    return any(limit is None or case.runs[row.run_key].retries(row) <= limit for limit in limits)


# -- finishes --------------------------------------------------------------------------------------


def stale(case: Case) -> Iterator[Finding]:
    """An ending was taken of an attempt that was no longer open under its node and token."""
    for run in case.runs.values():
        yield from _contradicted(run)
    for row in case.timed:
        if row.outcome is not None and row.outcome is not Outcome.LOST and row.claimed is not None:
            yield from _after_burial(case, row)
    for finish in case.finishes:
        if finish.is_accepted:
            yield from _taken(case, finish)


def _contradicted(run: Run) -> Iterator[Finding]:
    """What followed shows that the attempt before it had ended otherwise."""
    for before, after in pairwise(run.rows):
        wanted = _BEFORE.get(after.trigger)
        if wanted is None or before.number != after.number - 1 or before.outcome is None:
            continue
        if before.outcome not in wanted:
            text = f"{before} {before.outcome}, but #{after.number} exists because of: {after.trigger}"
            yield Finding(Code.STALE_FINISH, before.finished or before.at, text)


def _after_burial(case: Case, row: Row) -> Iterator[Finding]:
    """Its node was cut off for so long, with others there to bury it, that its report came too late."""
    buried = case.burial(row, min(case.ended(row), row.end or case.final))
    if buried is not None:
        text = f"{row} {row.outcome}, though {row.attempt.node} was buried by {buried}"
        yield Finding(Code.STALE_FINISH, buried, text)


def _taken(case: Case, finish: Finish) -> Iterator[Finding]:
    for row in case.rows_of.get((finish.run_key, finish.number), ()):
        is_own = (row.attempt.node, row.attempt.token) == (finish.node, finish.token)
        if not is_own or row.outcome is Outcome.LOST:
            text = f"the store took an ending of {row} from {finish.node} with token {finish.token}"
            yield Finding(Code.STALE_FINISH, finish.at, text)


# -- overlaps --------------------------------------------------------------------------------------


def overlapping(case: Case) -> Iterator[Finding]:
    """More starts at once than the policy allows; separately, if all but one belong to cut-off nodes."""
    active: list[Effect] = []
    for effect in case.effects:
        active = [other for other in active if case.end_of(other) > effect.start]
        most = _most_at_once(case, min((e.start for e in active), default=effect.start), effect.start)
        if most is not None and len(active) >= most:
            healthy = [other for other in active if not _is_zombie(case, other, effect.start)]
            code = Code.OVERLAP if len(healthy) >= most else Code.ZOMBIE_OVERLAP
            text = f"{effect.run_key} #{effect.number} started while {active[-1].run_key} "
            yield Finding(code, effect.start, text + f"#{active[-1].number} ran on {active[-1].node}")
        active.append(effect)


def _most_at_once(case: Case, begin: datetime, end: datetime) -> int | None:
    """The most generous of the bounds that were in force."""
    limits = [definition.policy.overlap.most for definition in case.definitions(begin, end)]
    bounded = [limit for limit in limits if limit is not None]
    return max(bounded) if bounded and len(bounded) == len(limits) else None


def _is_zombie(case: Case, effect: Effect, at: datetime) -> bool:
    """Whether it went on because its node could not know that it had been given up."""
    bounds = case.bounds
    rows = case.rows_of.get((effect.run_key, effect.number), [])
    if any(row.outcome is not Outcome.LOST for row in rows):
        return False
    lull = bounds.lease - bounds.beat - bounds.heal
    causes = [
        end for begin, end in case.hosts.silent(case.hosts.home(effect.node)) if min(end, at) - begin >= lull
    ]
    causes += [end for begin, end in case.hosts.murky if begin <= at <= end]
    return any(case.end_of(effect) <= end + bounds.heal + bounds.eps for end in causes)
