"""A store as one page sees it: what the page has asked is not asked again.

A page is put together by functions that know nothing of each other, and several ask for the same. So each
question goes to the store once, and all parts of a page tell of the same instant.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, cast

from foliot.api.service import Service
from foliot.operations import Operations
from foliot.wiring import FullStore

_QUESTIONS = frozenset((
    "jobs", "nodes", "now", "outages", "overview", "revision", "runs", "skips", "sources", "versions",
    "wakes",
))  # fmt: skip


class OneLook:
    """A store whose answers are remembered. It lives as long as the request for a page."""

    def __init__(self, store: FullStore) -> None:
        self._store = store
        self._said: dict[Hashable, Any] = {}

    def __getattr__(self, verb: str) -> Any:
        ask = getattr(self._store, verb)
        if verb not in _QUESTIONS:
            return ask

        async def once(*given: Hashable) -> Any:
            asked = verb, given
            if asked not in self._said:
                self._said[asked] = await ask(*given)
            return self._said[asked]

        return once


def one_look(service: Service) -> Operations:
    """What one page asks."""
    return Operations(cast("FullStore", OneLook(service.store)), service.clock)
