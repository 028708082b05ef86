"""Small functions that stores share: does an ending belong to an open attempt, which attempts start."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from foliot.model.attempt import Attempt, AttemptState, Ending, Refused
from foliot.model.decision import Decision
from foliot.model.state import CORRECTION, Record
from foliot.protocols import DecideDue, DecideEnded, DecideLost

NOT_HELD = "the attempt is not open under that node and token"
Key = tuple[str, int]
_SEVERAL = 2


def started_by(decision: Decision, before: Record) -> list[Attempt]:
    """The attempts that a decision has started, in the order of their tokens."""
    token = before.state.token
    found = [attempt for attempt in decision.attempts if attempt.token > token and attempt.is_running]
    return found if len(found) < _SEVERAL else sorted(found, key=lambda attempt: attempt.token)


def decide_once(  # noqa: PLR0913, PLR0917 - what is asked of the planner, and what it cannot know
    decide: DecideDue,
    has_run: Callable[[Attempt], bool],
    now: datetime,
    node: str,
    most: int,
    record: Record,
) -> Decision:
    """The decision about a due job; an occurrence that has run does not run again.

    After the clock was set back, an occurrence that has run comes again. Then the planner is asked again,
    with the ended attempt in the record, and does not repeat it.
    """
    decision, shown = decide(record, now, node, most), {attempt.key for attempt in record.attempts}
    while ran := [a for a in decision.attempts if _is_first(a) and a.key not in shown and has_run(a)]:
        shown.update(attempt.key for attempt in ran)
        ended = (attempt._replace(state=AttemptState.ENDED) for attempt in ran)
        record = record._replace(attempts=(*record.attempts, *ended))
        decision = decide(record, now, node, most)
    return decision


def _is_first(attempt: Attempt) -> bool:
    """Whether it is the first attempt of an occurrence."""
    return attempt.number == 1 and attempt.request is None


def swap_end(decide: DecideEnded, endings: Sequence[Ending], now: datetime, record: Record) -> Decision:
    """The decision about endings of a job."""
    return decide(record, endings, now)


def swap_loss(decide: DecideLost, lost: Sequence[Key], now: datetime, record: Record) -> Decision:
    """The decision about lost attempts of a job."""
    return decide(record, lost, now)


def by_job(endings: Iterable[Ending]) -> dict[str, list[Ending]]:
    """The endings of each job: one decision is about all of them."""
    found: dict[str, list[Ending]] = {}
    for ending in endings:
        found.setdefault(ending.job, []).append(ending)
    return found


def part_held(
    record: Record | None, endings: Sequence[Ending], node: str
) -> tuple[Sequence[Ending], list[Refused]]:
    """The endings of attempts that the node holds under their tokens; and the rejected ones."""
    if record is not None and len(endings) == 1 and is_held(record.attempts, endings[0], node):
        return endings, []  # nearly always
    attempts = () if record is None else record.attempts
    open_ones = {attempt.key: attempt for attempt in attempts} if len(endings) > 1 else {}
    held: list[Ending] = []
    refused: list[Refused] = []
    for ending in endings:
        found = open_ones.pop((ending.run_key, ending.number), None)  # a second ending of it is refused
        if found is not None and is_held((found,), ending, node):
            held.append(ending)
        else:
            refused.append(Refused(ending, NOT_HELD))
    return held, refused


def in_order(refused: list[Refused], endings: Sequence[Ending]) -> tuple[Refused, ...]:
    """The rejected endings, in the order of the report."""
    if len(refused) > 1:
        places = {id(ending): place for place, ending in enumerate(endings)}
        refused.sort(key=lambda one: places[id(one.ending)])
    return tuple(refused)


def is_held(attempts: Iterable[Attempt], ending: Ending, node: str) -> bool:
    """Whether an ending belongs to one of these attempts, by node and token."""
    for attempt in attempts:  # a plain loop: a finish calls this for every ending
        if (
            attempt.number == ending.number
            and attempt.token == ending.token
            and attempt.node == node
            and attempt.is_running
            and attempt.run_key == ending.run_key
        ):
            return True
    return False


def lease_end(until: datetime, now: datetime, lease: timedelta) -> datetime:
    """The end of a lease. A lease that ends hours too late is from before the clock was set back."""
    return now + lease if until > now + lease + CORRECTION else until
