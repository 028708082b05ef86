"""The outbox in rows: alerts that wait, each for a channel, and those that were settled in the last 90 days.

A row that cannot be read is left out, and does not delay others. It is deleted when it is old.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime

from foliot.errors import DamagedRecordError
from foliot.model.alert import Alert
from foliot.model.json_text import clean_text
from foliot.model.outbox import KEPT_DAYS, AlertState, ChannelAlert, is_forgotten
from foliot.model.query import AlertPage, AlertQuery
from foliot.stores.sql.codes import ALERT_CODES, ALERT_STATES, DAY, UNREADABLE, an_instant, instant, whole
from foliot.stores.sql.dialect import Dialect
from foliot.stores.sql.job_queries import read_place
from foliot.stores.sql.rows import Row
from foliot.stores.sql.session import Session

# ruff: noqa: S608 - made of constants only

_EVER, _NEVER = -(2**63), 2**63 - 1
_COLUMNS = "w.id, w.channel, w.at, w.text, w.state, w.settled_at, w.answer"
WAITING = f"""
    SELECT {_COLUMNS} FROM alerts AS w INDEXED BY alerts_waiting
    WHERE w.state = 0 AND w.channel = :channel ORDER BY w.at, w.id LIMIT :most
"""
OLDEST = """
    SELECT w.channel, min(w.at) FROM alerts AS w INDEXED BY alerts_waiting
    WHERE w.state = 0 GROUP BY w.channel
"""
WHICH_WAIT = """
    SELECT w.id, w.kind FROM alerts AS w
    WHERE w.id IN :texts AND w.channel = :channel AND w.state = 0 FOR UPDATE OF w
"""
SETTLE = """
    UPDATE alerts SET state = :state, settled_at = :at, answer = :answer
    WHERE id IN :texts AND channel = :channel AND state = 0
"""
OLD = """
    SELECT w.id, w.channel FROM alerts AS w INDEXED BY alerts_by_time WHERE w.at < :since
    ORDER BY w.at LIMIT :most FOR UPDATE OF w SKIP LOCKED
"""
_FILTERS = {"channel": "w.channel = :channel", "job": "w.job = :job", "kind": "w.kind = :kind"}


def _read(rows: Iterable[Row]) -> Iterator[ChannelAlert]:
    for _, channel, _, text, state, settled_at, answer in rows:
        with suppress(DamagedRecordError, *UNREADABLE):
            yield ChannelAlert(
                channel, Alert.from_json(text), ALERT_STATES[state], instant(settled_at), answer
            )


def waiting(session: Session, channel: str, limit: int) -> tuple[ChannelAlert, ...]:
    """The alerts that wait for a channel, the oldest first."""
    return tuple(_read(session.dialect.run(WAITING, channel=channel, most=limit).fetchall()))


def waiting_channels(session: Session) -> Mapping[str, datetime]:
    """The channels that alerts wait for, each with the time of the oldest."""
    return {channel: an_instant(at) for channel, at in session.dialect.run(OLDEST).fetchall()}


def settle(  # noqa: PLR0913, PLR0917 - see the protocol
    session: Session,
    channel: str,
    ids: Collection[str],
    state: AlertState,
    at: datetime,
    answer: str | None = None,
) -> int:
    """Record the end of waiting alerts. Returns how many waited."""
    dialect = session.dialect
    found = dialect.among(WHICH_WAIT, list(ids), channel=channel).fetchall() if ids else []
    if gone := [(one, channel) for one, kind in found if is_forgotten(kind, state)]:
        dialect.delete("alerts", "id, channel", gone)
    if kept := [one for one, kind in found if not is_forgotten(kind, state)]:
        said = None if answer is None else clean_text(answer)
        code = ALERT_CODES[state]
        dialect.among(SETTLE, kept, channel=channel, state=code, at=whole(at), answer=said)
    return len(found)


def alerts(session: Session, query: AlertQuery) -> AlertPage:
    """Alerts, the newest first."""
    place, _, channel = query.after.partition(" ")
    number, _, name = place.partition(".")
    at = read_place(number, 1)[0] if query.after else _NEVER
    values: dict[str, object] = {
        "since": _EVER if query.since is None else whole(query.since),
        "until": _NEVER if query.until is None else whole(query.until),
        "at": at, "id": name, "last": channel, "most": query.limit + 1,
    }  # fmt: skip
    conditions = ["w.at >= :since AND w.at < :until AND (w.at, w.id, w.channel) < (:at, :id, :last)"]
    for field, condition in _FILTERS.items():
        if (wanted := getattr(query, field)) is not None:
            conditions.append(condition)
            values[field] = str(wanted)
    if query.state is not None:
        conditions.append(f"w.state = {ALERT_CODES[query.state]}")
    order = "ORDER BY w.at DESC, w.id DESC, w.channel DESC LIMIT :most"
    sql = f"SELECT {_COLUMNS} FROM alerts AS w WHERE {' AND '.join(conditions)} {order}"
    rows = session.dialect.run(sql, **values).fetchall()
    page = rows[: query.limit]
    following = f"{page[-1][2]}.{page[-1][0]} {page[-1][1]}" if page and len(rows) > query.limit else None
    return AlertPage(_read(page), following)


def forget_old(dialect: Dialect, now: datetime, limit: int) -> int:
    """Forget alerts that are older than what is kept, at most `limit`. Returns how many."""
    rows = dialect.run(OLD, since=whole(now) - KEPT_DAYS * DAY, most=limit).fetchall()
    dialect.delete("alerts", "id, channel", rows)
    return len(rows)
