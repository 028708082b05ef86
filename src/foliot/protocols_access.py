"""The seams of the API's own data: tokens, the audit, pipelines. They stand beside those of `protocols`.

Every store of ours is all three. Each verb is one atomic step. `Store.prune` forgets what is old: entries of
the audit and removed pipelines after 400 days, sessions and codes when they are not valid any more.
"""

# ruff: noqa: PLC0414 - what the contracts are made of is imported from here

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from foliot.model.access import LoginCode as LoginCode
from foliot.model.access import Session as Session
from foliot.model.access import Token as Token
from foliot.model.audit import AuditEntry as AuditEntry
from foliot.model.audit import AuditOutcome as AuditOutcome
from foliot.model.pipeline import Pipeline as Pipeline
from foliot.model.pipeline import PipelineName as PipelineName
from foliot.model.query import AuditPage as AuditPage
from foliot.model.query import AuditQuery as AuditQuery
from foliot.model.query import PipelinePage as PipelinePage
from foliot.model.query import PipelineQuery as PipelineQuery
from foliot.model.query import TokenPage as TokenPage
from foliot.model.query import TokenQuery as TokenQuery


class AccessStore(Protocol):
    """Keeps tokens, sessions and login codes, and returns them whether they are still valid or not.

    A token that cannot be read counts as missing. A time that is earlier than the stored one changes nothing.
    """

    async def add_token(self, token: Token) -> bool:
        """Keep a new token. The same token again changes nothing. False if another token has its id."""
        ...

    async def token(self, token_id: str) -> Token | None:
        """One token."""
        ...

    async def tokens(self, query: TokenQuery) -> TokenPage:
        """Tokens, the newest first."""
        ...

    async def note_token_used(self, token_id: str, at: datetime) -> None:
        """A token was used."""
        ...

    async def revoke_token(self, token_id: str) -> bool:
        """Forget a token with its sessions and codes; whether it was there."""
        ...

    async def add_session(self, session: Session) -> None:
        """Keep a new session. The same again changes nothing."""
        ...

    async def session(self, session_hash: str) -> Session | None:
        """One session."""
        ...

    async def note_session_seen(self, session_hash: str, at: datetime) -> None:
        """A session was seen."""
        ...

    async def end_session(self, session_hash: str) -> bool:
        """Forget a session; whether it was there."""
        ...

    async def add_code(self, code: LoginCode) -> None:
        """Keep a new login code. The same again changes nothing."""
        ...

    async def take_code(self, code_hash: str) -> LoginCode | None:
        """Use a login code up. Of several callers, one gets it."""
        ...


class AuditStore(Protocol):
    """Keeps the audit. An entry is written once, and settled once."""

    async def write_audit(self, *entries: AuditEntry) -> None:
        """Keep entries. The same id again changes nothing."""
        ...

    async def settle_audit(
        self, entry_id: str, outcome: AuditOutcome, detail: str | None = None, after: str | None = None
    ) -> bool:
        """Record how a change ended. Returns whether the entry was still `asked`.

        `after` is replaced if it is given.
        """
        ...

    async def audit(self, query: AuditQuery) -> AuditPage:
        """Entries, the newest first."""
        ...


class PipelineStore(Protocol):
    """Keeps pipelines. No two active ones have the same name; the name of a removed one is free."""

    async def add_pipeline(self, pipeline: Pipeline) -> None:
        """Keep a new pipeline. PipelineTakenError if its id is there, or an active one has its name."""
        ...

    async def change_pipeline(self, pipeline: Pipeline, expected: int | None = None) -> Pipeline:
        """Replace an active pipeline, and return what is stored.

        `expected`: the version that the pipeline must have; None means any. The version grows by
        one. `created_at`, `last_run` and the status stay as they are.
        PipelineNotFoundError if it is not there or removed, StaleVersionError if it has another version,
        PipelineTakenError if another one has the name.
        """
        ...

    async def remove_pipeline(self, pipeline_id: str, at: datetime, expected: int | None = None) -> Pipeline:
        """Mark a pipeline as removed, and return what is stored. Errors as for a change."""
        ...

    async def note_pipeline_run(self, pipeline_id: str, run_key: str) -> None:
        """A pipeline was run. Its version stays; a pipeline that is not there is no error."""
        ...

    async def pipeline(self, pipeline_id: str) -> Pipeline | None:
        """One pipeline, active or removed."""
        ...

    async def pipeline_named(self, name: PipelineName) -> Pipeline | None:
        """The active pipeline of a name."""
        ...

    async def pipelines(self, query: PipelineQuery) -> PipelinePage:
        """Pipelines by their names; of one name, by their ids."""
        ...
