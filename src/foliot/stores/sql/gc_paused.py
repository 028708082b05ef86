"""No garbage is collected in the middle of a batch.

A batch makes thousands of small values that all live until it is over. To collect meanwhile finds nothing,
again and again: it was a sixth of the time of a claim. Batches are short, tens of milliseconds; between them
all is as the program has set it.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock


class _Pause:
    """Batches of several threads overlap: the last one lets the collector go on, if the first found it on."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._batches = 0
        self._was_on = False

    def begin(self) -> None:
        with self._lock:
            if not self._batches:
                self._was_on = gc.isenabled()
                gc.disable()
            self._batches += 1

    def end(self) -> None:
        with self._lock:
            self._batches -= 1
            if not self._batches and self._was_on:
                gc.enable()


_PAUSE = _Pause()


@contextmanager
def gc_paused() -> Iterator[None]:
    """For one batch."""
    _PAUSE.begin()
    try:
        yield
    finally:
        _PAUSE.end()
