"""Stored texts that are not UTF-8: they can be shown, but no job is made from them.

SQLite does not check the bytes of a text, but the driver refuses a row with invalid ones. So one bad row
would block all jobs that are read together with it. After the first bad text a connection reads all texts by
`read_text`. That is slower, so other connections do not.
"""

from __future__ import annotations

import sqlite3

from foliot.errors import DamagedRecordError
from foliot.model.damage import damage_of
from foliot.model.job import Job
from foliot.stores.sql.definition import Reader

_REASON = "is not UTF-8"


class BadText(str):
    r"""A text that is not UTF-8, with its invalid bytes as `\xff`. The type marks it as bad."""

    __slots__ = ()


def read_text(stored: bytes) -> str:
    """A text as it is, or a BadText."""
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return BadText(stored.decode(errors="backslashreplace"))


def is_bad_text(error: BaseException) -> bool:
    """Whether the driver could not decode a text: only this error has no error code of SQLite."""
    return isinstance(error, sqlite3.OperationalError) and not hasattr(error, "sqlite_errorcode")


def has_bad_text(connection: sqlite3.Connection) -> bool:
    """Whether a connection reads all texts by `read_text`."""
    return connection.text_factory is read_text


_LANES = "SELECT lane_no, CAST(queue AS BLOB), CAST(kind AS BLOB) FROM lanes"
_SET_LANE_ASIDE = """
    UPDATE states INDEXED BY states_due SET damage = ?
    WHERE lane_no = ? AND wake_at IS NOT NULL AND damage IS NULL
"""


def set_bad_lanes_aside(connection: sqlite3.Connection) -> None:
    """Set aside the jobs of a lane whose name cannot be read, because no node can claim them."""
    for lane, *texts in connection.execute(_LANES).fetchall():
        for field, text in zip(("queue", "kind"), texts, strict=True):
            if isinstance(text, bytes) and isinstance(found := read_text(text), BadText):
                damage = damage_of(DamagedRecordError(field, str(found), _REASON))
                connection.execute(_SET_LANE_ASIDE, (str(damage), lane))


class CarefulReader(Reader):
    """Reads jobs where some texts are bad."""

    def job(self, key: str, frame: str, data: str, policy: str) -> Job:
        """The job of its texts; DamagedRecordError if it cannot be read."""
        texts = {"key": key, "frame": frame, "action.data": data, "policy": policy}
        for field, text in texts.items():
            if isinstance(text, BadText):
                raise DamagedRecordError(field, str(text), _REASON)
        return super().job(key, frame, data, policy)
