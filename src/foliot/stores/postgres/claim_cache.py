"""What was read or written before: whoever claims a job soon ends it, and seldom has anybody else written.

Definitions: a state knows how often the definition of its job was written (`defined`), and whoever writes one
holds the state's lock. So what is remembered under that count is what is there.

Records: the server marks each version of a row with the transaction that wrote it (`xmin`). If the state and
all open attempts of a job bear the mark of the claim, nobody has written since, and the record is as the
claim left it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from foliot.stores.sql.rows import Row

if TYPE_CHECKING:
    from foliot.stores.sql.entry import Entry

_MOST_KEPT = 20_000


class ClaimCache:
    """What a store read and claimed last, for all its connections."""

    def __init__(self) -> None:
        self._rows: dict[int, tuple[int, Row]] = {}
        self._claimed: dict[str, tuple[str, Entry]] = {}

    def forget(self) -> None:
        """Begin empty."""
        self._rows.clear()
        self._claimed.clear()

    def keep_definition(self, defined: int, row: Row) -> None:
        """Remember a definition: number, key, frame, data and policy of a job."""
        if len(self._rows) >= _MOST_KEPT:
            self._rows.clear()
        self._rows[row[0]] = defined, row

    def definition(self, number: int, defined: int) -> Row | None:
        """The definition of a job, if it is remembered as it is now."""
        found = self._rows.get(number)
        return found[1] if found is not None and found[0] == defined else None

    def keep_claimed(self, xmin: str, entries: Mapping[str, Entry]) -> None:
        """Remember the records of jobs as a claim leaves them."""
        if len(self._claimed) >= _MOST_KEPT:
            self._claimed.clear()
        for key, entry in entries.items():
            self._claimed[key] = xmin, entry

    def take_claimed(self, keys: Iterable[str]) -> dict[str, tuple[str, Entry]]:
        """The marks and records of jobs that are remembered; whoever takes them changes them."""
        found = {}
        for key in keys:
            claimed = self._claimed.pop(key, None)
            if claimed is not None:
                found[key] = claimed
        return found
