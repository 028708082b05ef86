"""Which part of a history a policy does not keep: the same for every store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TypeVar

from foliot.model.policy import Keep

NEVER = 2**62
SLACK = 30  # an attempt may stay one day longer than its policy says
_AT_LEAST = 100  # attempts between two looks at an unlimited history
_Instant = TypeVar("_Instant", int, datetime)


def superfluous(
    history: Iterable[tuple[int, _Instant | None, bool]], newest: int, keep: Keep, since: _Instant | None
) -> set[int]:
    """The orders of ended attempts that are not kept.

    `newest` is the order of the newest attempt. It stays, and so does the newest success. Attempts that ended
    before `since` are too old. Given part of a history, it never selects more than it would from all of it.
    """
    known = list(history)
    best = max((order for order, _, is_success in known if is_success), default=None)
    cut = -NEVER if keep.last is None else newest - keep.last
    is_dull = keep.problems_only
    return {
        order
        for order, ended_at, is_success in known
        if (
            order <= cut
            or (since is not None and ended_at is not None and ended_at < since)
            or (is_dull and is_success)
        )
        and order not in (newest, best)
    }


def first_look(keep: Keep) -> int:
    """How many attempts and skips a job has when its history is to be looked at."""
    return min((keep.last or 0) + next_look(keep), NEVER)


def next_look(keep: Keep, kept: int = 0) -> int:
    """After how many more attempts and skips a history is worth looking at again.

    A look may read the whole history. After it has doubled, the deletion is worth the reading.
    """
    if keep.last is not None:
        return keep.last + early(keep)
    return max(_AT_LEAST, kept // 2) if keep.problems_only else NEVER


def early(keep: Keep) -> int:
    """How many attempts earlier a look is worth it, if a neighbour is looked at anyway."""
    return (keep.last or 0) // 4


def superfluous_skips(ends: Sequence[_Instant], keep: Keep, since: _Instant | None) -> list[int]:
    """The indexes of skips that are not kept. `ends` are the ends of the skips, in order.

    The limits are those of attempts.
    """
    more = 0 if keep.last is None else max(0, len(ends) - keep.last)
    return [place for place, end in enumerate(ends) if place < more or (since is not None and end < since)]
