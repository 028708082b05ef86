"""Rows of pipelines. The names of active pipelines have a table of their own, with the name as key.

Lists are read from this table. A pipeline that is added or renamed first takes its name there.
Another call that takes the same name waits, and then finds it taken. So names are unique.
"""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime, timedelta

from foliot.errors import DamagedRecordError
from foliot.errors_access import PipelineNotFoundError, PipelineTakenError
from foliot.model.access_codec import PIPELINE, from_text, to_text
from foliot.model.pipeline import REMOVED_KEPT_DAYS, Pipeline, PipelineName, PipelineStatus
from foliot.model.query import MOST_LOOKED_AT, PipelinePage, PipelineQuery, bad_place
from foliot.stores.sql.codes import UNREADABLE, whole
from foliot.stores.sql.dialect import Dialect
from foliot.stores.sql.old_rows import OldRows, forget_rows
from foliot.stores.sql.rows import Row
from foliot.stores.sql.session import Session

# ruff: noqa: S608 - made of constants only

_IS_NAMED = "namespace = :namespace AND layer = :layer AND name = :name"
ADD = """
    INSERT INTO pipelines (id, namespace, layer, name, is_removed, updated_at, text)
    VALUES (:id, :namespace, :layer, :name, 0, :at, :text) ON CONFLICT DO NOTHING
"""
CHANGE = """
    UPDATE pipelines SET namespace = :namespace, layer = :layer, name = :name, is_removed = :removed,
    updated_at = :at, text = :text WHERE id = :id
"""
NOTE_RUN = "UPDATE pipelines SET last_run = :run WHERE id = :id"
ONE = "SELECT p.text, p.last_run FROM pipelines AS p WHERE p.id = :id"
HELD = f"{ONE} FOR UPDATE OF p"
THESE = "SELECT p.text, p.last_run FROM pipelines AS p WHERE p.id IN :texts"
TAKE_NAME = """
    INSERT INTO pipeline_names (namespace, layer, name, id) VALUES (:namespace, :layer, :name, :id)
    ON CONFLICT DO NOTHING
"""
WHOSE_NAME = f"SELECT n.id FROM pipeline_names AS n WHERE {_IS_NAMED}"
FREE_NAME = f"DELETE FROM pipeline_names WHERE {_IS_NAMED} AND id = :id"
ACTIVE = """
    SELECT n.namespace, n.layer, n.name, n.id FROM pipeline_names AS n
    WHERE (n.namespace, n.layer, n.name) > (:namespace, :layer, :name)
    ORDER BY n.namespace, n.layer, n.name LIMIT :most
"""
ALL = """
    SELECT p.namespace, p.layer, p.name, p.id FROM pipelines AS p INDEXED BY pipelines_by_name
    WHERE (p.namespace, p.layer, p.name, p.id) > (:namespace, :layer, :name, :id)
    ORDER BY p.namespace, p.layer, p.name, p.id LIMIT :most
"""
OLD = OldRows("pipelines", "id", "updated_at", "pipelines_removed", "o.is_removed = 1")
_Place = tuple[str, ...]  # namespace, layer, name, id


def add_pipeline(session: Session, pipeline: Pipeline) -> None:
    """Keep a new pipeline."""
    text = to_text(PIPELINE, pipeline)
    _take_name(session, pipeline)
    if session.dialect.run(ONE, id=pipeline.id).fetchone() is not None:
        raise PipelineTakenError(str(pipeline.full_name), pipeline.id)
    session.dialect.run(ADD, **_columns(pipeline), text=text)
    if session.dialect.run(ONE, id=pipeline.id).fetchone() != (text, None):  # another call was quicker
        raise PipelineTakenError(str(pipeline.full_name), pipeline.id)


def change_pipeline(session: Session, pipeline: Pipeline, expected: int | None = None) -> Pipeline:
    """Replace an active pipeline. Returns what is stored."""
    found = _held(session, pipeline.id).checked(expected)
    changed = found.changed_to(pipeline)
    if changed.full_name != found.full_name:
        _take_name(session, changed)
        session.dialect.run(FREE_NAME, **found.full_name._asdict(), id=found.id)
    return _write(session, changed)


def remove_pipeline(
    session: Session, pipeline_id: str, at: datetime, expected: int | None = None
) -> Pipeline:
    """Mark a pipeline as removed, which frees its name. Returns what is stored."""
    removed = _held(session, pipeline_id).checked(expected).removed(at)
    session.dialect.run(FREE_NAME, **removed.full_name._asdict(), id=removed.id)
    return _write(session, removed)


def note_pipeline_run(session: Session, pipeline_id: str, run_key: str) -> None:
    """A pipeline was run."""
    session.dialect.run(NOTE_RUN, id=pipeline_id, run=run_key)


def pipeline(session: Session, pipeline_id: str) -> Pipeline | None:
    """One pipeline, active or removed."""
    return _read(session.dialect.run(ONE, id=pipeline_id).fetchone())


def pipeline_named(session: Session, name: PipelineName) -> Pipeline | None:
    """The active pipeline of a name."""
    row = session.dialect.run(WHOSE_NAME, **name._asdict()).fetchone()
    return None if row is None else pipeline(session, row[0])


def pipelines(session: Session, query: PipelineQuery) -> PipelinePage:
    """Pipelines by their names."""
    ids, following = _find(session.dialect, query)
    rows = session.dialect.among(THESE, ids).fetchall() if ids else []
    found = {one.id: one for one in map(_read, rows) if one is not None}
    return PipelinePage((found[id_] for id_ in ids if id_ in found), following)


def forget_old(dialect: Dialect, now: datetime, limit: int) -> int:
    """Forget pipelines that were removed long ago, at most `limit`. Returns how many."""
    return forget_rows(dialect, OLD, now - timedelta(days=REMOVED_KEPT_DAYS), limit)


# -- inside ----------------------------------------------------------------------------------------


def _take_name(session: Session, pipeline: Pipeline) -> None:
    name = pipeline.full_name
    session.dialect.run(TAKE_NAME, **name._asdict(), id=pipeline.id)
    row = session.dialect.run(WHOSE_NAME, **name._asdict()).fetchone()
    if row != (pipeline.id,):
        raise PipelineTakenError(str(name), row[0] if row else "")


def _held(session: Session, pipeline_id: str) -> Pipeline:
    found = _read(session.dialect.run(HELD, id=pipeline_id).fetchone())
    if found is None:
        raise PipelineNotFoundError(pipeline_id)
    return found


def _write(session: Session, pipeline: Pipeline) -> Pipeline:
    is_removed = int(pipeline.status is PipelineStatus.REMOVED)
    text = to_text(PIPELINE, pipeline)
    session.dialect.run(CHANGE, **_columns(pipeline), removed=is_removed, text=text)
    return pipeline


def _columns(pipeline: Pipeline) -> dict[str, object]:
    return {**pipeline.full_name._asdict(), "id": pipeline.id, "at": whole(pipeline.updated_at)}


def _read(row: Row | None) -> Pipeline | None:
    with suppress(DamagedRecordError, *UNREADABLE):
        if row is not None:
            found: Pipeline = from_text(PIPELINE, row[0])
            return found._replace(last_run=row[1])
    return None


def _find(dialect: Dialect, query: PipelineQuery) -> tuple[list[str], str | None]:
    """The ids of a page, and the position after which the next page begins."""
    place, ids, looked = _first(query), list[str](), 0
    sql, most = ALL if query.with_removed else ACTIVE, query.limit + 1
    while looked < MOST_LOOKED_AT:
        rows = dialect.run(sql, **dict(zip(_NAMED, place, strict=True)), most=most).fetchall()
        looked += len(rows)
        for row in rows:
            if _is_beyond(row, query):
                return ids, None
            if len(ids) == query.limit:
                return ids, json.dumps(place) if ids else None
            place = row
            if _is_meant(row, query):
                ids.append(row[3])
        if len(rows) < most:
            return ids, None
        most = min(4 * most, MOST_LOOKED_AT)
    return ids, json.dumps(place)


_NAMED = ("namespace", "layer", "name", "id")


def _first(query: PipelineQuery) -> _Place:
    """The place after which to look."""
    if not query.after:
        return query.namespace or "", (query.layer or "") if query.namespace else "", "", ""
    try:
        place = json.loads(query.after)
    except ValueError:
        raise bad_place(query.after) from None
    if not isinstance(place, list) or len(place) != len(_NAMED) or set(map(type, place)) != {str}:
        raise bad_place(query.after)
    return tuple(place)


def _is_beyond(place: _Place, query: PipelineQuery) -> bool:
    if query.namespace is None:
        return False
    return place[0] > query.namespace or (query.layer is not None and place[1] > query.layer)


def _is_meant(place: _Place, query: PipelineQuery) -> bool:
    return (
        query.namespace in (None, place[0])
        and query.layer in (None, place[1])
        and (query.search is None or query.search.casefold() in "/".join(place[:3]).casefold())
    )
