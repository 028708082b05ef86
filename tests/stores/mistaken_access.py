"""More stores with one mistake each: about tokens, the audit and pipelines."""

from __future__ import annotations

from datetime import datetime, timedelta

from foliot.model.pipeline import PipelineStatus
from foliot.protocols_access import (
    AuditEntry,
    AuditOutcome,
    AuditPage,
    AuditQuery,
    LoginCode,
    Pipeline,
    PipelineName,
    Session,
    Token,
)
from foliot.stores.memory import MemoryStore


class OverwritesTokens(MemoryStore):
    """The last token of an id counts."""

    async def add_token(self, token: Token) -> bool:
        self._tokens[token.id] = token
        return True


class ForgetsLimits(MemoryStore):
    """Keeps a token without the sources that it is limited to."""

    async def add_token(self, token: Token) -> bool:
        return await super().add_token(token._replace(sources=None))


class MovesBack(MemoryStore):
    """The last writer of a time counts, and not the last time."""

    async def note_token_used(self, token_id: str, at: datetime) -> None:
        if token_id in self._tokens:
            self._tokens[token_id] = self._tokens[token_id]._replace(last_used_at=at)

    async def note_session_seen(self, session_hash: str, at: datetime) -> None:
        if session_hash in self._sessions:
            self._sessions[session_hash] = self._sessions[session_hash]._replace(seen_at=at)


class LeavesSessions(MemoryStore):
    """A token that is revoked leaves its sessions and codes."""

    async def revoke_token(self, token_id: str) -> bool:
        return self._tokens.pop(token_id, None) is not None


class RevivesSessions(MemoryStore):
    """A session that has ended comes back when it is seen."""

    async def note_session_seen(self, session_hash: str, at: datetime) -> None:
        self._sessions.setdefault(session_hash, Session(session_hash, "t1", at, at))
        await super().note_session_seen(session_hash, at)


class KeepsCodes(MemoryStore):
    """A code can be used again."""

    async def take_code(self, code_hash: str) -> LoginCode | None:
        return self._codes.get(code_hash)


class ForgetsNothing(MemoryStore):
    """Sessions, codes, entries and removed pipelines stay for ever."""

    def forget_old(self, now: datetime, limit: int) -> int:  # noqa: ARG002 - see the base
        return 0


class ForgetsAllAtOnce(MemoryStore):
    """Does not heed the limit."""

    def forget_old(self, now: datetime, limit: int) -> int:
        return super().forget_old(now, max(limit, 1000))


class ForgetsWhatIsUsed(MemoryStore):
    """Removes what was changed long ago, be it active."""

    def forget_old(self, now: datetime, limit: int) -> int:
        old = [one.id for one in self._pipelines.values() if one.updated_at <= now - timedelta(days=400)]
        for id_ in old[:limit]:
            del self._pipelines[id_]
        return len(old[:limit])


class WritesAgain(MemoryStore):
    """The last entry of an id counts."""

    async def write_audit(self, *entries: AuditEntry) -> None:
        for entry in entries:
            self._audit[entry.id] = entry


class WritesTheFirst(MemoryStore):
    """Of several entries it keeps one."""

    async def write_audit(self, *entries: AuditEntry) -> None:
        await super().write_audit(*entries[:1])


class SettlesAgain(MemoryStore):
    """How a change ended may be told otherwise."""

    async def settle_audit(
        self, entry_id: str, outcome: AuditOutcome, detail: str | None = None, after: str | None = None
    ) -> bool:
        if entry_id in self._audit:
            self._audit[entry_id] = self._audit[entry_id]._replace(outcome=AuditOutcome.ASKED)
        return await super().settle_audit(entry_id, outcome, detail, after)


class ForgetsThePlan(MemoryStore):
    """What was planned is lost when it is not told again."""

    async def settle_audit(
        self, entry_id: str, outcome: AuditOutcome, detail: str | None = None, after: str | None = None
    ) -> bool:
        is_settled = await super().settle_audit(entry_id, outcome, detail, after)
        if is_settled:
            self._audit[entry_id] = self._audit[entry_id]._replace(after=after)
        return is_settled


class FindsByPrefix(MemoryStore):
    """An actor is found by how its name begins."""

    async def audit(self, query: AuditQuery) -> AuditPage:
        found = await super().audit(query._replace(actor=None))
        return AuditPage((one for one in found if one.actor.startswith(query.actor or "")), found.next)


class SharesNames(MemoryStore):
    """Two pipelines may have one name."""

    def _refuse_taken(self, pipeline: Pipeline) -> None:
        pass


class KeepsNamesOfTheRemoved(MemoryStore):
    """The name of a pipeline that was removed is not free."""

    async def pipeline_named(self, name: PipelineName) -> Pipeline | None:
        return next((one for one in self._pipelines.values() if one.full_name == name), None)


class IgnoresVersions(MemoryStore):
    """The last change counts, whatever it was based on."""

    def _active(self, pipeline_id: str, expected: int | None) -> Pipeline:  # noqa: ARG002 - see the base
        return super()._active(pipeline_id, None)


class CountsRuns(MemoryStore):
    """A run changes the version."""

    async def note_pipeline_run(self, pipeline_id: str, run_key: str) -> None:
        await super().note_pipeline_run(pipeline_id, run_key)
        if pipeline_id in self._pipelines:
            found = self._pipelines[pipeline_id]
            self._pipelines[pipeline_id] = found._replace(version=found.version + 1)


class RevivesPipelines(MemoryStore):
    """A pipeline that was removed can be changed."""

    def _active(self, pipeline_id: str, expected: int | None) -> Pipeline:
        if pipeline_id in self._pipelines:
            found = self._pipelines[pipeline_id]
            self._pipelines[pipeline_id] = found._replace(status=PipelineStatus.ACTIVE)
        return super()._active(pipeline_id, expected)
