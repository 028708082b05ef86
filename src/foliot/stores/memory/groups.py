"""Which attempts were started in a group, and run: the memory store's count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from foliot.model.attempt import Attempt
from foliot.stores.matching import Key


class GroupRuns:
    """The attempts of each group, with their nodes. One that has ended is forgotten when they are counted."""

    def __init__(self, is_held: Callable[[str, Key], bool]) -> None:
        self._is_held = is_held
        self._runs: dict[str, dict[Key, str]] = {}

    def add(self, group: str, started: Iterable[Attempt]) -> None:
        """Attempts have started in a group."""
        runs = self._runs.setdefault(group, {})
        runs.update({attempt.key: str(attempt.node) for attempt in started})

    def count(self, group: str) -> int:
        """How many attempts of a group run."""
        runs = self._runs.pop(group, {})
        if left := {key: node for key, node in runs.items() if self._is_held(node, key)}:
            self._runs[group] = left
        return len(left)

    def full(self, limits: Mapping[str, int]) -> tuple[str, ...]:
        """The groups that have no free place."""
        return tuple(group for group, limit in limits.items() if self.count(group) >= limit)
