"""Splay: jobs of one rule start at different times, each always as long after its occurrence.

    occurrence 02:00:00  ──  offset, by the hash of the job's key: 0 ≤ offset < splay  ──▶  start 02:20:13

An occurrence keeps its time, and its run keeps its key. Every node computes the same offset, each day, and
after each change of the rule.
"""

from __future__ import annotations

from datetime import timedelta
from functools import lru_cache
from hashlib import sha256

from foliot.model.job import Job

_NOTHING = timedelta(0)
_SECOND = timedelta(seconds=1)


def offset_of(job: Job) -> timedelta:
    """How long after its occurrences a job starts, in whole seconds."""
    splay = job.policy.splay
    return _NOTHING if splay is None else _offset(job.key, splay // _SECOND)


@lru_cache(maxsize=4096)
def _offset(key: str, seconds: int) -> timedelta:
    number = int.from_bytes(sha256(key.encode("utf-8", "surrogatepass")).digest()[:8])
    return timedelta(seconds=number % seconds)
