"""Alerts for tests, some of them hostile."""

from __future__ import annotations

from datetime import UTC, datetime

from foliot.alerts.message import Alert, AlertKind
from foliot.model.attempt import Outcome

AT = datetime(2026, 11, 16, 2, 0, tzinfo=UTC)
FAILURE = Alert(
    "al-1", AT, AlertKind.FAILURE, "ops/backup", title="Backup", run="ops/backup@2026-11-16T02:00:00Z",
    attempt=3, outcome=Outcome.FAILED, exit_code=3, error="disk full", failures_in_row=2, since=AT,
    node="n1", episode="e1", revision="3f2a91c", why="all 3 attempts failed",
)  # fmt: skip
RECOVERY = FAILURE._replace(
    id="al-2", kind=AlertKind.RECOVERY, outcome=Outcome.SUCCEEDED, error=None, exit_code=0, failures_in_row=0
)
NASTY = "\r\nBcc: evil@example.org\x00\x1b[31m\u202e @everyone <!channel> <@U1> & \"' $job `x` \ud800"
HOSTILE = FAILURE._replace(
    title=NASTY,
    error=NASTY + "e" * 1_000_000,
    why=NASTY,
    run=NASTY,
    node=NASTY,
    revision=NASTY,
    output=NASTY * 99,
)


def many(count: int) -> list[Alert]:
    return [FAILURE._replace(id=f"al-{n}", job=f"ops/j{n}", title=f"job {n}") for n in range(count)]
