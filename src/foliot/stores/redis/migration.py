"""Steps of the schema: walks over all jobs, part by part, while nodes go on working.

The number of a step is a thousand times the major version of the schema, plus a count. A step within a major
version only adds data that older programs can ignore, so they go on working beside newer ones.

    meta.step    how many steps were taken to their end
    meta.walk    how far the step under way has come: its number, a set of keys, the last key

A part is written job by job, each only if it still has the mark that was read. Then the walk moves on, if no
other process has moved it. So a process may die at any time: another continues, and several at once do no
harm. Nodes walk when they have no history to delete; `foliot store migrate` walks to the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from foliot.stores.optimistic.change import Change
from foliot.stores.optimistic.session import Guard
from foliot.stores.redis import codec
from foliot.stores.redis.asking import text_of
from foliot.stores.redis.regression import SCHEMA
from foliot.stores.redis.session import RedisSession

_MAJOR_STEP = 1000
_PART = 250
_SETS = ("keys", "gone")  # together they have every job


class Step(NamedTuple):
    """One step: its name, and the function that migrates some jobs."""

    name: str
    migrate: Callable[[RedisSession, Sequence[str]], None]


def write_texts_anew(session: RedisSession, keys: Sequence[str]) -> None:
    """Rewrite the texts of jobs in the form of this version. Their meaning does not change."""
    left = list(keys)
    while left:
        texts, definitions = session.ask_all([("HMGET", "s", *left), ("HMGET", "d", *left)])
        rows = [
            (key, text, definition)
            for key, text, definition in zip(left, texts, definitions, strict=True)
            if text is not None and definition is not None
        ]
        changes = []
        for entry, (_, text, _) in zip(session.read(rows), rows, strict=True):
            record = entry.record
            if record is None:
                continue  # `store check` reports it
            written = codec.write_text(entry.mark, record, entry.orders, entry.tally)
            if written != text_of(text):
                changes.append(
                    Change(entry=entry, before=record, after=record, tally=entry.tally, orders=entry.orders)
                )
        left = list(session.write(changes, Guard())) if changes else []


STEPS: tuple[Step, ...] = (Step("texts as herds read them", write_texts_anew),)


def number_of(step: int) -> int:
    """The number of the schema after that step."""
    return SCHEMA * _MAJOR_STEP + step


def found_step(session: RedisSession) -> int:
    """How many steps of this major version a store has taken."""
    found = session.ask("HGET", "meta", "step")
    return int(found) if found is not None and found.isdigit() else 0


def go_on(session: RedisSession) -> bool:
    """Take one part of the next step. Returns whether all steps are done."""
    if session.shared.is_migrated:
        return True
    step = found_step(session)
    if step >= len(STEPS):
        session.shared.is_migrated = True
        return True
    _take_part(session, step)
    return False


def _take_part(session: RedisSession, step: int) -> None:
    walk = session.field("meta", "walk")
    name, after = _where(walk, step)
    keys = session.ask("ZRANGEBYLEX", name, f"({after}" if after else "-", "+", "LIMIT", 0, _PART)
    if keys:
        STEPS[step].migrate(session, [text_of(key) for key in keys])
    check = ("meta", "walk") if walk is None else ("meta", "walk", walk)
    if len(keys) == _PART:
        session.put((check,), [("HSET", "meta", "walk", f"{step} {name} {text_of(keys[-1])}")])
    elif name != _SETS[-1]:
        session.put((check,), [("HSET", "meta", "walk", f"{step} {_SETS[-1]} ")])
    else:
        ends = [("HSET", "meta", "step", str(step + 1)), ("HDEL", "meta", "walk", "")]
        session.put((check, *_unchanged(step)), ends)


def _unchanged(step: int) -> list[tuple[str, ...]]:
    """A condition: no other process has taken the step meanwhile."""
    return [("meta", "step", str(step)) if step else ("meta", "step")]


def _where(walk: str | None, step: int) -> tuple[str, str]:
    """The set that is read, and the last key that is done."""
    number, _, rest = (walk or "").partition(" ")
    if number != str(step):
        return _SETS[0], ""
    name, _, after = rest.partition(" ")
    return (name, after) if name in _SETS else (_SETS[0], "")
