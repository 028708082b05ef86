"""What is sent about sources, nodes, tokens and the audit."""

from __future__ import annotations

from typing import Any

from foliot.api.answers import Answer, Links
from foliot.api.plan_answers import PlanAnswer
from foliot.api.terms import Time
from foliot.model.access import Right, Scope
from foliot.model.audit import AuditOutcome
from foliot.operations.facts import NodeState


class SourceAnswer(Answer, frozen=True):
    """Where jobs come from. `status` is what its reader has written."""

    id: str
    source: str
    revision: str | None
    jobs: int
    reconciled_at: Time | None
    status: Any
    links: Links


class SourceList(Answer, frozen=True):
    """All sources that may be seen."""

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
    """What a revision changed, as far as it is kept; `partial`: not all jobs of the source were looked at."""

    source: str
    revision: str
    ended: tuple[ChangedDefinition, ...]
    partial: bool


class Pulled(Answer, frozen=True):
    """A source is read again."""

    source: str
    dry_run: bool = False


class RemovedSource(Answer, frozen=True):
    """A source was removed, with so many jobs; so many of their runs may still end."""

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
    """The nodes; how many of those that are not silent run each version of Foliot; and what waits for one."""

    nodes: tuple[NodeAnswer, ...]
    versions: dict[str, int]
    unserved: tuple[UnservedAnswer, ...]
    next: None = None


class QueueAnswer(Answer, frozen=True):
    """A queue: how many living nodes serve it, and when its first job is to be looked at."""

    queue: str
    nodes: int
    next_wake_at: Time | None


class QueueList(Answer, frozen=True):
    """All queues that are served, or have jobs that wait."""

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
    """A token that was made. `token` is shown this once; it is null in a dry run."""

    token: str | None
    dry_run: bool = False


class Revoked(Answer, frozen=True):
    """A token that is valid no more; on other nodes, within five seconds."""

    id: str
    dry_run: bool = False


class WhoAmI(Answer, frozen=True):
    """Who asks."""

    token_id: str
    name: str
    scope: Scope
    sources: tuple[str, ...] | None
    rights: tuple[Right, ...]
    is_session: bool


class AuditAnswer(Answer, frozen=True):
    """A change that was asked for, and how it ended."""

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
