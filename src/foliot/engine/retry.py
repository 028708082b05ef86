"""When a run that failed is tried again."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import blake2b

from foliot.model.attempt import Attempt
from foliot.model.policy import Retry

_SHORTEST = timedelta(seconds=1)
_MOST_DOUBLINGS = 64


def may_retry(policy: Retry, attempt: Attempt) -> bool:
    """Whether another attempt may follow one that failed."""
    return policy.max is None or attempt.number <= policy.max


def retry_at(policy: Retry, attempt: Attempt, finished_at: datetime) -> datetime:
    """When: counted from the end of the attempt, and never at once, so that no failure spins."""
    exponent = min(attempt.number - 1, _MOST_DOUBLINGS)
    try:
        delay = min(policy.delay * policy.backoff**exponent, policy.longest)
    except OverflowError:
        delay = policy.longest
    delay = max(delay, policy.delay) * (1 + policy.jitter * _fraction(attempt))
    return finished_at + max(delay, _SHORTEST)


def _fraction(attempt: Attempt) -> float:
    """A number in [0, 1) that every node computes alike."""
    digest = blake2b(f"{attempt.run_key}#{attempt.number}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64
