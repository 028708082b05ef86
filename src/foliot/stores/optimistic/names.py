"""Texts that sort in the order of time: names of times, attempts and skips.

A time is 16 hexadecimal digits, so that bytes sort as times do. An attempt or a skip begins with its time.
"""

from __future__ import annotations

from functools import lru_cache

from foliot.model.attempt import Attempt, format_instant
from foliot.model.state import Skip
from foliot.stores.sql.codes import whole

_SHIFT = 1 << 60  # so that no instant of the calendar is negative
DIGITS = 16


@lru_cache(maxsize=4096)  # a herd shares its instants
def time_text(number: int) -> str:
    """Microseconds as a text that sorts as they do."""
    return f"{number + _SHIFT:016x}"


def time_number(text: str) -> int:
    """The microseconds of such a text; ValueError if it is none."""
    return int(text[:DIGITS], 16) - _SHIFT


def attempt_id(attempt: Attempt) -> str:
    """The name of an attempt within its job: the end of the run's key, and the number."""
    request = attempt.request
    run = f"@{format_instant(attempt.scheduled_for)}" if request is None else f"!{request}"
    return f"{run}#{attempt.number}"


def id_of(job: str, run_key: str, number: int) -> str:
    """The same, by the run's key."""
    return f"{run_key[len(job) :]}#{number}"


def key_of(job: str, identity: str) -> tuple[str, int]:
    """The run's key and the number of an attempt; the reverse of `id_of`."""
    run, _, number = identity.rpartition("#")
    return f"{job}{run}", int(number)


def run_member(attempt: Attempt) -> str:
    """The entry of an attempt in the index of all attempts: time, job, request and number."""
    at = time_text(whole(attempt.scheduled_for))
    return f"{at}{attempt.job}\0{attempt.request or ''}\0{attempt.number:010}"


def job_of(member: str) -> str:
    """The job of such an entry."""
    return member[DIGITS:].partition("\0")[0]


def skip_id(skip: Skip) -> str:
    """The name of a skip within its job."""
    return time_text(whole(skip.first)) + time_text(whole(skip.last))


def skip_member(skip: Skip) -> str:
    """The entry of a skip in the index of all skips: its end, the job, its beginning."""
    return f"{time_text(whole(skip.last))}{skip.job}\0{time_text(whole(skip.first))}"


def beyond(job: str, source: str) -> str:
    """The position at which to continue after a job of another source.

    It does not contain that job's name, because the client may see one source only. Within an instant, jobs
    are read from the last key to the first. So the jobs of the source either all follow, or are all done.
    """
    return f"{source}0" if job > f"{source}/" else ""  # "0" follows "/"
