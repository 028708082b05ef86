"""Copies what is no job: tokens, the audit, pipelines. Each function returns how many it has copied."""

from __future__ import annotations

from foliot.model.pipeline import PipelineStatus
from foliot.model.query import AuditQuery, PipelineQuery, TokenQuery
from foliot.wiring import FullStore

_PAGE = 500


async def copy_tokens(old: FullStore, new: FullStore) -> int:
    """Copy tokens. They work in the copy, too, because a store keeps only their hashes."""
    query, count = TokenQuery(limit=_PAGE), 0
    while True:
        page = await old.tokens(query)
        for token in page:
            await new.add_token(token._replace(last_used_at=None))
            if token.last_used_at is not None:
                await new.note_token_used(token.id, token.last_used_at)
        count += len(page)
        if page.next is None:
            return count
        query = query._replace(after=page.next)


async def copy_audit(old: FullStore, new: FullStore) -> int:
    """Copy the audit, entry by entry."""
    query, count = AuditQuery(limit=_PAGE), 0
    while True:
        page = await old.audit(query)
        await new.write_audit(*page)
        count += len(page)
        if page.next is None:
            return count
        query = query._replace(after=page.next)


async def copy_pipelines(old: FullStore, new: FullStore) -> int:
    """Copy active pipelines. A removed pipeline has no schedule any more, and is not copied."""
    query, count = PipelineQuery(limit=_PAGE), 0
    while True:
        page = await old.pipelines(query)
        for pipeline in page:
            if pipeline.status is PipelineStatus.ACTIVE:
                await new.add_pipeline(pipeline)
                count += 1
                if pipeline.last_run is not None:
                    await new.note_pipeline_run(pipeline.id, pipeline.last_run)
        if page.next is None:
            return count
        query = query._replace(after=page.next)
