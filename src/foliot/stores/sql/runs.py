"""Claims, finishes and recovery: attempts start, end, and are lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from foliot.model.attempt import Ending, Refused
from foliot.model.decision import Decision, Event, set_aside
from foliot.model.events import joined
from foliot.protocols import Claimed, DecideEnded, DecideLost, Finished, Recovered
from foliot.stores.claim_loop import ClaimLoop
from foliot.stores.group_places import GroupPlaces
from foliot.stores.herd import ended
from foliot.stores.matching import by_job, in_order, part_held
from foliot.stores.sql import node_rows
from foliot.stores.sql.batch import WriteBatch
from foliot.stores.sql.claim import PLACES, Asked, DueEntries, answer_again
from foliot.stores.sql.codes import whole
from foliot.stores.sql.entry import Entry
from foliot.stores.sql.group_rows import GroupRows
from foliot.stores.sql.herd import end_quietly
from foliot.stores.sql.rows import Row, request_text
from foliot.stores.sql.session import Session

_REMEMBER = """
    INSERT INTO claims (claim_no, claim_id, node_no, kept_until) VALUES (:number, :id, :node, :until)
"""
LOST = """
    SELECT a.job_no, a.scheduled_for, a.request, a.number
    FROM attempts AS a INDEXED BY attempts_held CROSS JOIN states AS s
    WHERE a.node_no = :node AND a.state IN (1, 2) AND s.job_no = a.job_no AND s.damage IS NULL LIMIT :most
"""


def claim(session: Session, asked: Asked) -> Claimed:
    """Start due jobs, and remember the claim if it has started something."""
    start = session.begin_claim(asked)
    if start.before is not None:
        held = node_rows.held_by(session, start.node_no)
        return answer_again(session.batch(locks=False), held, start.before)
    if start.now >= start.lease_until:
        return Claimed()  # the lease has run out: nothing is claimed until it is renewed
    batch = session.batch()
    batch.claim_no, batch.is_careful = start.claim_no * PLACES, session.is_careful
    lanes = {queue: numbers for queue, numbers in start.lanes.items() if numbers and asked.room[queue] > 0}
    groups = GroupRows(session)
    herds = None if session.has_bad_text else session.herds  # then each job needs its own decision
    jobs = DueEntries(batch, lanes, asked, herds, start.node_no, groups)
    loop = ClaimLoop(
        jobs, session.claim_cursor, session.clock,
        node=asked.node, now=asked.now, decide=asked.decide, told=session.told,
        groups=GroupPlaces(asked.limits, groups.hold),
    )  # fmt: skip
    claimed = loop.claim(
        {queue: free for queue, free in asked.room.items() if queue in lanes}, start.claim_no
    )
    session.is_careful = False
    if claimed.runs:
        until = start.now + session.lease // timedelta(microseconds=1)
        session.dialect.run(
            _REMEMBER, number=start.claim_no, id=asked.claim_id, node=start.node_no, until=until
        )
    return claimed


def finish(
    session: Session, node: str, endings: Sequence[Ending], now: datetime, decide: DecideEnded
) -> Finished:
    """Record how attempts ended; one counts only if it is open under its own node and token."""
    check = node_rows.hold(session, node)
    node_no = session.interned.node_number(node) or 0
    quiet, endings = end_quietly(session.dialect, node_no, endings)
    batch = session.batch()
    entries = batch.by_key({ending.job for ending in endings}) if endings else {}
    check()
    refused: list[Refused] = []
    events: list[Event] = []
    for job, reported in by_job(endings).items():
        entry = entries.get(job)
        held, others = part_held(None if entry is None else entry.record, reported, node)
        refused += others
        if entry is None or not held:
            continue
        decision = batch.decide(entry, decide, held, now)
        if decision is None:
            refused += (Refused(ending, "the job was set aside") for ending in held)
            events.append(set_aside(entry.key, now, entry.damage))
        else:
            events += decision.events
    batch.flush()
    return Finished(in_order(refused, endings), joined(ended(quiet, now), events))


def recover(session: Session, limit: int, now: datetime, decide: DecideLost) -> Recovered:
    """Bury nodes whose lease is over, and lose at most `limit` of their attempts."""
    dead, buried = node_rows.bury(session, now)
    holders, lost = node_rows.dead_holders(session), list[Row]()
    for node_no in holders:
        lost += session.dialect.run(LOST, node=node_no, most=limit + 1 - len(lost)).fetchall()
        if len(lost) > limit:
            break
    batch = session.batch()
    entries = batch.by_number({row[0] for row in lost[:limit]}) if lost else {}
    events = _lose(batch, entries, lost[:limit], now, decide)
    node_rows.forget_dead(session, {*dead, *holders})
    return Recovered(events, len(lost) > limit and bool(events), buried)


def _lose(
    batch: WriteBatch, entries: Mapping[int, Entry], lost: Sequence[Row], now: datetime, decide: DecideLost
) -> tuple[Event, ...]:
    """Lose attempts of dead nodes. Each row has the job's number, the instant, the request and the number."""
    events: list[Event] = []
    by_number: dict[int, set[Row]] = {}
    for job_no, *name in lost:
        by_number.setdefault(job_no, set()).add(tuple(name))
    for job_no, names in by_number.items():
        entry = entries.get(job_no)
        decision = None if entry is None else _lose_some(batch, entry, names, now, decide)
        if decision is not None:
            events += decision.events
        elif entry is not None and entry.damage is not None and not entry.is_unknown_here:
            events.append(set_aside(entry.key, now, entry.damage))
    batch.flush()
    return tuple(events)


def _lose_some(
    batch: WriteBatch, entry: Entry, names: set[Row], now: datetime, decide: DecideLost
) -> Decision | None:
    """Lose some attempts of a job. None if the job is set aside, or all of them have ended meanwhile."""
    if entry.record is None:
        is_damaged = entry.damage is not None and not entry.is_unknown_here
        return batch.decide(entry, decide, (), now) if is_damaged else None
    keys = [
        attempt.key
        for attempt in entry.record.attempts
        if (whole(attempt.scheduled_for), request_text(attempt.request), attempt.number) in names
    ]
    return batch.decide(entry, decide, keys, now) if keys else None
