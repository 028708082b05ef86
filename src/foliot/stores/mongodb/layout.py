"""The collections of the store, their indices, and how documents are named.

| collection | a document is |
|---|---|
| `meta` | `schema`: the step of the schema, and `birth`, a random text; `seen`: the last sign of life |
| `jobs` | a job: see below |
| `frames`, `lanes` | what the definitions of many jobs share, by its digest; a queue and a kind of action |
| `writes` | a write that is not complete yet: its jobs may have filled outboxes |
| `history`, `skips` | an ended attempt; a range of occurrences that did not run |
| `versions`, `outputs` | a former definition of a job; the output of an attempt |
| `alerts` | an alert for one channel |
| `groups` | the attempts that were started in a group |
| `nodes`, `outages` | a node, living or dead; a time without a node |
| `sources` | a source: its revision, its status, and `tx`, a revision under way |
| `tokens`, `sessions`, `codes`, `audit`, `pipelines` | what the API keeps |
| `hints` | capped: one document for each hint |

A job's document has short names, because there may be a million of them:

    _id  source/name                  m  the mark: each write gives one that no other write gives
    q    the lane: queue and kind     w  the wake, in microseconds; absent: the job never wakes
    d    the definition               b  the body: state, open attempts, counts (`optimistic.rows`)
    c    its open attempts: {i identity, n node or "", x to be cancelled, k claim id, p place in the claim}
    z    its state: g removed, p paused, f failing, x set aside, h hidden from queries
    r    when its history is worth a look
    e    the outbox: ends, skips and alerts of the last write, until they are in their own collections
    x    why it is set aside          next  {r, set}: its fields after a revision under way
"""

from __future__ import annotations

from typing import Any, NamedTuple

from foliot.stores.optimistic.names import DIGITS, time_number, time_text

SCHEMA = 1
HINTS = "hints"
HINTS_SIZE = 65_536  # bytes

GONE, PAUSED, FAILING, ASIDE, HIDDEN = "g", "p", "f", "x", "h"


class Index(NamedTuple):
    """An index: its collection, name and fields; `only`: which documents it has; `is_unique`."""

    collection: str
    name: str
    fields: tuple[tuple[str, int], ...]
    only: dict[str, Any] | None = None
    is_unique: bool = False


def _of(collection: str, *fields: str, only: dict[str, Any] | None = None, unique: bool = False) -> Index:
    name = "_".join(field.replace(".", "-") for field in fields)
    return Index(collection, name, tuple((field, 1) for field in fields), only, unique)


def _there(field: str) -> dict[str, Any]:
    return {field: {"$exists": True}}


# A collection gets its indices when it is first written. Tokens, sessions and codes are few: they have none.
INDICES = (
    _of("jobs", "q", "w", "_id", only=_there("w")),
    _of("jobs", "c.n", only=_there("c")),
    _of("jobs", "z", "_id", only=_there("z")),
    _of("jobs", "r", only=_there("r")),
    _of("jobs", "next.r", only=_there("next")),
    _of("history", "j", "i"),
    _of("skips", "j"),
    _of("outputs", "j"),
    _of("alerts", "c", "s", "at", "id"),
    _of("alerts", "at", "id", "c"),
    _of("audit", "at"),
    _of("pipelines", "name", only={"active": True}, unique=True),
)

_BOTH = "\n"  # between two names in one: neither has it


def lane_of(queue: str, kind: str) -> str:
    """The name of a lane."""
    return f"{queue}{_BOTH}{kind}"


def both(first: str, second: str | int) -> str:
    """Two names in one."""
    return f"{first}{_BOTH}{second}"


def split_name(name: str) -> tuple[str, str]:
    """The two names in one."""
    first, _, second = name.partition(_BOTH)
    return first, second


def place_of(wake: int, key: str) -> str:
    """The position of a job in the order of wakes."""
    return time_text(wake) + key


def split_place(place: str) -> tuple[int, str]:
    """The wake and the key of such a position."""
    return time_number(place), place[DIGITS:]


def source_of(key: str) -> str:
    """The source of a job."""
    return key.partition("/")[0]
