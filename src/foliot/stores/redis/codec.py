"""Jobs and attempts as texts of the store, and back.

A job's text is `MARK LANE WAKE BODY`: scripts read the first three words only. Without a wake the words are
`-`. The body is that of every store that compares before it writes: see `optimistic.rows`.
"""

from __future__ import annotations

from foliot.errors import DamagedRecordError
from foliot.model.state import Record
from foliot.stores.optimistic import rows
from foliot.stores.optimistic.entry import Tally
from foliot.stores.optimistic.rows import Body, write_body
from foliot.stores.redis.layout import lane_id, time_text
from foliot.stores.sql.codes import whole


def write_text(mark: str, record: Record, orders: tuple[int, ...], tally: Tally) -> str:
    """The text of a job."""
    job, state, _ = record
    wake = "- -"
    if state.wake_at is not None:
        wake = f"{lane_id(job.queue, job.action.kind)} {time_text(whole(state.wake_at))}"
    return f"{mark} {wake} {write_body(record, orders, tally)}"


def read_body(key: str, text: str) -> Body:
    """The body of a job's text."""
    try:
        _, _, _, body = text.split(" ", 3)
    except ValueError as error:
        raise DamagedRecordError("state", text[:200], f"cannot be read: {error}") from error
    return rows.read_body(key, body)
