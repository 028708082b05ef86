"""Kinds of action: what a node serves, and what carries each of them out.

A kind is a prefix, or a prefix, a colon and more: `http`, `python:send_mail`. A node names the kinds that it
serves, one by one (`python:send_mail`), or all of a prefix: `http:` stands for `http` and all that begins so.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeVar

T = TypeVar("T")


def all_of(prefix: str) -> str:
    """What stands for all kinds of a prefix."""
    return f"{prefix}:"


def serves(kinds: Collection[str] | None, kind: str) -> bool:
    """Whether a kind is among those that are served; None: all are."""
    return kinds is None or kind in kinds or all_of(kind.partition(":")[0]) in kinds


class ByKind(dict[str, T]):
    """Something for each kind; under `http:`, for all kinds of that prefix that have nothing of their own."""

    def __missing__(self, kind: str) -> T:
        if (found := self.get(all_of(kind.partition(":")[0]))) is None:
            raise KeyError(kind)
        return found

    def find(self, kind: str) -> T | None:
        """What there is for a kind, if there is something."""
        try:
            return self[kind]
        except KeyError:
            return None
