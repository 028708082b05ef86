"""The proof that a job runs when its entry ran before: the model of the original against our own occurrences.

Compared are at least N occurrences and 400 days, so that both changes of the clocks are among them. A rule of
many occurrences is compared instant by instant for the first N and around each change, and by its count on
every other day. What differs is grouped by its cause; the field that removes it is found by trying.

    gap-coalesced        the original ran several times at once after a gap, and this runs once
    dst-gap-late         the original ran after a gap, and this does not
    dst-range-extra      this runs after a gap, and the original did not
    dst-fold-once        the original ran once where a time comes twice, and this runs twice, or the other way
    systemd-fold-pause   the original pauses for the hour that comes twice, and this does not
    day-rule             other days
    midnight-lost        APScheduler leaves a midnight out after a change of the clocks, and this does not
    random-window        the original draws a delay; this has its own within the same window
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import NamedTuple

from foliot.importers.draft import Draft, Original, When
from foliot.importers.model.wall import DAY, stretches
from foliot.schedules import Cron
from foliot.schedules.around import DST
from foliot.schedules.cron_syntax import Dialect

LEAST = 1000
_DAYS = 400
_MOST_DAYS = 36_525
_MOST_LISTED = 20_000
_MOST_SHOWN = 3
_NEAR = DAY
_SECOND = timedelta(seconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DIALECTS: tuple[Dialect, ...] = ("vixie", "standard")


class Difference(NamedTuple):
    """Runs that only one side has, and why; `times` are the first of them, on the clocks of the zone."""

    code: str
    total: int
    times: tuple[str, ...]
    remedy: str


class Proof(NamedTuple):
    """What was compared and what was different. `changes`: the clock changes among it."""

    compared: int
    equal: int
    until: datetime
    changes: int
    differences: tuple[Difference, ...] = ()
    window: int = 0

    @property
    def is_equal(self) -> bool:
        """Whether nothing is different."""
        return not self.differences


def prove(draft: Draft, start: datetime, least: int = LEAST) -> Proof | None:
    """Compare a draft with its original from an instant on; None if there is nothing to compare."""
    if draft.original is None or draft.when is None:
        return None
    rule, original = rule_of(draft.when), draft.original
    first = int(start.timestamp()) // DAY * DAY
    last = _end(rule, first, least)
    changes = [stretch for stretch in stretches(original.zone, first, last) if stretch.jump]
    theirs, ours, counted = _both(rule, original, first, last, least, [one.start for one in changes])
    only_theirs, only_ours = theirs - ours, ours - theirs
    differences = tuple(_explain(draft, only_theirs, only_ours, theirs))
    missing = sum(only_theirs.values())
    total = sum(theirs.values()) + counted
    return Proof(total, total - missing, _EPOCH + last * _SECOND, len(changes), differences, original.window)


def rule_of(when: When) -> Cron:
    """The rule that a draft's schedule is."""
    return Cron(when.cron, timezone=when.timezone, dialect=when.dialect, dst=when.dst)


def _end(rule: Cron, first: int, least: int) -> int:
    """The end of the comparison: 400 days, or more until it has N occurrences; at most a century."""
    begin, days = _EPOCH + first * _SECOND, _DAYS
    while days < _MOST_DAYS and rule.count(begin, begin + timedelta(days=days)) < least:
        days = min(days * 2, _MOST_DAYS)
    return first + days * DAY


def _both(  # noqa: PLR0913, PLR0917 - two sides and a range
    rule: Cron, original: Original, first: int, last: int, least: int, changes: Sequence[int]
) -> tuple[Counter[int], Counter[int], int]:
    """The instants of both sides, where instants are compared; and how many runs were compared by count."""
    begin, end = _EPOCH + first * _SECOND, _EPOCH + (last - 1) * _SECOND
    if original.counted is None or rule.count(begin, end) <= _MOST_LISTED:
        return Counter(original.fires(first, last)), Counter(_ours(rule, first, last)), 0
    theirs: Counter[int] = Counter()
    ours: Counter[int] = Counter()
    listed, counted, at = 0, 0, first
    while at < last:
        day_end = min(at + DAY, last)
        mine = rule.count(_EPOCH + at * _SECOND, _EPOCH + (day_end - 1) * _SECOND)
        is_near = any(at - _NEAR <= change < day_end + _NEAR for change in changes)
        if is_near or listed < least or mine != original.counted(at, day_end):
            listed += mine
            theirs.update(original.fires(at, day_end))
            ours.update(_ours(rule, at, day_end))
        else:
            counted += mine
        at = day_end
    return theirs, ours, counted


def _ours(rule: Cron, first: int, last: int) -> Iterator[int]:
    at = rule.next_after(_EPOCH + (first - 1) * _SECOND)
    while at is not None and (instant := int(at.timestamp())) < last:
        yield instant
        at = rule.next_after(at)


def _explain(
    draft: Draft, only_theirs: Counter[int], only_ours: Counter[int], theirs: Counter[int]
) -> Iterator[Difference]:
    groups: dict[str, Counter[int]] = {}
    zone = draft.original.zone if draft.original else "UTC"
    for at in sorted(only_theirs | only_ours):
        code = _cause(draft, zone, at, is_theirs=at in only_theirs, is_double=theirs[at] > 1)
        groups.setdefault(code, Counter())[at] += only_theirs[at] + only_ours[at]
    for code, group in groups.items():
        times = tuple(_on_the_wall(rule_of(draft.when), at) for at in list(group)[:_MOST_SHOWN] if draft.when)
        yield Difference(code, sum(group.values()), times, _remedy(draft, code, group))


def _cause(draft: Draft, zone: str, at: int, *, is_theirs: bool, is_double: bool) -> str:
    """Why one side runs at an instant and the other does not."""
    near = list(stretches(zone, at - DAY, at + DAY))
    change = next((one for one in near if one.jump and one.start <= at < one.start + abs(one.jump)), None)
    if change is None:
        loses = draft.original.loses if draft.original else ""
        return loses if loses and not is_theirs else "day-rule"
    if change.jump > 0:
        if is_double:
            return "gap-coalesced"
        return "dst-gap-late" if is_theirs else "dst-range-extra"
    follows = draft.when is not None and "*" in (draft.when.cron[:1], draft.when.cron.partition(" ")[2][:1])
    return "systemd-fold-pause" if follows and not is_theirs else "dst-fold-once"


def _remedy(draft: Draft, code: str, group: Counter[int]) -> str:
    """The field that removes a difference: each is tried at the instants in question."""
    when, original = draft.when, draft.original
    if code == "gap-coalesced" or when is None or original is None:
        return "none: two runs of a job cannot share an instant; it runs once after the gap"
    for dialect, dst in product((when.dialect, *_DIALECTS), (when.dst, *DST)):
        try:
            rule = rule_of(when._replace(dialect=dialect, dst=dst))
        except ValueError:
            continue
        spans = [(at - at % DAY, at - at % DAY + DAY) for at in list(group)[:_MOST_SHOWN]]
        if all(sorted(original.fires(*span)) == list(_ours(rule, *span)) for span in spans):
            said = {"dialect": dialect, "dst": dst}
            changed = [f"{name}: {value}" for name, value in said.items() if value != getattr(when, name)]
            return ", ".join(changed) or "none"
    return "none that this version has"


def _on_the_wall(rule: Cron, at: int) -> str:
    zone = rule.upcoming(_EPOCH, 1)[0].tzinfo
    return (_EPOCH + at * _SECOND).astimezone(zone).strftime("%Y-%m-%d %H:%M %z")
