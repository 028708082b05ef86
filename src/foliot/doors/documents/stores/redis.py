"""Documents as JSON in Redis: each under a key of its own, their times in one sorted set.

    jobs:<id>   the document, without its time
    jobs:due    id → sleepUntil, in milliseconds since 1970; a document that is not in it is never picked

Each verb that decides is one script, so no other client comes between. A prefix such as `{jobs}` keeps all
keys on one node of a cluster. There is no condition: documents of another kind get another prefix.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from redis import Redis
from redis import exceptions as errors

from foliot.clock import SystemClock
from foliot.doors.documents.errors import BadDocumentError, InvalidConfigError
from foliot.doors.documents.fields import ID, Fields
from foliot.doors.documents.job import LEAVE, Job, JobUpdate, Settled, milliseconds
from foliot.doors.documents.stores.server_time import ServerTime
from foliot.doors.documents.stores.thread import Closing, OwnThread
from foliot.errors import JobNotFoundError, StoreError, StoreUnavailableError, shorten
from foliot.protocols import Clock
from foliot.schedules.schedule import EPOCH

T = TypeVar("T")
_AWAY = (errors.ConnectionError, errors.TimeoutError, errors.BusyLoadingError, errors.ReadOnlyError)
_PATIENCE = 10.0  # seconds for an answer
_FIELDS = Fields()
_OWN = (_FIELDS.interval, _FIELDS.repeat_until, _FIELDS.auto_remove)
# KEYS: the sorted set, the prefix. A document that was deleted is forgotten when its time comes.
_LOCK = """
local t = redis.call('TIME')
local by = math.min(t[1] * 1000 + math.floor(t[2] / 1000), tonumber(ARGV[1]) - 1)
while true do
  local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', by, 'WITHSCORES', 'LIMIT', 0, 1)
  if #due == 0 then return false end
  local text = redis.call('GET', KEYS[2] .. due[1])
  if text then
    redis.call('ZADD', KEYS[1], ARGV[1], due[1])
    return {due[1], due[2], text}
  end
  redis.call('ZREM', KEYS[1], due[1])
end
"""
# ARGV: id, held, until.
_RENEW = """
local at = redis.call('ZSCORE', KEYS[1], ARGV[1])
if at ~= ARGV[2] or redis.call('EXISTS', KEYS[2] .. ARGV[1]) == 0 then return 0 end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
return 1
"""
# ARGV: id, held, what to do (a time, 'null' or 'remove'), the job's own fields as they were read.
_SETTLE = """
local id, held, to = ARGV[1], ARGV[2], ARGV[3]
local text, at = redis.call('GET', KEYS[2] .. id), redis.call('ZSCORE', KEYS[1], id)
if not text then return to == 'remove' and 'done' or 'lost' end
if at ~= held then
  return (at == to or (to == 'null' and not at)) and 'done' or 'lost'
end
local is_read, now = pcall(cjson.decode, text)
local was = cjson.decode(ARGV[4])
for name, value in pairs(was) do
  local other = is_read and now[name]
  if other == nil then other = cjson.null end
  if type(value) ~= 'table' and other ~= value then return 'changed' end
end
if to == 'remove' then
  redis.call('DEL', KEYS[2] .. id)
  redis.call('ZREM', KEYS[1], id)
elseif to == 'null' then
  redis.call('ZREM', KEYS[1], id)
else
  redis.call('ZADD', KEYS[1], to, id)
end
return 'done'
"""
# ARGV: id, a time or 'null' or 'leave', the document as it was, and as it shall be.
_WRITE = """
local text = redis.call('GET', KEYS[2] .. ARGV[1])
if not text then return 'gone' end
if text ~= ARGV[3] then return 'changed' end
if ARGV[4] ~= ARGV[3] then redis.call('SET', KEYS[2] .. ARGV[1], ARGV[4]) end
if ARGV[2] == 'null' then
  redis.call('ZREM', KEYS[1], ARGV[1])
elseif ARGV[2] ~= 'leave' then
  redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
end
return 'done'
"""


class RedisStore(Closing):
    """Documents of a server, by its URL, under a prefix. Their ids are texts."""

    def __init__(self, url: str, prefix: str = "jobs", *, clock: Clock | None = None) -> None:
        if not prefix:
            raise InvalidConfigError("prefix", "must not be empty", hint='such as "jobs"')
        self._keys = [f"{prefix}:due", f"{prefix}:"]
        self._client: Redis = Redis.from_url(
            url, decode_responses=True, socket_timeout=_PATIENCE, socket_connect_timeout=_PATIENCE
        )
        self._thread = OwnThread("redis")
        self._time = ServerTime(self._server_time, clock or SystemClock())

    async def now(self) -> datetime:
        return await self._time.now()

    async def close(self) -> None:
        await self._thread.run(self._client.close)
        self._thread.close()

    async def put(self, document: Mapping[str, Any]) -> str:
        """Add a document, or replace the one that has its `_id`; returns the `_id`."""
        fields = dict(document)
        id_ = str(fields.pop(ID, None) or uuid.uuid4().hex)
        sleep_until = fields.pop(_FIELDS.sleep_until, None)
        if id_ == "due":
            raise StoreError('put: "due" is no id here: the times are under that key')
        text = _dumped(fields)

        def work() -> None:
            with self._client.pipeline(transaction=True) as line:
                line.set(self._keys[1] + id_, text)
                if sleep_until is None:
                    line.zrem(self._keys[0], id_)
                else:
                    line.zadd(self._keys[0], {id_: milliseconds(sleep_until)})
                line.execute()

        await self._ask("put", work)
        return id_

    async def get(self, id: Any) -> Job | None:  # noqa: A002 - the protocol's word
        def work() -> tuple[str | None, float | None]:
            with self._client.pipeline(transaction=True) as line:
                line.get(self._keys[1] + str(id))
                line.zscore(self._keys[0], str(id))
                text, score = line.execute()
                return text, score

        text, score = await self._ask("get", work)
        return None if text is None else _job(str(id), text, score)

    # -- the verbs ---------------------------------------------------------------------------------

    async def lock_next(self, lock_until: datetime) -> Job | None:
        found = await self._script("lock_next", _LOCK, milliseconds(lock_until))
        return None if not found else _job(found[0], found[2], float(found[1]))

    async def update(self, id: Any, updates: JobUpdate) -> None:  # noqa: A002 - the protocol's word
        id_, outcome = str(id), "changed"
        while outcome == "changed":
            text = await self._ask("update", lambda: self._client.get(self._keys[1] + id_))
            fresh = text
            if text is not None and updates.auto_remove is not LEAVE:
                fresh = _dumped({**_loaded(id_, text), _FIELDS.auto_remove: updates.auto_remove})
            outcome = "gone"
            if text is not None and fresh is not None:
                outcome = await self._script("update", _WRITE, id_, _target(updates), text, fresh)
        if outcome == "gone":
            raise JobNotFoundError(id_)

    async def remove(self, id: Any) -> None:  # noqa: A002 - the protocol's word
        def work() -> None:
            with self._client.pipeline(transaction=True) as line:
                line.delete(self._keys[1] + str(id))
                line.zrem(self._keys[0], str(id))
                line.execute()

        await self._ask("remove", work)

    async def renew(self, job: Job, held: datetime, until: datetime) -> bool:
        return bool(await self._script("renew", _RENEW, job.id, milliseconds(held), milliseconds(until)))

    async def settle(self, job: Job, held: datetime, updates: JobUpdate | None) -> Settled:
        to = "remove" if updates is None else _target(updates)
        own = _dumped({name: job.data.get(name) for name in _OWN})
        return Settled(await self._script("settle", _SETTLE, job.id, milliseconds(held), to, own))

    # -- inside ------------------------------------------------------------------------------------

    async def _script(self, verb: str, script: str, *arguments: Any) -> Any:
        return await self._ask(verb, lambda: self._client.eval(script, 2, *self._keys, *arguments))

    async def _server_time(self) -> datetime:
        seconds, micros = await self._ask("now", self._client.time)
        return EPOCH + timedelta(seconds=seconds, microseconds=micros)

    async def _ask(self, verb: str, work: Callable[[], Any]) -> Any:
        try:
            return await self._thread.run(work)
        except _AWAY as error:
            raise StoreUnavailableError(verb, f"{type(error).__name__}: {error}") from error
        except errors.RedisError as error:
            raise StoreError(f"{verb}: {error}", details={"verb": verb}) from error


def _target(updates: JobUpdate) -> str:
    if updates.sleep_until is LEAVE:
        return "leave"
    return "null" if updates.sleep_until is None else str(milliseconds(updates.sleep_until))


def _job(id_: str, text: str, score: float | None) -> Job:
    document = _loaded(id_, text)
    document[ID] = id_
    document[_FIELDS.sleep_until] = None if score is None else EPOCH + timedelta(milliseconds=score)
    job = _FIELDS.job(document)
    until: Any = document.get(_FIELDS.repeat_until)
    with suppress(ValueError, TypeError):  # what is no date is told by the plan
        time = datetime.fromisoformat(until)
        job = replace(job, repeat_until=time if time.tzinfo else time.replace(tzinfo=UTC))
    return job


def _loaded(id_: str, text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise BadDocumentError(id_, "the document", text, f"is no JSON: {error}") from error
    if not isinstance(document, dict):
        raise BadDocumentError(id_, "the document", text, "is no JSON object")
    return document


def _dumped(document: Mapping[str, Any]) -> str:
    return json.dumps(document, default=_as_text, ensure_ascii=False)


def _as_text(value: object) -> str:
    """A time as JSON has it: as a text, in UTC."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    raise TypeError(f"{shorten(value)} cannot be kept as JSON")
