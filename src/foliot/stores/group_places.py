"""How many attempts of each group may still start within one claim.

    limits of the node: {"db": 2}  ─┐
    what runs of "db", over all nodes ├─▶ free("db"): 2, 1 or 0
    what this claim has started      ─┘

A claim counts a group when it meets the group's first due job, and holds the group until it has committed. So
two claims never use the same place. A job of a full group is passed over: it stays due.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

Hold = Callable[[str], int | None]  # how many attempts of a group run; None: another claim holds the group


class GroupPlaces:
    """The free places of each group, for one claim. A group without a limit on this node has no places."""

    def __init__(self, limits: Mapping[str, int], hold: Hold) -> None:
        self._limits = limits
        self._hold = hold
        self._free: dict[str, int] = {}
        self.has_refused = False

    def free(self, group: str) -> int:
        """How many attempts of a group may start now."""
        if group not in self._free:
            limit = self._limits.get(group, 0)
            running = self._hold(group) if limit else None
            self._free[group] = 0 if running is None else max(0, limit - running)
        self.has_refused = self.has_refused or not self._free[group]
        return self._free[group]

    def forget(self) -> None:
        """Count again: another claim was faster, and the decisions of this one were not written."""
        self._free.clear()

    def take(self, group: str | None, count: int) -> None:
        """Attempts of a group were started. If a write is refused later, the next claim gets the place."""
        if group is not None:
            self._free[group] -= count
