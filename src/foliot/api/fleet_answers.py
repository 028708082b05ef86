"""The types of answers about sources, nodes, queues, tokens and the audit."""

from __future__ import annotations

from typing import Any

from foliot.api.answers import Answer, Links
from foliot.api.plan_answers import PlanAnswer
from foliot.api.terms import Time
from foliot.model.access import Right, Scope
from foliot.model.audit import AuditOutcome
from foliot.operations.facts import NodeState


class SourceAnswer(Answer, frozen=True):
    """A source of jobs. `status` is the last report of the node that reads the source."""

    id: str
    source: str
    revision: str | None
    jobs: int
    reconciled_at: Time | None
    status: Any
    links: Links


class SourceList(Answer, frozen=True):
    """All sources that the token may see."""

    sources: tuple[SourceAnswer, ...]
    next: None = None


class RevisionAnswer(Answer, frozen=True):
    """A state of a source, and how many jobs it added, changed and removed."""

    ordinal: int
    revision: str
    at: Time
    added: int
    changed: int
    removed: int


class RevisionList(Answer, frozen=True):
    """The last revisions of a source, the newest first."""

    source: str
    revisions: tuple[RevisionAnswer, ...]
    next: None = None


class ChangedDefinition(Answer, frozen=True):
    """A job whose definition ended with a revision."""

    job: str
    version: int
    removed: bool


class RevisionDiff(Answer, frozen=True):
    """The definitions that a revision ended, as far as they are kept.

    `partial`: only a part of the source's jobs was looked at.
    """

    source: str
    revision: str
    ended: tuple[ChangedDefinition, ...]
    partial: bool


class Pulled(Answer, frozen=True):
    """A source whose repository is read again now."""

    source: str
    dry_run: bool = False


class RemovedSource(Answer, frozen=True):
    """A source that was removed. `jobs`: how many jobs it had. `running`: how many of their runs go on."""

    source: str
    jobs: int
    running: int
    dry_run: bool = False
    plan: PlanAnswer | None = None


class NodeAnswer(Answer, frozen=True):
    """A node: `state` is alive, draining or silent. `actions` is null if it serves all kinds."""

    node: str
    name: str
    host: str | None
    process: int | None
    state: NodeState
    lease_until: Time
    open_attempts: int
    queues: tuple[str, ...]
    actions: tuple[str, ...] | None
    version: str
    clock_skew: float


class UnservedAnswer(Answer, frozen=True):
    """Jobs that are due and that no node can start."""

    queue: str
    action: str
    jobs: int
    since: Time


class NodeList(Answer, frozen=True):
    """All nodes, the number of answering nodes for each version of Foliot, and jobs that no node serves."""

    nodes: tuple[NodeAnswer, ...]
    versions: dict[str, int]
    unserved: tuple[UnservedAnswer, ...]
    next: None = None


class QueueAnswer(Answer, frozen=True):
    """A queue: how many living nodes serve it, and when its next job is due."""

    queue: str
    nodes: int
    next_wake_at: Time | None


class QueueList(Answer, frozen=True):
    """All queues that a node serves, or that have waiting jobs."""

    queues: tuple[QueueAnswer, ...]
    next: None = None


class OverviewAnswer(Answer, frozen=True):
    """The store at a glance. Counts may be half a minute old."""

    jobs: int
    damaged: int
    paused: int
    failing: int
    open_attempts: int
    nodes: int
    next_wake_at: Time | None
    unserved: tuple[UnservedAnswer, ...]


class Scheduler(Answer, frozen=True):
    """Whether an engine runs in this process, and how many nodes live."""

    engine: bool
    alive: bool
    ready: bool
    nodes: int
    now: Time
    version: str


class TokenAnswer(Answer, frozen=True):
    """A token, without its secret. `sources` is null if it is not limited to some."""

    id: str
    name: str
    scope: Scope
    sources: tuple[str, ...] | None
    rights: tuple[Right, ...]
    created_at: Time
    expires_at: Time | None
    last_used_at: Time | None


class TokenList(Answer, frozen=True):
    """Some tokens, the newest first."""

    tokens: tuple[TokenAnswer, ...]
    next: str | None


class NewTokenAnswer(TokenAnswer, frozen=True):
    """A new token. `token` is shown only in this answer; it is null in a dry run."""

    token: str | None
    dry_run: bool = False


class Revoked(Answer, frozen=True):
    """A token that was revoked. Other nodes refuse it within five seconds."""

    id: str
    dry_run: bool = False


class WhoAmI(Answer, frozen=True):
    """The token of the caller."""

    token_id: str
    name: str
    scope: Scope
    sources: tuple[str, ...] | None
    rights: tuple[Right, ...]
    is_session: bool


class AuditAnswer(Answer, frozen=True):
    """A requested change, and how it ended."""

    id: str
    at: Time
    actor: str
    verb: str
    object: str
    address: str | None
    before: str | None
    after: str | None
    request_id: str | None
    outcome: AuditOutcome
    detail: str | None


class AuditList(Answer, frozen=True):
    """Some entries, the newest first."""

    audit: tuple[AuditAnswer, ...]
    next: str | None
