"""The last page of each URL that a browser was given: shown with its age while the store does not answer."""

from __future__ import annotations

from collections import OrderedDict
from datetime import timedelta
from hashlib import sha256

from foliot.protocols import Clock
from foliot.shown import span

# The frame of every page has this place; texts are escaped, so no text of a user can be it.
PLACE = b'<div id="age" hidden></div>'
_TOLD = '<div id="age" class="band away" role="status">The store does not answer. This page is {} old.</div>'
_MOST = 100  # pages
_LARGEST = 400_000  # bytes of a page that is kept
_OLDEST = 3600.0  # seconds: by then the right to see it may have ended


class LastPages:
    """Pages by whose they are and their URL. What names the reader is kept as a hash only."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._pages: OrderedDict[bytes, tuple[float, bytes]] = OrderedDict()

    def keep(self, whose: tuple[str, str], page: bytes, at: float) -> None:
        """Remember a page."""
        if not whose[0] or len(page) > _LARGEST:
            return
        self._pages[_key(whose)] = at, page
        self._pages.move_to_end(_key(whose))
        while len(self._pages) > _MOST:
            self._pages.popitem(last=False)

    def find(self, whose: tuple[str, str]) -> bytes | None:
        """The page, with its age; None if there is none that is young enough."""
        at, page = self._pages.get(_key(whose), (0.0, b""))
        age = self._clock.monotonic() - at
        if not page or age > _OLDEST:
            return None
        told = _TOLD.format(span(timedelta(seconds=age)))
        return page.replace(PLACE, told.encode(), 1)


def _key(whose: tuple[str, str]) -> bytes:
    return sha256("\n".join(whose).encode("utf-8", "replace")).digest()
