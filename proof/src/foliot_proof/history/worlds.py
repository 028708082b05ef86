"""What a job's definition can have been, at each moment, by the log of changes.

A change takes effect somewhere between its question and its answer, or, if the answer was lost, perhaps
not at all. So the log tells, for each stretch of time, a set of worlds. Where the set has one member, we
know; where it has more, both ways are legal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import permutations
from typing import NamedTuple

from foliot_proof.history.facts import Change, Definition, Operation, Verdict

_MOST_AT_ONCE = 4
_DEFINING = (Operation.DECLARE, Operation.REMOVE, Operation.PAUSE, Operation.RESUME)


class World(NamedTuple):
    """One way a job can stand."""

    definition: Definition | None = None
    is_removed: bool = False
    is_paused: bool = False

    @property
    def is_declared(self) -> bool:
        return self.definition is not None and not self.is_removed

    @property
    def is_live(self) -> bool:
        """Whether occurrences count."""
        is_on = self.definition is not None and self.definition.enabled
        return is_on and not self.is_removed and not self.is_paused


Worlds = frozenset[World]


class Stretch(NamedTuple):
    """A time in which what we know of a job does not change.

    `asked_at` is when the change that made it so was asked for; `before` is what was before it, and
    `before_since` since when. `is_under_way`: it may or may not have taken effect yet.
    """

    begin: datetime
    end: datetime
    worlds: Worlds
    asked_at: datetime
    before_since: datetime
    before: Worlds = frozenset()
    is_under_way: bool = False

    @property
    def live(self) -> set[Definition]:
        """The definitions by which occurrences may count."""
        return {world.definition for world in self.worlds if world.is_live and world.definition is not None}

    @property
    def is_certain(self) -> bool:
        """Whether occurrences count, and by which definition, is known."""
        return len({world.definition if world.is_live else None for world in self.worlds}) == 1


def stretches(changes: Iterable[Change], begin: datetime, end: datetime) -> list[Stretch]:
    """What a job can have been, from begin to end."""
    current = Stretch(begin, end, frozenset((World(),)), begin, begin)
    found: list[Stretch] = []
    for group in _groups(change for change in changes if change.what in _DEFINING):
        since, before = current.begin, current.worlds
        asked = max(current.begin, group[0].asked_at)
        until = max(asked, *(change.until for change in group))
        after = _outcomes(before, group)
        if after == before:
            continue
        found.append(current._replace(end=asked))
        if until > asked:
            under_way = before | _steps(before, group)
            found.append(Stretch(asked, until, under_way, asked, since, before, is_under_way=True))
        current = Stretch(until, max(until, end), after, asked, since, before)
    return [*found, current]


def _groups(changes: Iterable[Change]) -> Iterator[tuple[Change, ...]]:
    """Changes that were under way at the same time, together: nobody knows their order."""
    group: list[Change] = []
    for change in sorted(changes, key=lambda change: change.asked_at):
        if change.verdict is Verdict.REFUSED:
            continue
        if group and change.asked_at >= max(other.until for other in group):
            yield tuple(group)
            group = []
        group.append(change)
    if group:
        yield tuple(group)


def _outcomes(worlds: Worlds, group: Sequence[Change]) -> Worlds:
    """What may be when all changes of a group are over, whatever their order."""
    orders = permutations(group) if len(group) <= _MOST_AT_ONCE else [tuple(group)]
    found: set[World] = set()
    for order in orders:
        reached = set(worlds)
        for change in order:
            after = {new for world in reached for new in _applied(world, change)}
            reached = reached | after if change.verdict is Verdict.UNKNOWN else after
        found |= reached
    return frozenset(found)


def _steps(worlds: Worlds, group: Sequence[Change]) -> Worlds:
    """What may be while the changes of a group are under way."""
    found = set(worlds)
    for _ in group:
        found |= {new for world in found for change in group for new in _applied(world, change)}
    return frozenset(found)


def _applied(world: World, change: Change) -> Iterator[World]:
    match change.what:
        case Operation.DECLARE:
            yield from _declared(world, change.definition)
        case Operation.REMOVE:
            yield world._replace(is_removed=world.definition is not None)
        case Operation.PAUSE:
            yield world._replace(is_paused=world.is_paused or world.is_declared)
        case _:
            yield world._replace(is_paused=world.is_paused and not world.is_declared)


def _declared(world: World, definition: Definition | None) -> Iterator[World]:
    """A pause survives a change, and a removal too unless the job forgets."""
    yield world._replace(definition=definition, is_removed=False)
    if world.is_removed and world.is_paused and forgets(world.definition, definition):
        yield World(definition)


def forgets(*definitions: Definition | None) -> bool:
    """Whether a job that is removed may come back as a new one."""
    return any(definition is not None and not definition.policy.remembers for definition in definitions)


def is_new(old: World, new: World) -> bool:
    """Whether a declaration may have made a job that knew nothing of itself."""
    if old.definition is None or not new.is_declared:
        return new.is_declared
    may_be_gone = old.is_removed or old.definition.auto_remove
    return may_be_gone and forgets(old.definition, new.definition)
