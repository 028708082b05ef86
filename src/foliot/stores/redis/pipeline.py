"""Pipelines. The names of active ones are fields of a hash: no two can have the same."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from foliot.errors import DamagedRecordError
from foliot.errors_access import PipelineNotFoundError, PipelineTakenError
from foliot.model.access_codec import PIPELINE, from_text, to_text
from foliot.model.pipeline import REMOVED_KEPT_DAYS, Pipeline, PipelineName
from foliot.model.query import PipelinePage, PipelineQuery
from foliot.stores.pages import page_of_pipelines
from foliot.stores.redis.asking import pairs, text_of
from foliot.stores.redis.encode import Operation
from foliot.stores.redis.layout import time_text
from foliot.stores.redis.session import RedisSession
from foliot.stores.sql.codes import UNREADABLE, whole


def add_pipeline(session: RedisSession, pipeline: Pipeline) -> None:
    """Keep a new pipeline."""
    name = str(pipeline.full_name)
    news: list[Operation] = [_written(pipeline), ("HSET", "pipe_names", name, pipeline.id)]
    while not session.put([("pipes", pipeline.id), ("pipe_names", name)], news):
        owner = session.field("pipe_names", name)
        if owner is not None or session.field("pipes", pipeline.id) is not None:
            raise PipelineTakenError(name, owner or pipeline.id)


def _written(pipeline: Pipeline) -> Operation:
    return "HSET", "pipes", pipeline.id, to_text(PIPELINE, pipeline._replace(last_run=None))


def change_pipeline(session: RedisSession, pipeline: Pipeline, expected: int | None = None) -> Pipeline:
    """Replace an active pipeline. Returns what is stored."""
    while True:
        text, found = _found(session, pipeline.id)
        changed = found.checked(expected).changed_to(pipeline)
        before, name = str(found.full_name), str(changed.full_name)
        checks: list[tuple[str, ...]] = [("pipes", pipeline.id, text)]
        news = [_written(changed)]
        if name != before:
            checks.append(("pipe_names", name))
            news += [("HSET", "pipe_names", name, changed.id), ("HDEL", "pipe_names", before, "")]
        if session.put(checks, news):
            return changed
        owner = session.field("pipe_names", name)
        if owner not in (None, pipeline.id):
            raise PipelineTakenError(name, str(owner))


def remove_pipeline(
    session: RedisSession, pipeline_id: str, at: datetime, expected: int | None = None
) -> Pipeline:
    """Mark a pipeline as removed, which frees its name. Returns what is stored."""
    while True:
        text, found = _found(session, pipeline_id)
        removed = found.checked(expected).removed(at)
        gone: list[Operation] = [
            _written(removed),
            ("HDEL", "pipe_names", str(removed.full_name), ""),
            ("ZADD", "pipes_x", 0, time_text(whole(removed.updated_at)) + pipeline_id),
        ]
        if session.put([("pipes", pipeline_id, text)], gone):
            return removed


def _found(session: RedisSession, pipeline_id: str) -> tuple[str, Pipeline]:
    text = session.field("pipes", pipeline_id)
    found = _read(text, session.field("pipe_runs", pipeline_id))
    if text is None or found is None:
        raise PipelineNotFoundError(pipeline_id)
    return text, found


def _read(text: str | None, last_run: str | None) -> Pipeline | None:
    with suppress(DamagedRecordError, *UNREADABLE):
        if text is not None:
            found: Pipeline = from_text(PIPELINE, text)
            return found._replace(last_run=last_run)
    return None


def note_pipeline_run(session: RedisSession, pipeline_id: str, run_key: str) -> None:
    """A pipeline was run."""
    while (text := session.field("pipes", pipeline_id)) is not None:
        if session.put([("pipes", pipeline_id, text)], [("HSET", "pipe_runs", pipeline_id, run_key)]):
            return


def pipeline(session: RedisSession, pipeline_id: str) -> Pipeline | None:
    """One pipeline, active or removed."""
    return _read(session.field("pipes", pipeline_id), session.field("pipe_runs", pipeline_id))


def pipeline_named(session: RedisSession, name: PipelineName) -> Pipeline | None:
    """The active pipeline of a name."""
    id_ = session.field("pipe_names", str(name))
    return None if id_ is None else pipeline(session, id_)


def pipelines(session: RedisSession, query: PipelineQuery) -> PipelinePage:
    """Pipelines by their names. All are read, because there are few: a person named each of them."""
    texts, runs = session.ask_all([("HGETALL", "pipes"), ("HGETALL", "pipe_runs")])
    last = {id_: text_of(run) for id_, run in pairs(runs)}
    found = (_read(text_of(text), last.get(id_)) for id_, text in pairs(texts))
    return page_of_pipelines((one for one in found if one is not None), query)


def forget_old(session: RedisSession, now: datetime, limit: int) -> int:
    """Forget pipelines that were removed long ago, at most `limit`. Returns how many."""
    since = whole(now - timedelta(days=REMOVED_KEPT_DAYS))
    return session.forget_before("pipes", "pipes_x", since, limit, ("pipe_runs",))
