"""The rows of a run that goes well, noted the quick way: few values are bound, the rest is in the statement.

An occurrence starts with nothing open, or the only open attempt succeeds and leaves the state alone: that
is nearly all a store ever writes. Each function recognises its case, or answers False, and then the batch
notes the rows at length. Both ways leave the same rows; the contract and the machine run through both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.state import Record, State
from foliot.stores.sql.codes import DAY, EPOCH, micros
from foliot.stores.sql.rows import new, request_text

if TYPE_CHECKING:
    from datetime import datetime

    from foliot.stores.sql.batch import WriteBatch
    from foliot.stores.sql.entry import Entry

_RUNNING, _ENDED = AttemptState.RUNNING, AttemptState.ENDED
_SCHEDULE, _SUCCEEDED = Trigger.SCHEDULE, Outcome.SUCCEEDED


def note_start(
    batch: WriteBatch, entry: Entry, record: Record, attempts: tuple[Attempt, ...], state: State
) -> bool:
    """The first attempt at the newest occurrence: a new row, and a state that has moved on."""
    (
        _, number, trigger, attempt_state, scheduled_for, _, covers_from, _, node, token,
        claimed_at, deadline_at, _, _, _, _, reason, _, _, _,
    ) = attempts[0]  # fmt: skip
    wake_at, served_until, next_at, paused_at, removed_at = state[2:7]
    before = record.state
    if (
        attempt_state is not _RUNNING
        or number != 1
        or trigger is not _SCHEDULE
        or covers_from is not None
        or entry.ordinal != -1
        or before.failures_in_row != state.failures_in_row
        or before.last_failure_at is not state.last_failure_at
        or before.paused_at is not paused_at
        or before.removed_at is not removed_at
    ):
        return False
    at, newest = micros(scheduled_for), entry.newest
    if at is None or (newest is not None and at <= newest):
        return False
    claim_no = None
    if batch.claim_no is not None and token == state.token:
        claim_no, batch.claim_no = batch.claim_no, batch.claim_no + 1
    entry.newest, entry.ordinal = at, 0
    entry.opened = opened = entry.opened + 1
    look_at, claimed = entry.look_at, micros(claimed_at)
    if look_at is None and claimed is not None and (days := record.job.policy.keep.days) is not None:
        entry.look_at = look_at = claimed + days * DAY
    batch.starts.append(
        (at, entry.job_no, newest, opened, claim_no, batch.interned.node_number(node), token, claimed,
         micros(deadline_at), reason)
    )  # fmt: skip
    batch.moves.append(
        (entry.job_no, state.token, micros(wake_at), micros(served_until), micros(next_at),
         state.fired_count, micros(state.last_attempt_at), state.last_run, at,
         opened, look_at)
    )  # fmt: skip
    batch.kept.pop(entry.key, None)
    entry.record = new(Record, (record.job, state, attempts))
    return True


def note_end(
    batch: WriteBatch, entry: Entry, record: Record, attempts: tuple[Attempt, ...], state: State
) -> bool:
    """The only open attempt has succeeded, and the state stays as it is: one row changes."""
    attempt = attempts[0]
    if (
        state is not record.state
        or len(record.attempts) != 1
        or attempt.state is not _ENDED
        or attempt.outcome is not _SUCCEEDED
        or attempt.error is not None
        or attempt.exit_code is not None
    ):
        return False
    held = record.attempts[0]
    if held.number != attempt.number or held.scheduled_for != attempt.scheduled_for:
        return False
    if held.request != attempt.request:
        return False
    batch.ends.append(
        (micros(attempt.scheduled_for), entry.job_no, request_text(attempt.request), attempt.number,
         _number_of(attempt.started_at), _number_of(attempt.finished_at))
    )  # fmt: skip
    batch.kept.pop(entry.key, None)
    entry.record = new(Record, (record.job, state, ()))
    return True


def _number_of(instant: datetime | None) -> int | None:
    """An instant in microseconds, without keeping it: each of these is seen once."""
    if instant is None:
        return None
    since = instant - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
