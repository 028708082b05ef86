"""Which occurrences were owed: recomputed from the definitions log by the oracle.

An occurrence is *owed* if it surely counted when it fell due: the job was declared, enabled and not
paused, by a definition that surely had it. It is *optional* if that hangs on something the log leaves open:
a change under way at that moment, or one whose answer was lost. Then a run, a skip and nothing are all
legal; two runs are not. `first_seen` and `on_change` owe occurrences of the past, due when declared.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from foliot.model.policy import FirstSeen, OnChange
from foliot_proof.history.facts import Definition
from foliot_proof.history.hosts import Hosts
from foliot_proof.history.oracle import latest, occurrences, tick
from foliot_proof.history.worlds import Stretch, World, Worlds, is_new

_UNSURE = "its definition may have changed at that moment"
_MAYBE_NEW = "it hangs on whether the job was new"
_BOTH_RULES = "the rule before and the rule after have it"


class Marks(NamedTuple):
    """What the ledger says of when the job was claimed, and up to where it had served, in order."""

    claims: Sequence[datetime]
    served: Sequence[datetime]


class Slot(NamedTuple):
    """One occurrence that was owed, or may have been.

    `due`: from when on it could be taken, in true time; `following`: when the next one was due.
    `lives`: how often it may have run, since a job that is removed, forgotten and declared anew starts
    over. `is_backdated`: it was over when the definition that owes it came.
    """

    at: datetime
    due: datetime
    definition: Definition
    is_owed: bool = True
    excuse: str = ""
    following: datetime | None = None
    lives: int = 1
    is_backdated: bool = False


def slots(story: Sequence[Stretch], hosts: Hosts, final: datetime, marks: Marks) -> list[Slot]:
    """All occurrences up to the end, in order."""
    book: dict[datetime, Slot] = {}
    for stretch in story:
        for slot in _ordinary(stretch, hosts):
            book.setdefault(slot.at, slot)
        for slot in _backdated(stretch, hosts, marks):
            known = book.get(slot.at)
            book[slot.at] = _twice(known, slot) if known else slot
    found = sorted(slot for slot in book.values() if slot.due <= final)
    _blur(found, story, hosts)
    ends = [*(slot.due for slot in found[1:]), None]
    return [slot._replace(following=due) for slot, due in zip(found, ends, strict=bool(found))]


def _ordinary(stretch: Stretch, hosts: Hosts) -> Iterator[Slot]:
    """Occurrences that fell due in a stretch; those before it that a splay puts off until then may count."""
    live = stretch.live
    if not live:
        return
    certain = all(world.is_live for world in stretch.worlds)
    found = {definition: _due_in(definition, stretch) for definition in live}
    common = set.intersection(*(set(instants) for instants in found.values()))
    for definition, instants in found.items():
        for at in instants:
            due = at + definition.offset
            is_owed = certain and at in common and at >= stretch.begin and not hosts.is_murky(at, due)
            yield Slot(at, due, definition, is_owed, "" if is_owed else _UNSURE)


def _due_in(definition: Definition, stretch: Stretch) -> list[datetime]:
    last = stretch.end
    if definition.repeat_until is not None:
        last = min(last, definition.repeat_until)
    return occurrences(definition.rule, stretch.begin - definition.offset, last)


# -- occurrences of the past that a declaration owes -----------------------------------------------


def _backdated(stretch: Stretch, hosts: Hosts, marks: Marks) -> Iterator[Slot]:
    if stretch.is_under_way:
        return
    ways = [(old, new) for old in stretch.before for new in stretch.worlds if new.is_live]
    is_sure = len(ways) == len(stretch.worlds) == 1
    for old, new in ways:
        if new.definition is not None:
            if is_new(old, new) or _is_wanted_at_once(old, new.definition):
                yield from _first_seen(old, new.definition, stretch, hosts, is_sure=is_sure)
            if old.is_live and _is_recounted(old, new.definition):
                yield from _from_last(new.definition, stretch, hosts, marks, is_sure=is_sure)


def _is_wanted_at_once(old: World, definition: Definition) -> bool:
    """A one-time job that gets a new time, or comes back, may run for a time that has passed."""
    if not definition.rule.text.startswith("@once") or old.definition is None:
        return False
    return old.is_removed or old.definition.rule != definition.rule


def _first_seen(
    old: World, definition: Definition, stretch: Stretch, hosts: Hosts, *, is_sure: bool
) -> Iterator[Slot]:
    """A job that is new may owe its latest occurrence."""
    skew = hosts.bounds.skew
    is_sure = is_sure and not hosts.is_murky(stretch.begin)
    found = {_latest_of(definition, at) for at in (stretch.asked_at - skew, stretch.begin + skew)}
    for at in found:
        if at is not None and at <= stretch.begin:
            is_owed = is_sure and len(found) == 1 and old.definition is None
            lives = 1 if old.definition is None else 2
            excuse = "" if is_owed else _MAYBE_NEW
            due = max(stretch.begin, at + definition.offset)
            yield Slot(at, due, definition, is_owed, excuse, lives=lives, is_backdated=True)


def _latest_of(definition: Definition, now: datetime) -> datetime | None:
    """The occurrence that a job declared now would run at once for."""
    mode = definition.policy.first_seen
    if mode is FirstSeen.WAIT:
        return None
    until = now if definition.repeat_until is None else min(now, definition.repeat_until)
    at = latest(definition.rule, until)
    if mode is FirstSeen.IF_MATCHING and at is not None and now - at >= tick(definition.rule):
        return None
    return at


def _is_recounted(old: World, definition: Definition) -> bool:
    """Whether a change of the rule makes occurrences count from the last attempt on."""
    before = old.definition
    if before is None or definition.policy.on_change is not OnChange.LAST:
        return False
    return (before.rule, before.repeat_until) != (definition.rule, definition.repeat_until)


def _from_last(
    definition: Definition, stretch: Stretch, hosts: Hosts, marks: Marks, *, is_sure: bool
) -> Iterator[Slot]:
    """Occurrences of the new rule since the job was last claimed, or had served, whichever is later."""
    skew = hosts.bounds.skew
    before = bisect_left(marks.claims, stretch.asked_at - skew)
    if before == 0:
        yield from _present(definition, stretch, skew)
        return
    is_sure = is_sure and bisect_right(marks.claims, stretch.begin + skew) == before
    claimed = marks.claims[before - 1]
    served = marks.served[: bisect_right(marks.served, stretch.begin)]
    last = max((claimed, stretch.before_since, *served[-1:]))
    is_sure = is_sure and not hosts.is_murky(claimed, stretch.begin)
    until = stretch.begin
    if definition.repeat_until is not None:
        until = min(until, definition.repeat_until)
    for at in occurrences(definition.rule, claimed - skew, until):
        is_owed = is_sure and at > last + skew
        excuse = "" if is_owed else _UNSURE
        due = max(stretch.begin, at + definition.offset)
        yield Slot(at, due, definition, is_owed, excuse, is_backdated=True)


def _present(definition: Definition, stretch: Stretch, skew: timedelta) -> Iterator[Slot]:
    """A job that never ran may run for the present minute, as if it were new."""
    if definition.policy.first_seen is FirstSeen.IF_MATCHING:
        for at in {_latest_of(definition, at) for at in (stretch.asked_at - skew, stretch.begin + skew)}:
            if at is not None and at <= stretch.begin:
                yield Slot(at, stretch.begin, definition, is_owed=False, excuse=_UNSURE, is_backdated=True)


def _twice(known: Slot, slot: Slot) -> Slot:
    """An occurrence of both the time before and the time after a declaration."""
    lives = known.lives + slot.lives - 1
    return slot._replace(is_owed=False, excuse=_BOTH_RULES, lives=lives)


# -- the edges of stretches ------------------------------------------------------------------------


def _blur(found: list[Slot], story: Sequence[Stretch], hosts: Hosts) -> None:
    """Whether a change came before or after an occurrence of the same moment, no log can tell.

    One that comes between an occurrence and its start, which its splay puts off, may take it away.
    """
    skew = hosts.bounds.skew
    instants = [slot.at for slot in found]
    longest = max((slot.definition.offset for slot in found), default=timedelta(0))
    for before, after in pairwise(story):
        if _counting(before.worlds) == _counting(after.worlds):
            continue
        first = bisect_left(instants, after.begin - skew - longest)
        for index in range(first, bisect_right(instants, after.begin + skew)):
            slot = found[index]
            if slot.is_owed and not slot.is_backdated and slot.due >= after.begin - skew:
                found[index] = slot._replace(is_owed=False, excuse=_UNSURE)


def _counting(worlds: Worlds) -> set[tuple[object, object] | None]:
    """By which rules occurrences may count."""
    return {
        (world.definition.rule, world.definition.repeat_until)
        if world.is_live and world.definition is not None
        else None
        for world in worlds
    }
