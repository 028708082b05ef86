"""Rules about time: nothing starts too early or too late, and what was missed is caught up once, at once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise

from foliot.model.attempt import Trigger
from foliot.model.policy import MisfireMode, Retry
from foliot_proof.history.case import Case
from foliot_proof.history.facts import Operation
from foliot_proof.history.owed import Slot
from foliot_proof.history.report import Code, Finding
from foliot_proof.history.rows import Row, Run
from foliot_proof.history.spans import at_or_after

_SHORTEST_RETRY = timedelta(seconds=1)
_MOST_DOUBLINGS = 64
_A_YEAR = timedelta(days=365).total_seconds()


def early(case: Case) -> Iterator[Finding]:
    """A start before its occurrence, or before the delay of its retry, by more than the skew."""
    for row in case.timed:
        due = row.at + case.offset if row.attempt.request is None else _asked_at(case, row)
        began = min((sign for sign in (row.start, row.claimed) if sign is not None), default=due)
        if began < due - case.bounds.skew:
            yield Finding(Code.EARLY, began, f"{row} began at {began}, due at {due}")
    for run in case.runs.values():
        yield from _early_retries(case, run)


def _asked_at(case: Case, row: Row) -> datetime:
    asked = case.asked(Operation.RUN_NOW, row.attempt.request)
    return min((change.asked_at for change in asked), default=row.at)


def _early_retries(case: Case, run: Run) -> Iterator[Finding]:
    for before, retry in pairwise(run.rows):
        if retry.trigger is not Trigger.RETRY or retry.start is None or before.end is None:
            continue
        if case.is_murky(before) or case.is_murky(retry):
            continue
        delays = [d.policy.retry.delay for d in case.definitions(before.end, retry.start)]
        earliest = before.end + max(_SHORTEST_RETRY, min(delays, default=_SHORTEST_RETRY))
        if retry.start < earliest - case.bounds.skew:
            yield Finding(Code.EARLY, retry.start, f"{retry} started before {earliest}, its retry's time")


def late(case: Case) -> Iterator[Finding]:
    """Claimed, or started, though somebody had had a chance for longer than the tolerance."""
    for run in case.scheduled:
        slot, claimed = case.slot(run.at), run.first.claimed
        if slot is None or claimed is None or case.is_murky(run.first):
            continue
        is_catch_up = run.first.trigger is Trigger.CATCH_UP or run.first.attempt.covers_from is not None
        code = Code.LATE_CATCHUP if is_catch_up else Code.LATE
        tolerance = case.bounds.eps + (case.bounds.recover if is_catch_up else timedelta(0))
        if claimed > slot.due + tolerance and _deadline(case, slot.due, claimed, tolerance):
            yield Finding(code, claimed, f"{run.first} was claimed at {claimed}, due at {slot.due}")
        elif _is_beyond_grace(case, slot, run, claimed):
            yield Finding(Code.LATE, claimed, f"{run.first} ran after its grace, instead of a skip")
    for row in case.timed:
        yield from _late_start(case, row)
        yield from _late_follow_up(case, row)


def _deadline(case: Case, since: datetime, until: datetime, tolerance: timedelta) -> datetime | None:
    return case.deadline(since, until - case.bounds.skew, tolerance)


def _is_beyond_grace(case: Case, slot: Slot, run: Run, claimed: datetime) -> bool:
    """Whether it ran although its policy skips what is so late."""
    misfire = slot.definition.policy.misfire
    if misfire.mode is not MisfireMode.SKIP or claimed - slot.due <= misfire.grace + case.bounds.skew:
        return False
    if _owes_the_past(case, run) or not case.is_settled(slot.due, claimed):
        return False
    return _was_free(case, run, slot, claimed)


def _owes_the_past(case: Case, run: Run) -> bool:
    """Whether it stands for what a declaration owed at once; that runs, however late."""
    first = run.first.attempt.covers_from or run.at
    return any(case.slots[index].is_backdated for index in case.slots_in(first, run.at))


def _late_start(case: Case, row: Row) -> Iterator[Finding]:
    """An attempt that its node held for long before it began."""
    if row.claimed is None or row.start is None or row.start - row.claimed <= case.bounds.eps:
        return
    able = case.hosts.able.get(case.hosts.home(row.attempt.node) or "", [])
    if any(begin <= row.claimed and end >= row.start for begin, end in able):
        yield Finding(Code.LATE, row.start, f"{row} started at {row.start}, claimed at {row.claimed}")


def _late_follow_up(case: Case, row: Row) -> Iterator[Finding]:
    """A retry or a restart that began too late after the attempt before it."""
    before = next(iter(case.rows_of.get((row.run_key, row.number - 1), ())), None)
    if (
        row.claimed is None
        or before is None
        or case.is_murky(before)
        or row.trigger not in (Trigger.RETRY, Trigger.LOST)
    ):
        return
    since = case.reported(before)
    if row.trigger is Trigger.RETRY:
        retries = [definition.policy.retry for definition in case.definitions(since, since)]
        since += max((_longest_delay(retry, before.number) for retry in retries), default=_SHORTEST_RETRY)
    until = row.claimed - case.bounds.skew
    if until > since and case.own_deadline(row.run_key, since, until, case.bounds.eps):
        yield Finding(Code.LATE, row.claimed, f"{row} was claimed at {row.claimed}, due at {since}")


def _longest_delay(retry: Retry, number: int) -> timedelta:
    """The longest that a retry may wait."""
    grown = min(retry.delay.total_seconds() * retry.backoff ** min(number, _MOST_DOUBLINGS), _A_YEAR)
    delay = max(min(timedelta(seconds=grown), retry.longest), retry.delay)
    return max(delay * (1 + retry.jitter), _SHORTEST_RETRY)


# -- catching up -----------------------------------------------------------------------------------


def coalesced(case: Case) -> Iterator[Finding]:
    """A run stands for an occurrence that could have had its own, or is not for the latest one."""
    for run in case.scheduled:
        slot, claimed = case.slot(run.at), run.first.claimed
        if slot is None or claimed is None or case.is_murky(run.first):
            continue
        yield from _covers_too_much(case, run, claimed)
        mode = slot.definition.policy.misfire.mode
        newer = _newer(case, run, slot, claimed)
        if mode is MisfireMode.ALL and not _owes_the_past(case, run):
            yield from _too_many(case, run, slot, claimed)
        elif newer and _was_free(case, run, slot, claimed):
            yield _not_the_latest(case, run, newer, claimed)


def _covers_too_much(case: Case, run: Run, claimed: datetime) -> Iterator[Finding]:
    if run.first.attempt.covers_from is None:
        return
    for index in case.slots_in(run.first.attempt.covers_from, run.at)[:-1]:
        covered = case.slots[index]
        until = min(claimed, covered.following or claimed)
        if covered.is_owed and _deadline(case, covered.due, until, case.bounds.eps):
            text = f"{run.first} covers {covered.at}, which could have run by itself"
            yield Finding(Code.WRONG_COALESCE, covered.due, text)
        elif case.is_settled(covered.due, claimed) and _never_coalesces(case, run, covered):
            text = f"{run.first} covers {covered.at}, though its policy gives each its own"
            yield Finding(Code.WRONG_COALESCE, covered.due, text)


def _never_coalesces(case: Case, run: Run, slot: Slot) -> bool:
    is_once = slot.definition.policy.misfire.mode is MisfireMode.ONCE
    return not is_once and not _owes_the_past(case, run)


def _newer(case: Case, run: Run, slot: Slot, claimed: datetime) -> list[Slot]:
    """Occurrences after that of a run which were due, for sure, when it was claimed."""
    found = case.owed_between(slot.due, claimed - case.bounds.skew)
    return [newer for newer in found if newer.at > run.at]


def _was_free(case: Case, run: Run, slot: Slot, claimed: datetime) -> bool:
    """Whether a run was surely decided about when it was claimed, and did not wait its turn before."""
    if not case.is_settled(slot.due, claimed) or case.was_busy(slot.due, claimed, run.key):
        return False
    return not _others_claimed(case, run, slot.due, claimed)


def _others_claimed(case: Case, run: Run, begin: datetime, end: datetime) -> bool:
    """Whether another run of the job was claimed meanwhile, which this one may have waited for."""
    others = (row.claimed for row in case.rows if row.run_key != run.key)
    return any(claimed is not None and begin <= claimed <= end for claimed in others)


def _not_the_latest(case: Case, run: Run, newer: list[Slot], claimed: datetime) -> Finding:
    claimed_too = {other.at for other in case.scheduled if other.first.claimed is not None}
    has_another = any(slot.at in claimed_too for slot in newer)
    if has_another:
        text = f"{run.first} and a run for {newer[-1].at} catch up the same outage"
        return Finding(Code.DUP_SLOT, claimed, text)
    text = f"{run.first} was claimed at {claimed}, when {newer[-1].at} was due"
    return Finding(Code.WRONG_COALESCE, claimed, text)


def _too_many(case: Case, run: Run, slot: Slot, claimed: datetime) -> Iterator[Finding]:
    """Under `all(limit)`: by the time anybody was up, it was not among the latest any more."""
    if case.was_busy(slot.due, claimed, run.key):
        return
    up = case.hosts.up
    index = at_or_after(up, slot.due)
    if index == len(up) or up[index][0] <= slot.due:
        return
    newer = [
        other for other in case.owed_between(slot.due, up[index][0] - case.bounds.skew) if other.at > run.at
    ]
    if len(newer) >= slot.definition.policy.misfire.limit and case.is_settled(slot.due, up[index][0]):
        text = f"{run.first} ran, though {len(newer)} newer ones had been missed as well"
        yield Finding(Code.WRONG_COALESCE, slot.due, text)
