"""Questions to a store, and pages of answers.

A page is a tuple that knows where the next one begins: `next` is given as `after` with the same question. It
is a text of the store that gave it. A page may have fewer entries than were asked for, even none, and have a
next one: where no index helps, a store looks at a bounded number of entries in one call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple, Self, TypeVar

from foliot.errors import InvalidJobError
from foliot.model.access import Token
from foliot.model.alert import AlertKind
from foliot.model.attempt import Attempt, Outcome, Trigger
from foliot.model.audit import AuditEntry
from foliot.model.damage import Damage
from foliot.model.job import Job
from foliot.model.outbox import AlertState, ChannelAlert
from foliot.model.pipeline import Pipeline
from foliot.model.state import Record, Skip

Entry = TypeVar("Entry", covariant=True)  # noqa: PLC0105 - what a page has is read only

MOST_LOOKED_AT = 20_000  # entries that a call looks at where no index helps


class Page(tuple[Entry, ...]):  # noqa: SLOT001 - a tuple with slots cannot have more than its entries
    """Some entries of an answer; `next` is None if there are no more."""

    next: str | None

    def __new__(cls, entries: Iterable[Entry] = (), next: str | None = None) -> Self:  # noqa: A002 - its name
        """These entries."""
        page = super().__new__(cls, tuple(entries))
        page.next = next
        return page


class RulePage(NamedTuple):
    """Definitions, each as a job without a name and data of its own, and how many jobs have it.

    `next`: after which key to go on; None: there are no more jobs.
    """

    jobs: tuple[tuple[Job, int], ...]
    looked_at: int
    next: str | None


class JobState(StrEnum):
    """What jobs are looked for by. A job may be in several of these states."""

    PAUSED = "paused"
    FAILING = "failing"
    DAMAGED = "damaged"
    OPEN = "open"  # it has an attempt that has not ended


class JobOrder(StrEnum):
    """In which order jobs are shown."""

    KEY = "key"
    SOONEST = "soonest"  # by when they are to be looked at; those that need no look are left out


class JobQuery(NamedTuple):
    """Which jobs to show. `search`: a part of the key, in small or capital letters."""

    source: str | None = None
    name: str | None = None
    keys: frozenset[str] | None = None
    with_removed: bool = False
    after: str = ""
    limit: int = 100
    state: JobState | None = None
    search: str | None = None
    queue: str | None = None
    kind: str | None = None
    order: JobOrder = JobOrder.KEY

    @property
    def is_filtered(self) -> bool:
        """Whether more is asked for than a source, in the order of keys."""
        return (
            not self.state is self.search is self.queue is self.kind is None or self.order is JobOrder.SOONEST
        )


class RunQuery(NamedTuple):
    """Which attempts to show: open and ended, newest first. `until` is not part of the time."""

    job: str | None = None
    outcome: Outcome | None = None
    is_open: bool | None = None
    since: datetime | None = None
    limit: int = 100
    until: datetime | None = None
    run_key: str | None = None
    source: str | None = None
    node: str | None = None
    trigger: Trigger | None = None
    after: str = ""


class SkipQuery(NamedTuple):
    """Which skips to show: those that end within a time, the newest first.

    Those of one job are sorted by their beginnings, those of all by their ends.
    """

    job: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    after: str = ""
    limit: int = 100
    source: str | None = None


class AlertQuery(NamedTuple):
    """Which alerts to show, the newest first. `until` is not part of the time."""

    channel: str | None = None
    job: str | None = None
    kind: AlertKind | None = None
    state: AlertState | None = None
    since: datetime | None = None
    until: datetime | None = None
    after: str = ""
    limit: int = 100


class TokenQuery(NamedTuple):
    """Which tokens to show: all, the newest first."""

    after: str = ""
    limit: int = 100


class AuditQuery(NamedTuple):
    """Which entries of the audit to show, the newest first. `until` is not part of the time."""

    actor: str | None = None
    object: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    after: str = ""
    limit: int = 100


class PipelineQuery(NamedTuple):
    """Which pipelines to show. `search`: a part of `namespace/layer/name`, in small or capital letters."""

    namespace: str | None = None
    layer: str | None = None
    search: str | None = None
    with_removed: bool = False
    after: str = ""
    limit: int = 100


class JobView(NamedTuple):
    """A job as it is shown; `damage` says why its definition cannot be used, if it cannot."""

    key: str
    record: Record | None
    last_success_at: datetime | None = None
    damage: Damage | None = None

    @property
    def last_outcome(self) -> str | None:
        """How the last run ended, or why the last occurrence had none; None: nothing is known yet."""
        if self.record is None:
            return None
        return self.record.state.last_problem or (self.last_success_at and Outcome.SUCCEEDED.value) or None

    @property
    def problem(self) -> str | None:
        """What is wrong with it, in a sentence."""
        return None if self.damage is None else str(self.damage)


JobPage = Page[JobView]
RunPage = Page[Attempt]
SkipPage = Page[Skip]
AlertPage = Page[ChannelAlert]
TokenPage = Page[Token]
AuditPage = Page[AuditEntry]
PipelinePage = Page[Pipeline]


class RunName(NamedTuple):
    """What the key of a run may mean: a job, and either its occurrence or a request."""

    job: str
    at: datetime | None = None
    request: str | None = None


def names_of(run_key: str) -> Iterator[RunName]:
    """What the key of a run may mean. Jobs may have `@` and `!` in their names, so there may be several."""
    for place, mark in enumerate(run_key):
        if mark == "!":
            yield RunName(run_key[:place], request=run_key[place + 1 :])
        elif mark == "@" and (at := _instant(run_key[place + 1 :])) is not None:
            yield RunName(run_key[:place], at=at)


def _instant(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
        return at.astimezone(UTC) if at.tzinfo else None
    except (ValueError, OverflowError):
        return None


def bad_place(after: str) -> InvalidJobError:
    """The error for an `after` that no page gave."""
    return InvalidJobError(
        "after", after, "is no place in a list", hint="give what the page before said is next"
    )
