"""A job's timeline in words, put together from all logs, to be read beside a violation."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from foliot_proof.history.case import Case
from foliot_proof.history.facts import Fault
from foliot_proof.history.rows import Row

_AROUND = timedelta(minutes=10)
_MOST_LINES = 40


def timeline(case: Case, faults: tuple[Fault, ...], around: datetime) -> tuple[str, ...]:
    """What every log says around an instant, in order."""
    bounds = case.bounds
    reach = max(_AROUND, 2 * (bounds.lease + bounds.recover + bounds.poll))
    first, last = around - reach, around + reach
    found = sorted((at, line) for at, line in (*_told(case), *_suffered(faults)) if first <= at <= last)
    if len(found) > _MOST_LINES:
        found = sorted(sorted(found, key=lambda line: abs(line[0] - around))[:_MOST_LINES])
    return tuple(f"{at:%Y-%m-%d %H:%M:%S.%f}"[:-3] + f"  {line}" for at, line in found)


def _told(case: Case) -> Iterator[tuple[datetime, str]]:
    for slot in case.slots:
        yield (
            slot.due,
            f"due       {slot.at:%H:%M:%S}" + (f" (optional: {slot.excuse})" if slot.excuse else ""),
        )
    for change in case.changes:
        subject = f" {change.subject}" if change.subject else ""
        yield change.asked_at, f"change    {change.what}{subject}: {change.verdict}"
    for skip in case.skips:
        yield skip.last, f"skip      {skip.first:%H:%M:%S} to {skip.last:%H:%M:%S}: {skip.reason}"
    for row in case.rows:
        yield from _lived(row)
    for told in case.told:
        yield told.at, f"told      {told.channel} {told.kind} of {told.episode}, reminder {told.reminder}"
    for effect in case.effects:
        name = f"{effect.run_key} #{effect.number} on {effect.node}, token {effect.token}"
        yield effect.start, f"witness   start {name}"
        if effect.end is not None:
            yield effect.end, f"witness   end   {name}"


def _lived(row: Row) -> Iterator[tuple[datetime, str]]:
    attempt = row.attempt
    if row.claimed is not None:
        covers = f", covers from {attempt.covers_from:%H:%M:%S}" if attempt.covers_from else ""
        by = f"{attempt.trigger} by {attempt.node}, token {attempt.token}{covers}"
        yield row.claimed, f"ledger    claim {row}: {by}"
    if row.finished is not None:
        yield row.finished, f"ledger    end   {row}: {attempt.outcome} ({attempt.reason})"
    elif attempt.is_open:
        yield row.claimed or row.at, f"ledger    open  {row}: {attempt.state} at the end"


def _suffered(faults: tuple[Fault, ...]) -> Iterator[tuple[datetime, str]]:
    for fault in faults:
        where = fault.host or "the store"
        yield fault.begin, f"fault     {where} {fault.kind}"
        if fault.end is not None:
            yield fault.end, f"fault     {where} {fault.kind} is over"
