"""Encodes changes as words for the scripts: the keys and indices that each change writes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from foliot.model.attempt import Attempt, AttemptState
from foliot.model.state import Record, State
from foliot.model.version import KEPT_VERSIONS, Version
from foliot.stores.optimistic import rows
from foliot.stores.optimistic.change import Change, Past
from foliot.stores.redis import codec
from foliot.stores.redis.definition import Definitions
from foliot.stores.redis.layout import (
    attempt_id,
    held_name,
    lane_id,
    output_name,
    run_member,
    skip_id,
    skip_member,
    time_text,
)
from foliot.stores.redis.shared import PLACES
from foliot.stores.sql.codes import micros, whole

Operation = tuple[str, str, str | int, str]
OUT_OF_SERVICE = "="  # instead of a text: the job stays as it is, but leaves the index of due jobs


class Encoder:
    """Encodes changes."""

    def __init__(self, definitions: Definitions, new_mark: Iterator[str], starts: Iterator[int]) -> None:
        self._definitions = definitions
        self._new_mark = new_mark
        self._starts = starts

    def words(self, change: Change, claim_id: str | None = None) -> tuple[str, list[str | int]]:
        """The new mark of the job, and the words."""
        entry, mark = change.entry, next(self._new_mark)
        if change.aside is not None:
            mark, text = entry.mark, OUT_OF_SERVICE
            operations: list[Operation] = [
                ("HSET", "damaged", entry.key, str(change.aside).replace("\0", "?"))
            ]
            if entry.place:
                operations.append(("ZREM", f"w:{entry.place[:12]}", entry.place[12:], ""))
        elif change.after is None:
            text, operations = "", list(_forgotten(change))
        else:
            text = codec.write_text(mark, change.after, change.orders, change.tally)
            operations = list(self._written(change, change.after, claim_id))
        words: list[str | int] = [entry.key, entry.mark, text, len(operations)]
        for command, key, first, second in operations:
            words += (f"{command} {key}", first, second)
        return mark, words

    def shared(self, changes: Iterable[Change]) -> list[Operation]:
        """Frames and lanes that the server may not have yet, and nodes that hold attempts from now on."""
        operations = self._definitions.news(c.after.job for c in changes if c.after and c.is_defined)
        nodes = {str(a.node) for change in changes for _, a in change.moved if a.is_running}
        return operations + [("SADD", "holders", node, "") for node in nodes]

    def _written(self, change: Change, after: Record, claim_id: str | None) -> Iterator[Operation]:
        key, attempts = change.key, after.attempts
        yield from _indexed(change, after)
        was_open = len(change.before.attempts) if change.before else -1
        if len(attempts) != was_open and (attempts or was_open):
            yield ("HSET", "busy", key, str(len(attempts))) if attempts else ("HDEL", "busy", key, "")
        for before, attempt in change.moved:
            yield from _moved(key, before, attempt, f"{next(self._starts) * PLACES:x} {claim_id or ''}")
        if after.job.group is not None:
            for attempt in change.group_starts:
                yield "HSET", f"g:{after.job.group}", held_name(key, attempt_id(attempt)), str(attempt.node)
        yield from _past(change)
        if change.alerts:
            yield from _told(change)
        if change.is_defined:
            yield from self._defined(change, after)
        if change.version is not None:
            yield from self._kept(key, change.version)

    def _defined(self, change: Change, after: Record) -> Iterator[Operation]:
        key, (job, state, _) = change.key, after
        yield "HSET", "d", key, self._definitions.text(job)
        if change.entry.damage is not None:
            yield "HDEL", "damaged", key, ""
            if state.wake_at is not None:  # setting it aside has removed it from the index
                member = time_text(whole(state.wake_at)) + key
                yield "ZADD", f"w:{lane_id(job.queue, job.action.kind)}", 0, member

    def _kept(self, key: str, version: Version) -> Iterator[Operation]:
        """Add a former definition, and delete the oldest one if there are too many."""
        if version.job is not None:
            span = (micros(version.since), micros(version.until), version.replaced_by)
            yield "KEEP", f"v:{key}", version.number, self._definitions.version_text(version.job, span)
            yield "HDEL", f"v:{key}", str(version.number - KEPT_VERSIONS), ""


def _sets_of(state: State) -> set[str]:
    """The sorted sets that list a job, by its state."""
    if state.removed_at is not None:
        return {"gone"}
    found = {"keys"}
    if state.paused_at is not None:
        found.add("paused")
    if state.failures_in_row > 0:
        found.add("failing")
    return found


def _signs(state: State) -> tuple[bool, bool, bool]:
    """The facts of a state that decide about these sets."""
    return state.removed_at is None, state.paused_at is None, state.failures_in_row > 0


_SETS = ("keys", "gone", "paused", "failing")


def _indexed(change: Change, after: Record) -> Iterator[Operation]:
    """Move a job between the sets that list jobs by their state."""
    state, before_ = after.state, change.before
    if before_ is not None and _signs(state) == _signs(before_.state):
        return  # it stays in the same sets
    after_ = _sets_of(state)
    if change.before is None and change.entry.is_there:  # its former sets are unknown
        yield from (("ZREM", name, change.key, "") for name in _SETS if name not in after_)
    before = _sets_of(change.before.state) if change.before else set()
    yield from (("ZREM", name, change.key, "") for name in before - after_)
    yield from (("ZADD", name, 0, change.key) for name in after_ - before)


def _moved(key: str, before: Attempt | None, attempt: Attempt, told: str) -> Iterator[Operation]:
    """Index an attempt: by time, and by its node, with the claim that started it."""
    if before is None:
        yield "ZADD", "e", 0, run_member(attempt)
    name = held_name(key, attempt_id(attempt))
    was_running, is_running = before is not None and before.is_running, attempt.is_running
    if is_running and not was_running:
        yield "HSET", f"o:{attempt.node}", name, told
    elif before is not None and was_running and not is_running:
        yield "HDEL", f"o:{before.node}", name, ""
    is_cancelling = attempt.state is AttemptState.CANCELLING
    was_cancelling = before is not None and before.state is AttemptState.CANCELLING
    if is_cancelling and not was_cancelling:
        yield "SADD", f"x:{attempt.node}", name, ""
    elif before is not None and was_cancelling and not is_cancelling:
        yield "SREM", f"x:{before.node}", name, ""


def _past(change: Change) -> Iterator[Operation]:
    """Write ended attempts and skips, and when to look at the history."""
    key, ripe_at = change.key, change.tally.ripe_at
    for attempt, order in change.ended:
        yield "HSET", f"h:{key}", attempt_id(attempt), rows.write_ended(attempt, order)
    for skip in change.skips:
        yield "HSET", f"k:{key}", skip_id(skip), skip.reason
        yield "ZADD", "kx", 0, skip_member(skip)
    if ripe_at != change.entry.tally.ripe_at:
        yield ("ZREM", "ripe", key, "") if ripe_at is None else ("ZADD", "ripe", ripe_at, key)


def _told(change: Change) -> Iterator[Operation]:
    for told in change.alerts:
        alert = told.alert
        yield "ALERT", told.channel, alert.id, time_text(whole(alert.at)) + alert.to_json()


def _forgotten(change: Change) -> Iterator[Operation]:
    """Delete a job and its history."""
    key = change.key
    for name in (*_SETS, "ripe"):
        yield "ZREM", name, key, ""
    for name in ("busy", "damaged"):
        yield "HDEL", name, key, ""
    for attempt in change.before.attempts if change.before else ():
        ended = attempt._replace(state=AttemptState.ENDED)
        yield from _moved(key, attempt, ended, "")
        yield from forget_attempt(ended)
    yield from forget_past(key, change.past or Past())
    yield "DEL", f"h:{key}", "", ""
    yield "DEL", f"k:{key}", "", ""
    yield "DEL", f"v:{key}", "", ""
    yield from _told(change)


def forget_past(key: str, past: Past) -> Iterator[Operation]:
    """Delete attempts and skips of a job."""
    for attempt, _ in past.attempts:
        yield from forget_attempt(attempt)
        yield "HDEL", f"h:{key}", attempt_id(attempt), ""
    for skip in past.skips:
        yield "HDEL", f"k:{key}", skip_id(skip), ""
        yield "ZREM", "kx", skip_member(skip), ""


def forget_attempt(attempt: Attempt) -> Iterator[Operation]:
    """Delete an attempt's index entry and its output."""
    name = output_name(*attempt.key)
    yield "ZREM", "e", run_member(attempt), ""
    yield "HDEL", "out", name, ""
    yield "DEL", f"parts:{name}", "", ""


def operation_words(operations: Sequence[Operation]) -> list[str | int]:
    """Encode operations that belong to no job."""
    words: list[str | int] = ["", "", "", len(operations)]
    for command, key, first, second in operations:
        words += (f"{command} {key}", first, second)
    return words
