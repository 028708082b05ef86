"""Reads sorted sets part by part, and only as far as the caller asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import TypeVar

from foliot.stores.redis.asking import text_of
from foliot.stores.redis.session import RedisSession

T = TypeVar("T")
PART = 500
LAST = b"\xff"  # behind every text


def rising(session: RedisSession, key: str, first: str = "-", last: str | bytes = "+") -> Iterator[str]:
    """Members from a bound to a bound, in the form of Redis: `[a`, `(a`, `-`, `+`."""
    while True:
        found = session.ask("ZRANGEBYLEX", key, first, last, "LIMIT", 0, PART)
        yield from map(text_of, found)
        if len(found) < PART:
            return
        first = f"({text_of(found[-1])}"


def falling(session: RedisSession, key: str, first: str | bytes = "+", last: str = "-") -> Iterator[str]:
    """The same, backwards."""
    while True:
        found = session.ask("ZREVRANGEBYLEX", key, first, last, "LIMIT", 0, PART)
        yield from map(text_of, found)
        if len(found) < PART:
            return
        first = f"({text_of(found[-1])}"


def merged(walks: Iterable[Iterator[str]]) -> Iterator[str]:
    """Several walks in one, in order. Python sorts texts by code points, as Redis does by bytes."""
    return merge(*walks)


def parts(walk: Iterable[T], size: int = PART) -> Iterator[list[T]]:
    """A walk in parts."""
    rest = iter(walk)
    while part := list(islice(rest, size)):
        yield part


def first_of(walk: Iterable[T], count: int) -> list[T]:
    """The first `count` members."""
    return list(islice(walk, max(0, count)))
