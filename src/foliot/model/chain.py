"""Chains: a job that runs when a run of another job is over for good.

    load   run 03:00 succeeds ──▶ outbox: after:shop/report ──▶ report   run report!after-9f2c…

The parent's definition knows its children (`Policy.then`), because the step that decides about the parent
writes the outbox. The child's knows its parent (`Policy.after`), for people. A door puts in both.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from foliot.errors import InvalidPolicyError
from foliot.model.attempt import Attempt, Outcome

CHANNEL = "after:"  # how the channels of the outbox begin that are jobs
_FAILURES = (Outcome.FAILED, Outcome.TIMED_OUT, Outcome.INTERRUPTED, Outcome.LOST)


class On(StrEnum):
    """Which end of a run counts."""

    SUCCESS = "success"
    FAILURE = "failure"
    END = "end"


@dataclass(frozen=True, slots=True)
class Link:
    """Another job of the same source, by its name, and which ends count."""

    job: str
    on: On = On.SUCCESS

    def __post_init__(self) -> None:
        name: object = self.job
        if not isinstance(name, str) or not name:
            raise InvalidPolicyError("after.job", self.job, "must be the name of a job")
        try:
            object.__setattr__(self, "on", On(self.on))
        except ValueError:
            raise InvalidPolicyError(
                "after.on", self.on, "is not known", hint=f"one of: {', '.join(On)}"
            ) from None

    def counts(self, outcome: Outcome) -> bool:
        """Whether a run that ended so is followed."""
        if self.on is On.END:
            return True
        return outcome is Outcome.SUCCEEDED if self.on is On.SUCCESS else outcome in _FAILURES


def check_links(after: object, then: object) -> None:
    """Refuse what are no links."""
    if after is not None and not isinstance(after, Link):
        raise InvalidPolicyError("after", after, "must be a Link")
    if then is not None and not (isinstance(then, tuple) and all(isinstance(one, Link) for one in then)):
        raise InvalidPolicyError("then", then, "must be a tuple of links")


def parent_of(attempt: Attempt) -> str | None:
    """The key of the run that a run follows; None: it follows none."""
    if attempt.request is None or not attempt.request.startswith("after-") or attempt.payload is None:
        return None
    try:
        parent = json.loads(attempt.payload).get("after")
    except (ValueError, AttributeError):
        return None
    is_it = isinstance(parent, str) and request_after(parent) == attempt.request
    return parent if is_it else None


def request_after(run_key: str) -> str:
    """The name of the request that follows a run: the same for every caller."""
    return f"after-{sha256(run_key.encode()).hexdigest()[:24]}"
