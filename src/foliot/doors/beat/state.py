"""What the door keeps in Redis for others to read: a hash for each schedule, and a lock while it fires.

    bananas:schedules:cleanup_hourly       last_run next_run run_count last_success last_error, last_job_id
    bananas:schedule_lock:cleanup_hourly   the token of the try that enqueues now; it expires

Both are outward form. Which node enqueues is decided by the claim in the store; the state here is written
after that, under the lock, by one script. `last_job_id` makes the script safe to repeat.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import sha1
from typing import NamedTuple
from uuid import NAMESPACE_URL

from foliot.doors.beat.errors import BeatError
from foliot.doors.beat.schedule import ScheduleState
from foliot.errors import shorten
from foliot.stores.redis.link import LinkScript, ScriptCommand
from foliot.stores.redis.wire import Command

_FIELD = "last_job_id"
_TIMES = ("last_run", "next_run", "last_success")
_LOOKED_AT = ("run_count", *_TIMES, _FIELD)  # before a job is enqueued
_NAMESPACE = NAMESPACE_URL.bytes
_REMEMBERED_TRIES = 10  # earlier tries of a run, whose locks a later try may release
_LONGEST_ERROR = 1000

# An older run that ends late does not set times back; foreign programs may write other zones than Z.
_ENQUEUED = LinkScript("""#!lua
local state, lock = KEYS[1], KEYS[2]
local token, job_id, last_run, last_success, next_run = unpack(ARGV)
local known = redis.call('HMGET', state, 'last_job_id', 'last_run')
if known[1] ~= job_id then redis.call('HINCRBY', state, 'run_count', 1) end
redis.call('HSET', state, 'last_job_id', job_id)
redis.call('HDEL', state, 'last_error')
if not (known[2] and known[2]:sub(-1) == 'Z' and known[2] > last_run) then
  redis.call('HSET', state, 'last_run', last_run, 'last_success', last_success)
  if next_run == '' then redis.call('HDEL', state, 'next_run')
  else redis.call('HSET', state, 'next_run', next_run) end
end
if redis.call('GET', lock) == token then return redis.call('DEL', lock) end
return 0
""")
_FAILED = LinkScript("""#!lua
redis.call('HSET', KEYS[1], 'last_error', ARGV[2])
if redis.call('GET', KEYS[2]) == ARGV[1] then return redis.call('DEL', KEYS[2]) end
return 0
""")
RELEASE = LinkScript("""#!lua flags=allow-oom
local holder = redis.call('GET', KEYS[1])
for _, token in ipairs(ARGV) do
  if holder == token then return redis.call('DEL', KEYS[1]) end
end
return 0
""")
EXTEND = LinkScript("""#!lua flags=allow-oom
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0
""")


def milliseconds(duration: timedelta) -> int:
    """A duration as Redis counts it."""
    return max(1, duration // timedelta(milliseconds=1))


def acquire(key: str, token: str, ttl: timedelta) -> Command:
    """The command that takes a free lock: OK, or nil."""
    return ("SET", key, token, "NX", "PX", milliseconds(ttl))


class Enqueued(NamedTuple):
    """What is written when a queue has taken a job."""

    job_id: str
    last_run: datetime
    last_success: datetime
    next_run: datetime | None


class Keys:
    """The keys of a prefix, and the commands about them."""

    def __init__(self, prefix: str, lock_ttl: timedelta) -> None:
        self._lock_words = ("NX", "PX", milliseconds(lock_ttl))
        self._states = f"{prefix}:schedules:"
        self._locks = f"{prefix}:schedule_lock:"

    def state(self, schedule: str) -> str:
        """The hash of a schedule."""
        return self._states + schedule

    def lock(self, schedule: str) -> str:
        """The lock of a schedule."""
        return self._locks + schedule

    def begin(self, schedule: str, token: str, run: tuple[str, int]) -> list[Command | ScriptCommand]:
        """Take the lock, read the state; the last two answers tell. A node that died may have left its lock.

        The tokens of earlier tries of the same run are known: the store has declared those tries over.
        """
        lock, (run_key, attempt) = self.lock(schedule), run
        take = ("SET", lock, token, *self._lock_words)
        look = ("HMGET", self.state(schedule), *_LOOKED_AT)
        if attempt == 1:
            return [take, look]
        first = max(1, attempt - _REMEMBERED_TRIES)
        before = [token_of(run_key, number) for number in range(first, attempt)]
        return [RELEASE.call((lock,), *before), take, look]

    def write(self, schedule: str, token: str, done: Enqueued) -> ScriptCommand:
        """Write that a job was enqueued, and release the lock. Repeating it changes nothing."""
        next_run = "" if done.next_run is None else to_text(done.next_run)
        words = (done.job_id, to_text(done.last_run), to_text(done.last_success), next_run)
        return _ENQUEUED.call((self.state(schedule), self.lock(schedule)), token, *words)

    def write_error(self, schedule: str, token: str, error: str) -> ScriptCommand:
        """Write why nothing was enqueued, and release the lock."""
        return _FAILED.call((self.state(schedule), self.lock(schedule)), token, error[:_LONGEST_ERROR])

    def release(self, schedule: str, token: str) -> ScriptCommand:
        """Release the lock, and write nothing."""
        return RELEASE.call((self.lock(schedule),), token)


def token_of(run_key: str, attempt: int) -> str:
    """The lock's token of one try. It follows from the try, and no other try has it."""
    return _uuid5(f"{run_key}#{attempt}")


def job_id_of(run_key: str) -> str:
    """The id of the job that a run enqueues: the same for every try."""
    return _uuid5(run_key)


def _uuid5(name: str) -> str:
    """`str(uuid5(NAMESPACE_URL, name))`, in a third of its time: each run needs two."""
    digest = bytearray(sha1(_NAMESPACE + name.encode(), usedforsecurity=False).digest()[:16])
    digest[6] = digest[6] & 0x0F | 0x50  # version 5
    digest[8] = digest[8] & 0x3F | 0x80  # the variant of RFC 4122
    text = digest.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


class Known(NamedTuple):
    """The state of a schedule, and which job was enqueued last."""

    state: ScheduleState
    last_job_id: str


def read_state(schedule: str, answer: object) -> Known:
    """The state that Redis has; a default if it has none. BeatError if it cannot be read."""
    _check_answer(answer)
    words = [_text(word) for word in answer] if isinstance(answer, list) else []
    fields = dict(zip(words[::2], words[1::2], strict=False))
    state = ScheduleState(
        id=schedule,
        last_run=_instant("last_run", fields.get("last_run")),
        next_run=_instant("next_run", fields.get("next_run")),
        run_count=_count(fields.get("run_count")),
        last_error=fields.get("last_error", ""),
        last_success=_instant("last_success", fields.get("last_success")),
    )
    return Known(state, fields.get(_FIELD, ""))


def read_last_job_id(answer: object) -> str:
    """The id of the job that was enqueued last, by what `begin` asks. BeatError if that cannot be read."""
    _check_answer(answer)
    if not isinstance(answer, list):
        return ""
    count, *times, job_id = answer
    _count(count)
    for name, time in zip(_TIMES, times, strict=True):
        _instant(name, time)
    return "" if job_id is None else _text(job_id)


def _check_answer(answer: object) -> None:
    if isinstance(answer, Exception):
        raise BeatError(f"failed to get schedule state: {answer}") from answer


def _text(word: object) -> str:
    return word.decode(errors="replace") if isinstance(word, bytes) else str(word)


def _count(word: str | bytes | None) -> int:
    if word is None:
        return 0
    if not word.isdigit():
        raise _unreadable("run_count", _text(word))
    return int(word)


def _instant(name: str, word: str | bytes | None) -> datetime | None:
    if not word:
        return None
    if (instant := _read_instant(word)) is None:
        raise _unreadable(name, _text(word))
    return instant


@lru_cache(maxsize=4096)  # schedules that fire together share their times
def _read_instant(word: str | bytes) -> datetime | None:
    with suppress(ValueError, OverflowError):
        instant = datetime.fromisoformat(_text(word))
        return None if instant.tzinfo is None else instant.astimezone(UTC)
    return None


def _unreadable(field: str, value: str) -> BeatError:
    return BeatError(
        f'failed to get schedule state: {field} is "{shorten(value)}"',
        details={"field": field, "value": shorten(value)},
        hint="correct that field of the hash, or delete the hash",
    )


@lru_cache(maxsize=4096)  # as above
def to_text(instant: datetime) -> str:
    """An instant as the hash has it: RFC 3339, in UTC, to the second."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
