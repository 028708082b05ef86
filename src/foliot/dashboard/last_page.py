"""The last pages that a reader was given: shown with their age while the store does not answer.

A reader who logs out, or is refused, has no pages any more. Pages for administrators are not kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from datetime import timedelta
from gzip import compress, decompress
from hashlib import sha256
from typing import NamedTuple

from foliot.protocols import Clock
from foliot.shown import span

# The frame of every page has this place; texts are escaped, so no text of a user can be it.
PLACE = b'<div id="age" hidden></div>'
_TOLD = '<div id="age" class="band away" role="status">The store does not answer. This page is {} old.</div>'
_MOST_READERS, _MOST_PAGES = 50, 20
_LARGEST = 400_000  # bytes of a page that is kept
_OLDEST = 900.0  # seconds: by then the right to see it may have ended


class Kept(NamedTuple):
    """A page, when it was made, and the token that it was made for."""

    at: float
    page: bytes
    token_id: str


class LastPages:
    """Pages by their readers and URLs. What a reader has shown is kept as a hash only."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._readers: OrderedDict[bytes, OrderedDict[str, Kept]] = OrderedDict()

    def keep(self, reader: str, url: str, page: bytes, token_id: str) -> None:
        """Remember a page."""
        if not reader or len(page) > _LARGEST:
            return
        pages = self._readers.setdefault(_key(reader), OrderedDict())
        self._readers.move_to_end(_key(reader))
        pages[url] = Kept(self._clock.monotonic(), compress(page, 1), token_id)
        pages.move_to_end(url)
        if len(pages) > _MOST_PAGES:
            pages.popitem(last=False)
        if len(self._readers) > _MOST_READERS:
            self._readers.popitem(last=False)

    def find(self, reader: str, url: str, revoked: Collection[str]) -> bytes | None:
        """The page, with its age; None if there is none that is young enough and may still be seen."""
        kept = self._readers.get(_key(reader), OrderedDict[str, Kept]()).get(url)
        if kept is None or kept.token_id in revoked:
            return None
        age = self._clock.monotonic() - kept.at
        if age > _OLDEST:
            return None
        told = _TOLD.format(span(timedelta(seconds=age)))
        return decompress(kept.page).replace(PLACE, told.encode(), 1)

    def forget(self, reader: str) -> None:
        """Drop the pages of a reader who has logged out, or is refused."""
        self._readers.pop(_key(reader), None)


def _key(reader: str) -> bytes:
    return sha256(reader.encode("utf-8", "replace")).digest()
