"""Rules about claims: each occurrence ends in exactly one way, and each attempt is claimed once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from itertools import pairwise

from foliot.model.attempt import Trigger, run_key
from foliot.model.policy import MisfireMode, OnChange
from foliot.model.state import CORRECTION
from foliot_proof.history.case import Case
from foliot_proof.history.facts import Change, Operation, Verdict
from foliot_proof.history.owed import Slot
from foliot_proof.history.report import Code, Finding
from foliot_proof.history.rows import Row, Run
from foliot_proof.history.worlds import forgets

_CLEARING = (Operation.PAUSE, Operation.REMOVE, Operation.DECLARE)


class Standing(StrEnum):
    """What became of an occurrence."""

    SETTLED = "settled"
    MISSED = "missed"
    OPTIONAL = "its definition was unsure"
    FORGOTTEN = "its history was dropped"
    CLEARED = "a change came before anybody could take it"
    NO_CHANCE = "nobody could take it"


def standing(case: Case, index: int) -> Standing:
    """Whether an occurrence has its run or skip, and if not, what may excuse that."""
    slot = case.slots[index]
    if case.served_by[index] or case.skipped_by[index]:
        return Standing.SETTLED
    if not slot.is_owed:
        return Standing.OPTIONAL
    if case.is_forgotten(slot.at):
        is_seen = (run_key(case.job, slot.at, None), 1) in case.effects_of
        return Standing.SETTLED if is_seen else Standing.FORGOTTEN
    change = _first_change(case, slot)
    until = case.final if change is None else change.asked_at
    if case.deadline(slot.due, until, case.bounds.eps + case.bounds.recover):
        return Standing.MISSED
    if change is None:
        return Standing.NO_CHANCE
    return Standing.CLEARED if _clears(case, change) else Standing.MISSED


def _first_change(case: Case, slot: Slot) -> Change | None:
    """The first change that decides about an occurrence that nobody has taken yet."""
    for change in case.changes:
        is_later = change.until > slot.due and change.verdict is not Verdict.REFUSED
        if is_later and change.what in _CLEARING and _matters(case, change):
            return change
    return None


def _matters(case: Case, change: Change) -> bool:
    """Whether a declaration says something new about when the job runs."""
    if change.what is not Operation.DECLARE or change.definition is None:
        return True
    new = change.definition
    near = case.definitions(change.asked_at, change.until)
    return any(
        (old.rule, old.repeat_until, old.enabled) != (new.rule, new.repeat_until, new.enabled) for old in near
    )


def _clears(case: Case, change: Change) -> bool:
    """Whether a change may leave no trace of what was not taken yet."""
    if change.verdict is Verdict.UNKNOWN or change.what is Operation.PAUSE:
        return True
    near = case.definitions(change.asked_at, change.until)
    if change.what is Operation.REMOVE:
        return any(forgets(definition) for definition in near)
    return any(definition.policy.on_change is OnChange.LAST for definition in near)


def missed(case: Case) -> Iterator[Finding]:
    """Owed, somebody had a chance, and there is neither a run nor a skip; or a request without a run."""
    for index, slot in enumerate(case.slots):
        if standing(case, index) is Standing.MISSED:
            yield Finding(Code.MISSED, slot.due, f"{slot.at} has neither a run nor a skip")
    requests = {row.attempt.request for row in case.rows}
    for change in case.asked(Operation.RUN_NOW):
        is_sure = change.verdict is Verdict.APPLIED and not case.is_forgotten(change.until)
        if is_sure and change.subject not in requests:
            yield Finding(Code.MISSED, change.until, f"the request {change.subject} has no run")


def served_twice(case: Case) -> Iterator[Finding]:
    """More runs than one stand for an occurrence, or a run and a skip.

    A clock that was hours ahead has served what then comes again; that no key runs twice is another rule.
    A run that covers a time stands for the occurrences of its own definition: those that another had then
    were skipped when the definition changed.
    """
    has_been_wrong = case.hosts.furthest > CORRECTION
    definitions = {slot.at: slot.definition for slot in case.slots}
    for slot, runs, skips in zip(case.slots, case.served_by, case.skipped_by, strict=True):
        if has_been_wrong and case.hosts.is_murky(slot.at):
            continue
        if len(runs) > slot.lives:
            keys = ", ".join(run.key for run in runs)
            yield Finding(Code.DUP_SLOT, slot.due, f"{slot.at} is served by {len(runs)} runs: {keys}")
        elif skips and not slot.is_backdated:
            own = [run for run in runs if definitions.get(run.at, slot.definition) == slot.definition]
            if own:
                text = f"{slot.at} is served by {own[0].key}, and skipped: {skips[0].reason}"
                yield Finding(Code.SKIP_AND_RUN, slot.due, text)


def wrongly_skipped(case: Case) -> Iterator[Finding]:
    """Skipped, though somebody could have taken it in time, the job was free, and nothing changed."""
    for slot, runs, skips in zip(case.slots, case.served_by, case.skipped_by, strict=True):
        if skips and not runs and slot.is_owed and not _may_skip(case, slot):
            text = f"{slot.at} was skipped ({skips[0].reason}), but could have run"
            yield Finding(Code.WRONG_SKIP, slot.due, text)


def _may_skip(case: Case, slot: Slot) -> bool:
    bounds, policy = case.bounds, slot.definition.policy
    if case.is_forgotten(slot.at):
        return True  # the run that was in its way may be among what was dropped
    deadline = case.deadline(slot.due, case.final, bounds.eps)
    if deadline is None or not case.is_settled(slot.due, deadline):
        return True
    if case.was_busy(slot.due - bounds.eps, deadline):
        return True
    in_time = slot.due + policy.misfire.grace
    if policy.misfire.mode is MisfireMode.ONCE:
        has_run = policy.before_first_run or _has_run_before(case, slot)
        return not has_run and deadline > in_time
    next_due = slot.following or case.final
    return deadline > min(in_time, next_due)


def _has_run_before(case: Case, slot: Slot) -> bool:
    """Whether the job had surely run since it was last new."""
    born_at = case.born_at(slot.due)
    return any(row.claimed is not None and born_at <= row.claimed < slot.due for row in case.rows)


def claimed_twice(case: Case) -> Iterator[Finding]:
    """Two rows, or two witnesses under different tokens, for one attempt; or the next before it ended."""
    for rows in case.rows_of.values():
        if len(rows) > 1:
            yield Finding(Code.DUP_CLAIM, rows[0].claimed or rows[0].at, f"{rows[0]} has {len(rows)} rows")
    for (key, number), seen in case.effects_of.items():
        owners = {(effect.node, effect.token) for effect in seen}
        if len(owners) > _lives(case, key) and len(case.rows_of.get((key, number), ())) <= 1:
            text = f"{key} #{number} was started by {len(owners)} claims"
            yield Finding(Code.DUP_CLAIM, seen[-1].start, text)
    for run in case.runs.values():
        yield from _claimed_too_soon(case, run)


def _claimed_too_soon(case: Case, run: Run) -> Iterator[Finding]:
    for before, after in pairwise(run.rows):
        is_rerun = after.trigger is Trigger.BACKFILL  # which a person may ask for at any time
        if is_rerun or before.number == after.number or not after.claimed or not before.claimed:
            continue
        if case.is_murky(before) or case.is_murky(after):
            continue
        if before.finished is None or before.finished > after.claimed + case.bounds.skew:
            text = f"{after} was claimed while #{before.number} was open"
            yield Finding(Code.DUP_CLAIM, after.claimed, text)


def _lives(case: Case, key: str) -> int:
    run = case.runs.get(key)
    slot = case.slot(run.at) if run is not None and run.is_scheduled else None
    return slot.lives if slot else 1


def tokens_fall(case: Case) -> Iterator[Finding]:
    """Of two attempts of a job, the one that was claimed later has no higher token."""
    claims = sorted((row for row in case.timed if row.claimed), key=lambda row: row.attempt.token)
    newest = claims[0] if claims else None
    for before, row in pairwise(claims):
        for other in {id(found): found for found in (before, newest) if found}.values():
            if _is_out_of_order(other, row, case):
                tokens = f"{other.attempt.token} and {row.attempt.token}"
                text = f"{other} and {row} have the tokens {tokens}, against the order of their claims"
                yield Finding(Code.TOKEN_NOT_MONOTONIC, row.claimed or row.at, text)
        if newest is None or _claim_time(row) > _claim_time(newest):
            newest = row


def _is_out_of_order(lower: Row, higher: Row, case: Case) -> bool:
    if (lower.run_key, lower.number) == (higher.run_key, higher.number):
        return False
    is_later = _claim_time(lower) > _claim_time(higher) + case.bounds.skew
    return lower.attempt.token == higher.attempt.token or is_later


def _claim_time(row: Row) -> datetime:
    return row.claimed or row.at
