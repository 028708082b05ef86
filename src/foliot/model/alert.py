"""Alerts: messages about a job, sent through channels.

    episode ep1 of  backup   failure   02:00  the first run fails        reminder 0
                             failure   14:00  it fails still             reminder 1
                             recovery  15:00  a run succeeds

An *episode* is one period of trouble of one job. Its alerts have ids of their own, made of the job, the
kind, the episode and the number of the reminder: the same alert, decided twice, has the same id. A receiver
that has seen an id can ignore it.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from foliot.errors import DamagedRecordError
from foliot.model.attempt import Outcome
from foliot.model.json_text import MisfitError, read_object, write_json
from foliot.model.shape import FLAG, INSTANT, MESSAGE, TEXT, WHOLE, Kind, Shape, choice, optional

OWN_SOURCE = "foliot.alerts"  # of the jobs that send alerts, one for each channel

# Characters that are kept. All of them, escaped, stay below what `json_text` lets a text be.
LONGEST_FIELD = 2_000  # of an error, a reason, a title
LONGEST_OUTPUT = 10_000  # of an output: its end


class AlertKind(StrEnum):
    """The type of an alert."""

    FAILURE = "failure"
    RECOVERY = "recovery"
    MISSED = "missed"
    SKIPPED = "skipped"
    LATE = "late"
    SLOW = "slow"
    SILENT = "silent"
    FLAPPING = "flapping"
    OUTPUT = "output"
    SOURCE = "source"
    ENDED = "ended"  # for the job's ping only: a run has ended
    TRIED = "tried"  # the same: an attempt has ended, and another one follows
    AFTER = "after"  # for a job that runs after this one: a run is over


class Alert(NamedTuple):
    """One message in the outbox. `job` is the job's key, or a source's name for the kind `source`.

    `title` is the job's name for people; `why` is one sentence; `since` is when the episode began. `output`
    is the end of what the attempt wrote: the outbox need not keep it, the delivery may add it.
    """

    id: str
    at: datetime
    kind: AlertKind
    job: str
    title: str | None = None
    run: str | None = None
    attempt: int | None = None
    outcome: Outcome | None = None
    exit_code: int | None = None
    error: str | None = None
    failures_in_row: int = 0
    since: datetime | None = None
    next_at: datetime | None = None
    node: str | None = None
    revision: str | None = None
    why: str | None = None
    episode: str | None = None
    reminder: int = 0
    is_test: bool = False
    output: str | None = None

    @property
    def name(self) -> str:
        """The job, as people call it."""
        return self.title or self.job

    def as_data(self) -> dict[str, Any]:
        """The alert in JSON's own types. Long texts are cut; what no database takes is replaced."""
        data = ALERT.write(self)
        if self.output is None:
            del data["output"]
        return data

    def to_json(self) -> str:
        """The alert as a text, for a store."""
        return write_json(self.as_data())

    @classmethod
    def from_json(cls, text: str) -> Alert:
        """Read such a text; fields of newer versions are ignored. DamagedRecordError if it is no alert."""
        try:
            alert: Alert = ALERT.read(read_object(text))[0]
        except MisfitError as error:
            field = f"alert.{error.path}" if error.path else "alert"
            raise DamagedRecordError(
                field, error.value, error.reason, flaw=error.flaw, expected=error.expected
            ) from error
        return alert


def _cut(text: Any) -> str:
    clean: str = MESSAGE.write(text)
    return clean if len(clean) <= LONGEST_FIELD else clean[:LONGEST_FIELD] + "…"


def _cut_head(text: Any) -> str:
    clean: str = MESSAGE.write(text)
    return clean if len(clean) <= LONGEST_OUTPUT else "…" + clean[-LONGEST_OUTPUT:]


_SENTENCE = optional(Kind(TEXT.read, _cut))
ALERT = Shape(
    Alert,
    {
        "id": TEXT,
        "at": INSTANT,
        "kind": choice(AlertKind),
        "job": MESSAGE,
        "title": _SENTENCE,
        "run": optional(MESSAGE),
        "attempt": optional(WHOLE),
        "outcome": optional(choice(Outcome)),
        "exit_code": optional(WHOLE),
        "error": _SENTENCE,
        "failures_in_row": WHOLE,
        "since": optional(INSTANT),
        "next_at": optional(INSTANT),
        "node": optional(MESSAGE),
        "revision": optional(MESSAGE),
        "why": _SENTENCE,
        "episode": optional(TEXT),
        "reminder": WHOLE,
        "is_test": FLAG,
        "output": optional(Kind(TEXT.read, _cut_head)),
    },
    required=("id", "at", "kind", "job"),
)
