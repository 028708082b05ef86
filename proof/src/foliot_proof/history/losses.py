"""Rules about losses: what a node held when it died is found, explained, and followed up."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise

from foliot.model.attempt import AttemptState, Outcome, Trigger, run_key
from foliot.model.policy import OnLost, OverlapMode, Policy
from foliot_proof.history.case import Case
from foliot_proof.history.facts import Operation
from foliot_proof.history.owed import Slot
from foliot_proof.history.report import Code, Finding
from foliot_proof.history.rows import Row
from foliot_proof.history.spans import shared, touches

_FAILURES = (Outcome.FAILED, Outcome.TIMED_OUT)
_CUT_SHORT = (Outcome.LOST, Outcome.INTERRUPTED)
_MOST_LOSSES = 10  # in a row: then a run is given up


def stuck(case: Case) -> Iterator[Finding]:
    """An attempt that nobody ended, or that its node's death ended too late."""
    for row in case.timed:
        if row.attempt.state is AttemptState.PENDING:
            text = _never_started(case, row)
        elif row.attempt.is_open or row.outcome is Outcome.LOST:
            text = _never_ended(case, row)
        else:
            text = ""
        if text:
            yield Finding(Code.STUCK, row.finished or row.claimed or row.at, f"{row} {text}")


def _never_started(case: Case, row: Row) -> str:
    """A pending attempt that was ready, with somebody there to start it, and the job free."""
    since = max(row.at, row.attempt.wake_at or row.at) + case.bounds.poll
    if case.own_deadline(row.run_key, since, case.final, case.bounds.eps + case.bounds.recover):
        return f"is pending at the end, and could have started since {since}"
    return ""


def _never_ended(case: Case, row: Row) -> str:
    """A held attempt whose node was gone, or knew nothing of it, or knew it was over."""
    bounds, node = case.bounds, row.attempt.node
    claimed, until = row.claimed or row.at, row.finished or case.final
    patience = bounds.recover + bounds.eps
    died_at = case.hosts.died_at(case.hosts.home(node), claimed, until)
    if died_at is not None and case.can_recover(died_at + bounds.lease, until, patience):
        return f"was not found lost in time: {node} went down at {died_at}"
    for begin, end in case.hosts.outlived(case.hosts.home(node)):
        since = begin + bounds.lease + bounds.skew
        if claimed <= begin and case.can_recover(since, min(end, until), patience):
            return f"was not found lost in time: {node} was cut off at {begin}"
    if row.attempt.is_open and (buried := case.burial(row, case.final)) is not None:
        return f"is open at the end, though {node} was buried by {buried}"
    over_at = _over_at(row)
    if row.attempt.is_open and over_at and case.can_recover(over_at, case.final, bounds.lease + patience):
        return f"is open at the end, but was over, or never began, at {over_at}"
    return ""


def _over_at(row: Row) -> datetime | None:
    """When an attempt that is open had ended, or should have."""
    if not row.seen:
        return row.claimed
    return row.end or row.attempt.deadline_at


def unexplained(case: Case) -> Iterator[Finding]:
    """Lost, though nothing had happened to its node that could end its lease."""
    for row in case.rows:
        if row.outcome is not Outcome.LOST or row.claimed is None or row.finished is None:
            continue
        node = row.attempt.node
        is_murky = touches(case.hosts.murky, row.claimed, row.finished)
        has_cause = _has_murky_cause if is_murky else _has_cause
        if not has_cause(case, row, row.claimed, row.finished):
            text = f"{row} was lost at {row.finished}, but {node} was well"
            yield Finding(Code.UNEXPLAINED_LOSS, row.finished, text)


def _has_cause(case: Case, row: Row, claimed: datetime, lost: datetime) -> bool:
    bounds, home = case.bounds, case.hosts.home(row.attempt.node)
    if case.hosts.gone_at(home, claimed - bounds.skew, lost + bounds.skew):
        return True
    patience = bounds.lease - bounds.beat - bounds.heal
    return any(
        min(end + bounds.heal, lost) - max(begin, claimed - bounds.beat) >= patience
        and not _is_long_over(case, end, lost)
        for begin, end in case.hosts.silent(home)
    )


def _has_murky_cause(case: Case, row: Row, claimed: datetime, lost: datetime) -> bool:
    """A clock that is set buries nobody. But its times tell little: any trouble of the node is a cause."""
    bounds, home, off = case.bounds, case.hosts.home(row.attempt.node), case.hosts.furthest
    since = (claimed - off if row.start is None else row.start) - bounds.beat
    until = lost + off + bounds.skew
    return bool(case.hosts.gone_at(home, since, until)) or touches(case.hosts.silent(home), since, until)


def _is_long_over(case: Case, end: datetime, lost: datetime) -> bool:
    """Whether a silence had ended so long ago that its node has renewed, or should have been found lost."""
    bounds = case.bounds
    return case.can_recover(end + bounds.heal, lost, bounds.lease + bounds.recover + bounds.eps)


# -- what must follow ------------------------------------------------------------------------------


def dropped(case: Case) -> Iterator[Finding]:
    """Lost with no restart, or failed with no retry, though the policy says so and nothing speaks against."""
    for row in case.timed:
        if row.finished is None or row.claimed is None or (row.run_key, row.number + 1) in case.rows_of:
            continue
        ended = case.reported(row)
        policies = [definition.policy for definition in case.definitions(row.finished, ended)]
        if row.outcome in _CUT_SHORT:
            code, is_owed = Code.ORPHAN_DROPPED, all(_restarts(case, row, ended, p) for p in policies)
        else:
            code, is_owed = Code.RETRY_DROPPED, all(_retries(case, row, ended, p) for p in policies)
        if is_owed and not _is_over(case, row, ended):
            yield Finding(code, ended, f"{row} {row.outcome}, and nothing followed")


def _restarts(case: Case, row: Row, ended: datetime, policy: Policy) -> bool:
    """Whether an attempt that was cut short must have a follower under a policy."""
    is_hopeless = policy.retry.max is not None and case.runs[row.run_key].losses(row) >= _MOST_LOSSES
    if policy.on_lost is not OnLost.RESTART or is_hopeless:
        return False
    return not (policy.retry.is_preempted and _another_came(case, row, ended))


def _retries(case: Case, row: Row, ended: datetime, policy: Policy) -> bool:
    """Whether a failed attempt must have a follower under a policy."""
    limit = policy.retry.max
    if row.outcome not in _FAILURES:
        return False
    if limit is not None and case.runs[row.run_key].retries(row) >= limit:
        return False
    return not (policy.retry.is_preempted and _another_came(case, row, ended))


def _is_over(case: Case, row: Row, ended: datetime) -> bool:
    """Whether its run was to end with it: cancelled, replaced, removed, or not to be judged."""
    finished = row.finished or ended
    if case.is_forgotten(ended) or case.asked(Operation.CANCEL, row.run_key):
        return True
    if not (case.is_surely_declared(finished) and case.is_surely_declared(ended)):
        return True
    modes = {d.policy.overlap.mode for d in case.definitions(row.claimed or row.at, ended)}
    return OverlapMode.REPLACE in modes and _another_came(case, row, ended)


def _another_came(case: Case, row: Row, ended: datetime) -> bool:
    """Whether a newer occurrence came before an attempt had ended, or one waited for it, or may have."""
    margin = case.bounds.eps
    is_asked_for = row.attempt.request is not None
    found = case.slots_in(row.at - margin if is_asked_for else row.at, ended + margin)
    if any(is_asked_for or case.slots[index].at > row.at for index in found):
        return True
    others = [run for run in case.scheduled if run.key != row.run_key and run.at <= ended]
    return any(run.first.claimed is None or run.first.claimed > ended for run in others)


def not_preempted(case: Case) -> Iterator[Finding]:
    """A retry was claimed after a newer occurrence had come, whose place it should have left."""
    for run in case.runs.values():
        for before, again in pairwise(run.rows):
            is_again = again.trigger in (Trigger.RETRY, Trigger.LOST)
            if is_again and not case.is_murky(before) and not case.is_murky(again):
                yield from _newer_than(case, before, again)


def _newer_than(case: Case, before: Row, again: Row) -> Iterator[Finding]:
    begun, claimed, skew = before.claimed, again.claimed, case.bounds.skew
    if begun is None or claimed is None or not case.is_settled(begun, claimed):
        return
    policies = [definition.policy for definition in case.definitions(begun, claimed)]
    if not all(policy.retry.is_preempted for policy in policies):
        return
    # What came during the run pre-empts a retry if the run was in its way; a restart only what came since.
    is_alone = all(policy.overlap.most == 1 for policy in policies) and again.trigger is Trigger.RETRY
    since = begun if is_alone else case.reported(before)
    for slot in case.owed_between(since + skew, claimed - skew):
        if slot.at > again.at and not _was_dropped(case, slot, case.reported(before)):
            text = f"{again} was claimed at {claimed}, when {slot.at} had come"
            yield Finding(Code.RETRY_NOT_PREEMPTED, claimed, text)
            return


def _was_dropped(case: Case, slot: Slot, at: datetime) -> bool:
    """Whether an occurrence that waited had been cancelled before it could take another's place."""
    run = case.runs.get(run_key(case.job, slot.at, None))
    if run is None or run.first.claimed is not None or run.first.finished is None:
        return False
    return run.first.finished <= at


def recoveries(case: Case) -> Iterator[timedelta]:
    """From the end of each node that lost an attempt to the attempt that took its place.

    Time in which nobody could do anything about it, as in an outage of the store, does not count.
    """
    for row in case.rows:
        since = _lost_since(case, row)
        if since is None or row.finished is None:
            continue
        for follower in case.rows_of.get((row.run_key, row.number + 1), ()):
            at = follower.claimed
            if at is not None and not case.was_busy(row.finished, at, without=row.run_key):
                yield shared(case.hosts.anybody, since, at)


def _lost_since(case: Case, row: Row) -> datetime | None:
    """When the node of a lost attempt had died, or was heard of last; None if nothing tells."""
    bounds, home = case.bounds, case.hosts.home(row.attempt.node)
    if row.outcome is not Outcome.LOST or row.claimed is None or row.finished is None:
        return None
    if (died_at := case.hosts.died_at(home, row.claimed, row.finished)) is not None:
        return died_at
    latest = row.finished - bounds.lease + bounds.beat  # who was silent only later had renewed before
    began = [begin for begin, end in case.hosts.silent(home) if begin <= latest and end >= row.claimed]
    return max(row.claimed, *began) if began else None
