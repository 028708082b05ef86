"""The entries that RedBeat keeps in its Redis.

    redbeat::schedule     a sorted set: the keys of all entries
    redbeat:<name>        a hash: `definition` and `meta`, as JSON; objects in it have a `__type__`

It is read as it lies there: RedBeat need not be installed any more. Nothing is changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

from foliot.doors.celery_beat.entry import Entry, Found
from foliot.doors.celery_beat.errors import EntryRefusedError, ImportRefusedError
from foliot.doors.celery_beat.rule import as_utc, refuse_rrule
from foliot.errors import shorten, without_password

_ORIGIN = "RedBeat"
_SCHEMES = ("redis://", "rediss://", "unix://")
_PATIENCE = 10.0  # seconds


def read_redbeat(app: Any) -> Found:
    """All entries of RedBeat, in the order of their names. ImportRefusedError if they cannot be read."""
    try:
        from redis import Redis, RedisError  # noqa: PLC0415 - it may not be installed
    except ImportError as error:
        reason = "the driver of Redis is not installed"
        raise ImportRefusedError(_ORIGIN, reason, hint="pip install 'foliot[redis]'") from error
    url: str = app.conf.get("redbeat_redis_url") or app.conf.broker_url or ""
    prefix: str = app.conf.get("redbeat_key_prefix") or "redbeat:"
    if not url.startswith(_SCHEMES):
        hint = "set redbeat_redis_url to the address of the primary: redis://…"
        raise ImportRefusedError(_ORIGIN, f"{without_password(url)} is no address of one Redis", hint=hint)
    redis: Any = Redis.from_url(url, decode_responses=True, socket_timeout=_PATIENCE)
    found = Found([], [], [])
    try:
        for key in sorted(redis.zrange(f"{prefix}:schedule", 0, -1)):
            definition, meta = redis.hmget(key, "definition", "meta")
            _add(found, key.removeprefix(prefix), definition, meta)
    except RedisError as error:
        reason = f"{without_password(url)} does not answer: {type(error).__name__}: {error}"
        raise ImportRefusedError(_ORIGIN, reason) from error
    finally:
        redis.close()
    return found


def _add(found: Found, name: str, definition: str | None, meta: str | None) -> None:
    if definition is None:  # it was deleted at this moment
        return
    try:
        found.entries.append(_read(name, definition, meta))
    except EntryRefusedError as error:
        found.refusals.append(error)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        reason = f"RedBeat's record of it cannot be read: {type(error).__name__}: {shorten(str(error))}"
        found.refusals.append(EntryRefusedError(name, reason))


def _read(name: str, definition: str, meta: str | None) -> Entry:
    decode = _decoder(name)
    said = json.loads(definition, object_hook=decode)
    known = json.loads(meta, object_hook=decode) if meta else {}
    last_run_at = known.get("last_run_at")
    return Entry(
        name=said["name"],
        task=said["task"],
        schedule=said["schedule"],
        args=said.get("args"),
        kwargs=said.get("kwargs"),
        options=said.get("options"),
        enabled=bool(said.get("enabled", True)),
        last_run_at=None if last_run_at is None else as_utc(last_run_at),
    )


def _decoder(name: str) -> Callable[[dict[str, Any]], Any]:
    """What makes objects of the JSON of one entry."""
    from celery.schedules import crontab, schedule  # noqa: PLC0415 - see the package's docstring

    def decode(fields: dict[str, Any]) -> Any:
        match fields.pop("__type__", None):
            case None:
                return fields
            case "crontab":
                return crontab(**fields)
            case "interval":
                return schedule(run_every=fields["every"], relative=fields["relative"])
            case "datetime":
                return _instant(fields)
            case "rrule":
                raise refuse_rrule(name)
            case "weekday":  # of an rrule
                return None
            case other:
                raise EntryRefusedError(name, f"it holds a value of the unknown type {shorten(other)}")

    return decode


def _instant(fields: dict[str, Any]) -> datetime:
    zone = fields.pop("timezone", "UTC")
    is_offset = isinstance(zone, int | float)
    tzinfo = timezone(timedelta(seconds=zone)) if is_offset else ZoneInfo(zone)
    return datetime(**fields, tzinfo=tzinfo)
