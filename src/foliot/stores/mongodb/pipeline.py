"""Pipelines. A unique index keeps the names of active pipelines unique."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from pymongo.errors import DuplicateKeyError

from foliot.errors import DamagedRecordError
from foliot.errors_access import PipelineNotFoundError, PipelineTakenError
from foliot.model.access_codec import PIPELINE, from_text, to_text
from foliot.model.pipeline import REMOVED_KEPT_DAYS, Pipeline, PipelineName
from foliot.model.query import PipelinePage, PipelineQuery
from foliot.stores.mongodb.access import forget_before
from foliot.stores.mongodb.connection import Document
from foliot.stores.mongodb.session import MongoSession
from foliot.stores.pages import page_of_pipelines
from foliot.stores.sql.codes import UNREADABLE, whole


def add_pipeline(session: MongoSession, pipeline: Pipeline) -> None:
    """Keep a new pipeline."""
    try:
        session.ready("pipelines").insert_one({"_id": pipeline.id, **_row(pipeline)})
    except DuplicateKeyError:
        raise _taken(session, pipeline) from None


def _row(pipeline: Pipeline) -> Document:
    text = to_text(PIPELINE, pipeline._replace(last_run=None))
    return {"text": text, "name": str(pipeline.full_name), "active": True}


def _taken(session: MongoSession, pipeline: Pipeline) -> PipelineTakenError:
    name = str(pipeline.full_name)
    owner = session["pipelines"].find_one({"name": name, "active": True}, {"_id": 1})
    return PipelineTakenError(name, owner["_id"] if owner else pipeline.id)


def change_pipeline(session: MongoSession, pipeline: Pipeline, expected: int | None = None) -> Pipeline:
    """Replace an active pipeline. Returns what is stored."""
    while True:
        text, found = _found(session, pipeline.id)
        changed = found.checked(expected).changed_to(pipeline)
        wanted = {"_id": pipeline.id, "text": text}
        try:
            change = session["pipelines"].update_one(wanted, {"$set": _row(changed)})
        except DuplicateKeyError:
            raise _taken(session, changed) from None
        if change.matched_count:
            return changed


def remove_pipeline(
    session: MongoSession, pipeline_id: str, at: datetime, expected: int | None = None
) -> Pipeline:
    """Mark a pipeline as removed, which frees its name. Returns what is stored."""
    while True:
        text, found = _found(session, pipeline_id)
        removed = found.checked(expected).removed(at)
        row = {**_row(removed), "active": False, "gone": whole(removed.updated_at)}
        if session["pipelines"].update_one({"_id": pipeline_id, "text": text}, {"$set": row}).matched_count:
            return removed


def _found(session: MongoSession, pipeline_id: str) -> tuple[str, Pipeline]:
    document = session["pipelines"].find_one({"_id": pipeline_id})
    found = _read(document)
    if document is None or found is None:
        raise PipelineNotFoundError(pipeline_id)
    return document["text"], found


def _read(document: Document | None) -> Pipeline | None:
    with suppress(DamagedRecordError, *UNREADABLE):
        if document is not None:
            found: Pipeline = from_text(PIPELINE, document["text"])
            return found._replace(last_run=document.get("last_run"))
    return None


def note_pipeline_run(session: MongoSession, pipeline_id: str, run_key: str) -> None:
    """A pipeline was run."""
    session["pipelines"].update_one({"_id": pipeline_id}, {"$set": {"last_run": run_key}})


def pipeline(session: MongoSession, pipeline_id: str) -> Pipeline | None:
    """One pipeline, active or removed."""
    return _read(session["pipelines"].find_one({"_id": pipeline_id}))


def pipeline_named(session: MongoSession, name: PipelineName) -> Pipeline | None:
    """The active pipeline of a name."""
    return _read(session["pipelines"].find_one({"name": str(name), "active": True}))


def pipelines(session: MongoSession, query: PipelineQuery) -> PipelinePage:
    """Pipelines by their names. All are read, because there are few: a person named each of them."""
    found = map(_read, session["pipelines"].find())
    return page_of_pipelines((one for one in found if one is not None), query)


def forget_old(session: MongoSession, now: datetime, limit: int) -> int:
    """Forget pipelines that were removed long ago, at most `limit`. Returns how many."""
    since = whole(now - timedelta(days=REMOVED_KEPT_DAYS))
    return forget_before(session, "pipelines", "gone", since, limit)
