"""Whether and when a run is tried again: after a failure, and after its node died."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import blake2b

from foliot.model.attempt import Attempt
from foliot.model.policy import Retry

# A run that was lost so often in a row is taken to be the reason why: it would take down every node there is.
MOST_LOSSES = 10
_SHORTEST = timedelta(seconds=1)
_MOST_DOUBLINGS = 64


def may_retry(policy: Retry, attempt: Attempt) -> bool:
    """Whether another attempt may follow one that failed. Restarts after a loss do not count."""
    return policy.max is None or attempt.retries < policy.max


def may_restart(policy: Retry, attempt: Attempt) -> bool:
    """Whether another attempt may follow one that is lost; of what is retried for ever, always."""
    return policy.max is None or attempt.losses + 1 < MOST_LOSSES


def retry_at(
    policy: Retry, attempt: Attempt, finished_at: datetime, wished: timedelta | None = None
) -> datetime:
    """When: counted from the end of the attempt, and never at once, so that no failure spins.

    `wished`: how long to wait at least, as far as the policy's longest delay allows.
    """
    exponent = min(attempt.retries, _MOST_DOUBLINGS)
    try:
        delay = min(policy.delay * policy.backoff**exponent, policy.longest)
    except OverflowError:
        delay = policy.longest
    delay = max(delay, policy.delay) * (1 + policy.jitter * _fraction(attempt))
    return finished_at + max(delay, _SHORTEST, min(wished or _SHORTEST, policy.longest))


def _fraction(attempt: Attempt) -> float:
    """A number in [0, 1) that every node computes alike."""
    digest = blake2b(f"{attempt.run_key}#{attempt.number}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64
