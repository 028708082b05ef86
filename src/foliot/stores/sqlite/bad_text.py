"""Stored texts that are not UTF-8: they can be shown, and no job is read of one.

SQLite does not look at the bytes of a text, and the driver refuses a row that has wrong ones. So one bad row
is in the way of all jobs that are read together with it. A connection that has met one reads all texts by
`read_text` from then on. That costs a little, so the others do not.
"""

from __future__ import annotations

import sqlite3

from foliot.errors import DamagedRecordError
from foliot.model.job import Job
from foliot.stores.sql.definition import Reader


class BadText(str):
    r"""A text that is not UTF-8, with its wrong bytes as `\xff`; its type tells it from all others."""

    __slots__ = ()


def read_text(stored: bytes) -> str:
    """A text as it is, or a BadText."""
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return BadText(stored.decode(errors="backslashreplace"))


def is_bad_text(error: BaseException) -> bool:
    """Whether the driver could not read a text: it is the only such error that SQLite does not know of."""
    return isinstance(error, sqlite3.OperationalError) and not hasattr(error, "sqlite_errorcode")


def has_bad_text(connection: sqlite3.Connection) -> bool:
    """Whether a connection reads all texts, good or bad."""
    return connection.text_factory is read_text


class CarefulReader(Reader):
    """Reads jobs where some texts are bad."""

    def job(self, key: str, frame: str, data: str, policy: str) -> Job:
        """The job of its texts; DamagedRecordError if it cannot be read."""
        texts = {"key": key, "frame": frame, "action.data": data, "policy": policy}
        for field, text in texts.items():
            if isinstance(text, BadText):
                raise DamagedRecordError(field, str(text), "is not UTF-8")
        return super().job(key, frame, data, policy)
