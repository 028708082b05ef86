"""Whether and when a run is tried again: after a failure, and after its node died."""

from __future__ import annotations

from datetime import datetime, timedelta
from hashlib import blake2b

from foliot.model.attempt import Attempt
from foliot.model.policy import Retry

# A run that was lost this often in a row probably kills its node, and would kill every node.
MOST_LOSSES = 10
_SHORTEST = timedelta(seconds=1)
_MOST_DOUBLINGS = 64


def may_retry(policy: Retry, attempt: Attempt) -> bool:
    """Whether a failed attempt may be retried. Restarts after a loss do not count as retries."""
    return policy.max is None or attempt.retries < policy.max


def may_restart(policy: Retry, attempt: Attempt) -> bool:
    """Whether a lost attempt may be restarted. Always, if the job is retried for ever."""
    return policy.max is None or attempt.losses + 1 < MOST_LOSSES


def retry_at(
    policy: Retry, attempt: Attempt, finished_at: datetime, wished: timedelta | None = None
) -> datetime:
    """When the retry starts, counted from the end of the attempt. Never at once, to avoid a busy loop.

    `wished`: the least time to wait, limited by the policy's longest delay.
    """
    exponent = min(attempt.retries, _MOST_DOUBLINGS)
    try:
        delay = min(policy.delay * policy.backoff**exponent, policy.longest)
    except OverflowError:
        delay = policy.longest
    delay = max(delay, policy.delay) * (1 + policy.jitter * _fraction(attempt))
    return finished_at + max(delay, _SHORTEST, min(wished or _SHORTEST, policy.longest))


def _fraction(attempt: Attempt) -> float:
    """A number in [0, 1) that is the same on every node."""
    digest = blake2b(f"{attempt.run_key}#{attempt.number}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64
