"""Definitions that were read before: a herd is claimed again and again, and its definitions seldom change.

A state knows how often the definition of its job was written (`defined`), and a call that writes one holds
the state's lock. So what is remembered under that count is what is there.
"""

from __future__ import annotations

from foliot.stores.sql.rows import Row

_MOST_KEPT = 20_000


class DefinitionCache:
    """The definitions that a store read last, for all its connections."""

    def __init__(self) -> None:
        self._rows: dict[int, tuple[int, Row]] = {}

    def forget(self) -> None:
        """Begin empty."""
        self._rows.clear()

    def keep_definition(self, defined: int, row: Row) -> None:
        """Remember a definition: number, key, frame, data and policy of a job."""
        if len(self._rows) >= _MOST_KEPT:
            self._rows.clear()
        self._rows[row[0]] = defined, row

    def definition(self, number: int, defined: int) -> Row | None:
        """The definition of a job, if it is remembered as it is now."""
        found = self._rows.get(number)
        return found[1] if found is not None and found[0] == defined else None
