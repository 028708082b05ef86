"""The audit: one entry for each change that a person or a program asked for, and how it ended.

    asked ──▶ done       it took effect
          ├─▶ refused    it was not allowed, or cannot be done
          └─▶ unknown    the store did not answer: it may have taken effect

An entry is written before the change. If the process dies in between, the entry stays `asked`; after ten
minutes it is shown as `unknown`, which is the truth.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

AUDIT_KEPT_DAYS = 400
LONGEST_CHANGE = timedelta(minutes=10)


class AuditOutcome(StrEnum):
    """How a change ended."""

    ASKED = "asked"
    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"


class AuditEntry(NamedTuple):
    """A change that was asked for. No text of it holds a secret.

    `actor`: a token (`token:<id> <name>`) or a person at the command line (`cli:user@host`). `object` is a
    kind and a name: `job:ops/backup`, `token:<id>`. `detail` says why it was refused, or what it did.
    """

    id: str
    at: datetime
    actor: str
    verb: str
    object: str
    address: str | None = None
    before: str | None = None
    after: str | None = None
    request_id: str | None = None
    outcome: AuditOutcome = AuditOutcome.ASKED
    detail: str | None = None

    def outcome_at(self, now: datetime) -> AuditOutcome:
        """How it ended, as far as is known at a time."""
        is_open = self.outcome is AuditOutcome.ASKED
        return AuditOutcome.UNKNOWN if is_open and now >= self.at + LONGEST_CHANGE else self.outcome

    def settled(self, outcome: AuditOutcome, detail: str | None, after: str | None) -> AuditEntry | None:
        """The entry after its change has ended; None if it was settled before."""
        if self.outcome is not AuditOutcome.ASKED:
            return None
        return self._replace(outcome=outcome, detail=detail, after=self.after if after is None else after)
