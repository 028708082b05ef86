"""A cache of definitions: the same jobs are claimed again and again, and definitions seldom change.

A state counts the writes of its job's definition (`defined`), and a call that writes a definition locks the
state. So a cached definition with the same count is the stored one.
"""

from __future__ import annotations

from foliot.stores.sql.rows import Row

_MOST_KEPT = 20_000


class DefinitionCache:
    """The definitions that a store read last, for all its connections."""

    def __init__(self) -> None:
        self._rows: dict[int, tuple[int, Row]] = {}

    def forget(self) -> None:
        """Clear the cache."""
        self._rows.clear()

    def keep_definition(self, defined: int, row: Row) -> None:
        """Remember a definition: number, key, frame, data and policy of a job."""
        if len(self._rows) >= _MOST_KEPT:
            self._rows.clear()
        self._rows[row[0]] = defined, row

    def definition(self, number: int, defined: int) -> Row | None:
        """The definition of a job, if the cache has the present one."""
        found = self._rows.get(number)
        return found[1] if found is not None and found[0] == defined else None
