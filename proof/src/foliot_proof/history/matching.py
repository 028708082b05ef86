"""The blind cross-check: trust nothing but the witness, and match its starts to what was owed.

Each target accepts the starts of an interval, so the graph is convex, and the greedy choice (of the
targets that accept a start, the one with the earliest deadline) gives a maximum matching, also where
intervals overlap. No solver is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from heapq import heappop, heappush
from typing import TypeVar

from foliot.model.attempt import Outcome
from foliot_proof.history.case import Case
from foliot_proof.history.claims import Standing, standing
from foliot_proof.history.report import Code, Finding

_T = TypeVar("_T", datetime, int)
_RAN = (Outcome.SUCCEEDED, Outcome.FAILED, Outcome.TIMED_OUT)


def count_matches(targets: Iterable[tuple[_T, _T]], starts: Iterable[_T]) -> int:
    """How many targets, each from its release to its deadline, can have a start of their own."""
    waiting = sorted(targets, reverse=True)
    ready: list[_T] = []
    matched = 0
    for start in sorted(starts):
        while waiting and waiting[-1][0] <= start:
            heappush(ready, waiting.pop()[1])
        while ready and ready[0] < start:
            heappop(ready)
        if ready:
            heappop(ready)
            matched += 1
    return matched


def unmatched(case: Case) -> Iterator[Finding]:
    """Fewer starts than occurrences that are said to have run."""
    targets = list(_targets(case))
    starts = list(_first_starts(case))
    matched = count_matches(targets, starts)
    if matched < len(targets):
        text = f"blind: of {len(targets)} occurrences that were to start, {matched} can have been seen to"
        yield Finding(Code.MISSED, _first_unmatched(targets, starts), text)


def _targets(case: Case) -> Iterator[tuple[datetime, datetime]]:
    """What was owed, and was neither skipped, nor coalesced, nor lost or dropped before it began."""
    bounds = case.bounds
    for index, slot in enumerate(case.slots):
        own = [run for run in case.served_by[index] if run.at == slot.at]
        is_said_to_run = any(row.outcome in _RAN for run in own for row in run.rows)
        if not slot.is_owed or not (is_said_to_run or standing(case, index) is Standing.MISSED):
            continue
        soon = slot.due + bounds.eps * 2
        is_free = case.own_deadline(own[0].key if own else "", slot.due, soon, bounds.eps * 2) is not None
        # Somebody may have claimed it in time, and have been held up, or lost, before it began.
        is_calm = is_free and case.all_were_well(slot.due - bounds.skew, soon)
        is_first_lost = any(run.first.outcome not in _RAN for run in own)
        until = soon if is_calm and not is_first_lost else case.final
        # Of a declaration that owes the past, only the answer's time is known, not that of the change.
        since = slot.at if slot.is_backdated else slot.due
        yield since - bounds.skew, until + bounds.skew


def _first_starts(case: Case) -> Iterator[datetime]:
    """The first start of each run that an occurrence named."""
    seen = set()
    for effect in case.effects:
        if effect.run_key not in seen and effect.run_key.startswith(f"{case.job}@"):
            seen.add(effect.run_key)
            yield effect.start


def _first_unmatched(targets: Sequence[tuple[datetime, datetime]], starts: Sequence[datetime]) -> datetime:
    """The earliest target from which on they cannot all be matched."""
    for count in range(1, len(targets) + 1):
        if count_matches(targets[:count], starts) < count:
            return targets[count - 1][0]
    return targets[-1][0]
