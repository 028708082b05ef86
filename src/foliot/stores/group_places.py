"""How many attempts of each group may still start within one claim.

    limits of the node: {"db": 2}  ─┐
    what runs of "db", over all nodes ├─▶ free("db"): 2, 1 or 0
    what this claim has started      ─┘

A group is counted when the claim meets the first job of it that is due, and is held until the claim has
committed. So two claims never fill the same place. A job of a full group is passed over: it stays due.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

Hold = Callable[[str], int | None]  # how many attempts of a group run; None: another claim holds the group


class GroupPlaces:
    """The free places of each group, for one claim. A group without a limit has none on this node."""

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
        """Count anew: another claim was quicker, and what this one has decided was not written."""
        self._free.clear()

    def take(self, group: str | None, count: int) -> None:
        """So many attempts of a group were started. A place that is refused later is for the next claim."""
        if group is not None:
            self._free[group] -= count
