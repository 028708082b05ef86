"""Tokens, sessions, codes, the audit and pipelines in memory, behind the store's lock."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TypeVar

from foliot.errors_access import PipelineNotFoundError, PipelineTakenError
from foliot.model.audit import AUDIT_KEPT_DAYS
from foliot.model.pipeline import REMOVED_KEPT_DAYS, PipelineStatus
from foliot.protocols_access import (
    AuditEntry,
    AuditOutcome,
    AuditPage,
    AuditQuery,
    LoginCode,
    Pipeline,
    PipelineName,
    PipelinePage,
    PipelineQuery,
    Session,
    Token,
    TokenPage,
    TokenQuery,
)
from foliot.stores.pages import page_of_audit, page_of_pipelines, page_of_tokens

_Row = TypeVar("_Row")


class AccessRows:
    """The verbs of `protocols_access`. The memory store is made of it; `_lock` is for all of its verbs."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._tokens: dict[str, Token] = {}
        self._sessions: dict[str, Session] = {}
        self._codes: dict[str, LoginCode] = {}
        self._audit: dict[str, AuditEntry] = {}
        self._pipelines: dict[str, Pipeline] = {}

    # -- tokens, sessions, codes -------------------------------------------------------------------

    async def add_token(self, token: Token) -> bool:
        with self._lock:
            return self._tokens.setdefault(token.id, token).hash == token.hash

    async def token(self, token_id: str) -> Token | None:
        with self._lock:
            return self._tokens.get(token_id)

    async def tokens(self, query: TokenQuery) -> TokenPage:
        with self._lock:
            return page_of_tokens(self._tokens.values(), query)

    async def note_token_used(self, token_id: str, at: datetime) -> None:
        with self._lock:
            token = self._tokens.get(token_id)
            if token is not None and (token.last_used_at is None or token.last_used_at < at):
                self._tokens[token_id] = token._replace(last_used_at=at)

    async def revoke_token(self, token_id: str) -> bool:
        with self._lock:
            _forget(self._sessions, [k for k, one in self._sessions.items() if one.token_id == token_id])
            _forget(self._codes, [k for k, one in self._codes.items() if one.token_id == token_id])
            return self._tokens.pop(token_id, None) is not None

    async def add_session(self, session: Session) -> None:
        with self._lock:
            self._sessions.setdefault(session.hash, session)

    async def session(self, session_hash: str) -> Session | None:
        with self._lock:
            return self._sessions.get(session_hash)

    async def note_session_seen(self, session_hash: str, at: datetime) -> None:
        with self._lock:
            session = self._sessions.get(session_hash)
            if session is not None and session.seen_at < at:
                self._sessions[session_hash] = session._replace(seen_at=at)

    async def end_session(self, session_hash: str) -> bool:
        with self._lock:
            return self._sessions.pop(session_hash, None) is not None

    async def add_code(self, code: LoginCode) -> None:
        with self._lock:
            self._codes.setdefault(code.hash, code)

    async def take_code(self, code_hash: str) -> LoginCode | None:
        with self._lock:
            return self._codes.pop(code_hash, None)

    # -- audit -------------------------------------------------------------------------------------

    async def write_audit(self, *entries: AuditEntry) -> None:
        with self._lock:
            for entry in entries:
                self._audit.setdefault(entry.id, entry)

    async def settle_audit(
        self, entry_id: str, outcome: AuditOutcome, detail: str | None = None, after: str | None = None
    ) -> bool:
        with self._lock:
            entry = self._audit.get(entry_id)
            settled = None if entry is None else entry.settled(outcome, detail, after)
            if settled is not None:
                self._audit[entry_id] = settled
            return settled is not None

    async def audit(self, query: AuditQuery) -> AuditPage:
        with self._lock:
            return page_of_audit(self._audit.values(), query)

    # -- pipelines ---------------------------------------------------------------------------------

    async def add_pipeline(self, pipeline: Pipeline) -> None:
        with self._lock:
            if pipeline.id in self._pipelines:
                raise PipelineTakenError(str(pipeline.full_name), pipeline.id)
            self._refuse_taken(pipeline)
            self._pipelines[pipeline.id] = pipeline

    async def change_pipeline(self, pipeline: Pipeline, expected: int | None = None) -> Pipeline:
        with self._lock:
            found = self._active(pipeline.id, expected)
            self._refuse_taken(pipeline)
            changed = self._pipelines[pipeline.id] = found.changed_to(pipeline)
            return changed

    async def remove_pipeline(self, pipeline_id: str, at: datetime, expected: int | None = None) -> Pipeline:
        with self._lock:
            removed = self._pipelines[pipeline_id] = self._active(pipeline_id, expected).removed(at)
            return removed

    async def note_pipeline_run(self, pipeline_id: str, run_key: str) -> None:
        with self._lock:
            if pipeline_id in self._pipelines:
                self._pipelines[pipeline_id] = self._pipelines[pipeline_id]._replace(last_run=run_key)

    async def pipeline(self, pipeline_id: str) -> Pipeline | None:
        with self._lock:
            return self._pipelines.get(pipeline_id)

    async def pipeline_named(self, name: PipelineName) -> Pipeline | None:
        with self._lock:
            return next((one for one in self._all_active() if one.full_name == name), None)

    async def pipelines(self, query: PipelineQuery) -> PipelinePage:
        with self._lock:
            return page_of_pipelines(self._pipelines.values(), query)

    # -- inside ------------------------------------------------------------------------------------

    def forget_old(self, now: datetime, limit: int) -> int:
        """Forget what is older than what is kept, at most `limit` of each. Returns how many."""
        audited = now - timedelta(days=AUDIT_KEPT_DAYS)
        removed = now - timedelta(days=REMOVED_KEPT_DAYS)
        gone = [one for one in self._pipelines.values() if one.status is PipelineStatus.REMOVED]
        return (
            _forget(self._sessions, [k for k, one in self._sessions.items() if not one.is_valid(now)][:limit])
            + _forget(self._codes, [k for k, one in self._codes.items() if not one.is_valid(now)][:limit])
            + _forget(self._audit, [k for k, one in self._audit.items() if one.at <= audited][:limit])
            + _forget(self._pipelines, [one.id for one in gone if one.updated_at <= removed][:limit])
        )

    def _all_active(self) -> Iterable[Pipeline]:
        return (one for one in self._pipelines.values() if one.status is PipelineStatus.ACTIVE)

    def _active(self, pipeline_id: str, expected: int | None) -> Pipeline:
        if (found := self._pipelines.get(pipeline_id)) is None:
            raise PipelineNotFoundError(pipeline_id)
        return found.checked(expected)

    def _refuse_taken(self, pipeline: Pipeline) -> None:
        name = pipeline.full_name
        other = next((one for one in self._all_active() if one.full_name == name), None)
        if other is not None and other.id != pipeline.id:
            raise PipelineTakenError(str(name), other.id)


def _forget(rows: dict[str, _Row], keys: list[str]) -> int:
    for key in keys:
        del rows[key]
    return len(keys)
