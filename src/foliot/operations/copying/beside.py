"""Copies what is no job: tokens, the audit, pipelines. Each function returns how many it has copied."""

from __future__ import annotations

from foliot.model.pipeline import PipelineStatus
from foliot.model.query import AuditQuery, PipelineQuery, TokenQuery
from foliot.operations.copying.walk import entries_of, pages_of
from foliot.wiring import FullStore


async def copy_tokens(old: FullStore, new: FullStore) -> int:
    """Copy tokens. They work in the copy, too, because a store keeps only their hashes."""
    count = 0
    async for token in entries_of(old.tokens, TokenQuery()):
        await new.add_token(token._replace(last_used_at=None))
        if token.last_used_at is not None:
            await new.note_token_used(token.id, token.last_used_at)
        count += 1
    return count


async def copy_audit(old: FullStore, new: FullStore) -> int:
    """Copy the audit, page by page."""
    count = 0
    async for page in pages_of(old.audit, AuditQuery()):
        await new.write_audit(*page)
        count += len(page)
    return count


async def copy_pipelines(old: FullStore, new: FullStore) -> int:
    """Copy active pipelines. A removed pipeline has no schedule any more, and is not copied."""
    count = 0
    async for pipeline in entries_of(old.pipelines, PipelineQuery()):
        if pipeline.status is PipelineStatus.ACTIVE:
            await new.add_pipeline(pipeline)
            count += 1
            if pipeline.last_run is not None:
                await new.note_pipeline_run(pipeline.id, pipeline.last_run)
    return count
