"""The outbox: alerts until they are sent, and for a while after. The commit script writes them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime

from foliot.errors import DamagedRecordError
from foliot.model.alert import Alert
from foliot.model.json_text import clean_text
from foliot.model.outbox import KEPT_DAYS, AlertState, ChannelAlert, is_forgotten
from foliot.model.query import MOST_LOOKED_AT, AlertPage, AlertQuery
from foliot.stores.pages import is_alert_meant, read_place
from foliot.stores.redis import layout
from foliot.stores.redis.asking import text_of
from foliot.stores.redis.encode import Operation
from foliot.stores.redis.layout import time_text
from foliot.stores.redis.session import RedisSession
from foliot.stores.redis.walk import falling, parts
from foliot.stores.sql.codes import ALERT_CODES, ALERT_STATES, DAY, UNREADABLE, an_instant, instant, whole

_MARK = "\n"  # separates an alert's text from its end: how, when, and the channel's answer


def _read(name: str, found: bytes | None) -> ChannelAlert | None:
    if found is None:
        return None
    text, _, settled = text_of(found).partition(_MARK)
    _, channel = layout.split_name(name)
    try:
        told = ChannelAlert(channel, Alert.from_json(text))
        if not settled:
            return told
        code, at, answer = json.loads(settled)
        return told._replace(state=ALERT_STATES[code], settled_at=instant(at), answer=answer)
    except (DamagedRecordError, *UNREADABLE):
        return None


def _alerts(session: RedisSession, names: Sequence[str]) -> Iterator[ChannelAlert]:
    found = session.ask("HMGET", "alerts", *names) if names else ()
    for name, text in zip(names, found, strict=True):
        if (told := _read(name, text)) is not None:
            yield told


def waiting(session: RedisSession, channel: str, limit: int) -> tuple[ChannelAlert, ...]:
    """The alerts that wait for a channel, the oldest first."""
    members = session.ask("ZRANGE", f"aw:{channel}", 0, limit - 1) if limit > 0 else ()
    names = [f"{text_of(member)[layout.DIGITS :]}\n{channel}" for member in members]
    return tuple(_alerts(session, names))


def waiting_channels(session: RedisSession) -> Mapping[str, datetime]:
    """The channels that alerts wait for, each with the time of the oldest."""
    channels = sorted(map(text_of, session.ask("SMEMBERS", "channels")))
    firsts = session.ask_all([("ZRANGE", f"aw:{channel}", 0, 0) for channel in channels])
    found = zip(channels, firsts, strict=True)
    return {name: an_instant(layout.time_number(text_of(first[0]))) for name, first in found if first}


def settle(  # noqa: PLR0913, PLR0917 - see the protocol
    session: RedisSession,
    channel: str,
    ids: Collection[str],
    state: AlertState,
    at: datetime,
    answer: str | None = None,
) -> int:
    """Record the end of waiting alerts. Returns how many waited. Of several callers, one settles an alert."""
    names = [f"{id_}\n{channel}" for id_ in ids]
    found = session.ask("HMGET", "alerts", *names) if names else ()
    said = json.dumps((ALERT_CODES[state], whole(at), None if answer is None else clean_text(answer)))
    writes: list[tuple[list[tuple[str, ...]], list[Operation]]] = []
    for name, text in zip(names, found, strict=True):
        told = _read(name, text)
        if told is None or told.state is not AlertState.WAITING:
            continue
        alert, before = told.alert, text_of(text)
        time = time_text(whole(alert.at))
        operations: list[Operation] = [("ZREM", f"aw:{channel}", f"{time}{alert.id}", "")]
        if is_forgotten(alert.kind, state):
            operations += [("HDEL", "alerts", name, ""), ("ZREM", "ax", f"{time}{name}", "")]
        else:
            operations.append(("HSET", "alerts", name, before + _MARK + said))
        writes.append(([("alerts", name, before)], operations))
    return sum(session.put_each(writes))


def alerts(session: RedisSession, query: AlertQuery) -> AlertPage:
    """Alerts, the newest first."""
    first = "+" if query.until is None else f"({layout.time_text(whole(query.until))}"
    last = "-" if query.since is None else f"[{layout.time_text(whole(query.since))}"
    if query.after:
        at, id_, channel = read_place(query.after, (int, str, str))
        first = f"({layout.time_text(int(at))}{id_}\n{channel}"
    found: list[ChannelAlert] = []
    looked = 0
    for part in parts(falling(session, "ax", first, last)):
        for told in _alerts(session, [member[layout.DIGITS :] for member in part]):
            if not is_alert_meant(told, query):
                continue
            if len(found) >= query.limit:
                return AlertPage(found, _place(found[-1])) if found else AlertPage()
            found.append(told)
        looked += len(part)
        if looked >= MOST_LOOKED_AT:
            id_, channel = layout.split_name(part[-1][layout.DIGITS :])
            return AlertPage(found, json.dumps((layout.time_number(part[-1]), id_, channel)))
    return AlertPage(found)


def _place(told: ChannelAlert) -> str:
    return json.dumps((whole(told.alert.at), told.alert.id, told.channel))


def forget_old(session: RedisSession, now: int, limit: int) -> int:
    """Forget alerts that are older than what is kept, at most `limit`. Returns how many."""
    bound = f"({layout.time_text(now - KEPT_DAYS * DAY)}"
    members = [text_of(one) for one in session.ask("ZRANGEBYLEX", "ax", "-", bound, "LIMIT", 0, limit)]
    commands: list[Sequence[object]] = []
    for member in members:
        name = member[layout.DIGITS :]
        id_, channel = layout.split_name(name)
        waits = f"{member[: layout.DIGITS]}{id_}"
        commands += (("ZREM", f"aw:{channel}", waits), ("HDEL", "alerts", name), ("ZREM", "ax", member))
    session.ask_all(commands)
    return len(members)
