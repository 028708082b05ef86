"""Names and ids as short as they can be on a terminal, without a doubt about what is meant.

A job is shown without its source if the store has one source. Ids that programs made are shown by their first
digits; commands take them so, too. Where there is no terminal, all is shown in full: programs read it.
"""

from __future__ import annotations

from collections.abc import Iterable

from foliot.app.delivery import SOURCE as CHANNELS
from foliot.cli.table import room_of_terminal
from foliot.model.attempt import Attempt, format_instant
from foliot.protocols import SourceStore

_DIGITS = 12
_HEX = frozenset("0123456789abcdef")
_LONG = 20


class Names:
    """How jobs are called in one answer."""

    def __init__(self, sources: Iterable[str] = (), *, is_short: bool = False) -> None:
        known = {source for source in sources if source != CHANNELS}
        self.is_short = is_short
        self._prefix = f"{known.pop()}/" if is_short and len(known) == 1 else None

    def job(self, key: str) -> str:
        """The name of a job; with its source, if there are several."""
        return key if self._prefix is None else key.removeprefix(self._prefix)

    def occasion(self, attempt: Attempt) -> str:
        """Which run of its job it is: the time that it is for, or `!` and the request."""
        if attempt.request is None:
            return format_instant(attempt.scheduled_for)
        return f"!{self.id(attempt.request)}"

    def id(self, text: str) -> str:
        """An id; of one that a program made, the first digits."""
        is_made = len(text) > _LONG and _HEX.issuperset(text)
        return text[:_DIGITS] if self.is_short and is_made else text


async def names_of(store: SourceStore) -> Names:
    """How jobs of a store are called on this terminal."""
    if room_of_terminal() is None:
        return Names()
    return Names([view.source for view in await store.sources()], is_short=True)
