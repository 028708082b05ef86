"""`celery -A proj beat -S foliot`: Celery's own program, with Foliot's engine inside.

Celery starts the program, reads its options and heeds its signals. Every second it asks for a *tick*: the
engine works on a thread of its own meanwhile, so a tick only looks whether that engine lives.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from celery.beat import Scheduler
from celery.bin.base import CeleryCommandException

from foliot.doors.celery_beat.application import BeatApp, make_beat
from foliot.doors.celery_beat.errors import BeatStoppedError
from foliot.doors.celery_beat.setting import read_settings
from foliot.errors import FoliotError, without_password

_TICK = 1.0  # seconds
_INVALID = 3  # the exit code, as that of `foliot beat`


class FoliotScheduler(Scheduler):  # type: ignore[misc] # Celery has no types
    """What `-S foliot` names. `lazy`: Celery only wants to know its `info`, and nothing is started."""

    def __init__(self, app: Any, *args: Any, **kwargs: Any) -> None:
        with _told_by_celery():
            self._settings = read_settings(app)
        self._beat: BeatApp | None = None
        super().__init__(app, *args, **kwargs)

    def setup_schedule(self) -> None:
        """Translate the entries, and start the engine."""
        logging.getLogger("foliot").setLevel(logging.INFO)  # who writes it where is Celery's to say
        with _told_by_celery():
            beat = make_beat(self.app, self._settings)
            beat.start()
        self._beat = beat

    def tick(self, *_: Any, **__: Any) -> float:
        """How many seconds until the next tick. BeatStoppedError if the engine has ended by itself."""
        if self._beat is None:
            raise BeatStoppedError(self._settings.namespace, "it was closed")
        if (failure := self._beat.failure) is not None:
            raise BeatStoppedError(self._settings.namespace, str(failure)) from failure
        return min(_TICK, float(self.max_interval))

    def should_sync(self) -> bool:
        """There is nothing to save: the store has it all."""
        return False

    def close(self) -> None:
        """Claim no more, let what is being sent end, and let go of the store. Called twice, at times."""
        beat, self._beat = self._beat, None
        try:
            if beat is not None:
                beat.stop()
        except Exception as error:
            if beat is None or error is not beat.failure:  # that one was raised by `tick`
                raise
        finally:
            super().close()

    @property
    def info(self) -> str:
        """Two lines of the banner."""
        store = without_password(self._settings.store)
        return f"    . store -> {store}\n    . namespace -> {self._settings.namespace}"


@contextmanager
def _told_by_celery() -> Iterator[None]:
    """What is wrong becomes an error that Celery's commands print without a traceback."""
    try:
        yield
    except FoliotError as error:
        text = f"{error.message}\n{error.hint}" if error.hint else error.message
        raise CeleryCommandException(text, _INVALID) from error
