"""Pipelines: named actions that schedules refer to. They are of the source `api`, as their schedules are."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID, uuid4, uuid5
from zlib import crc32

from msgspec import UNSET, Meta

from foliot.access import mask_value
from foliot.api.answers import ActionAnswer
from foliot.api.call import Call
from foliot.api.cursor import Paged, Query
from foliot.api.definition import ActionBody, make_action
from foliot.api.ids import id_of
from foliot.api.jobs import require_source
from foliot.api.pipeline_answers import (
    PipelineAnswer,
    PipelineBody,
    PipelineList,
    PipelineParts,
    PipelineRef,
    RemovedPipeline,
)
from foliot.api.problem import Fault, ProblemError
from foliot.api.route import Finder, Group
from foliot.errors_access import PipelineNotFoundError, PipelineTakenError
from foliot.model.access import Scope
from foliot.model.pipeline import Pipeline, PipelineName, PipelineStatus
from foliot.model.shape import DATA
from foliot.model.version import API_SOURCE
from foliot.operations.pipelines import is_schedule, jobs_of, with_kind_of
from foliot.protocols import Changes
from foliot.protocols_access import PipelineQuery

KEYS = UUID("6ba7b811-9dad-11d1-80b4-00c04fd430c8")  # the namespace of what is named by an Idempotency-Key


async def find_pipeline(call: Call, text: str) -> Pipeline:
    """A pipeline, by its id."""
    found = await call.service.store.pipeline(text) if call.sees(API_SOURCE) else None
    if found is None or found.status is PipelineStatus.REMOVED:
        raise PipelineNotFoundError(text, hint="GET /api/v1/pipelines tells all")
    return found


async def named_pipeline(call: Call, *name: str) -> Pipeline:
    """A pipeline, by its namespace, layer and name."""
    full = PipelineName(*name)
    found = await call.service.store.pipeline_named(full) if call.sees(API_SOURCE) else None
    if found is None:
        raise PipelineNotFoundError(str(full), hint="GET /api/v1/pipelines tells all")
    call.object = f"pipeline:{found.id}"
    return found


async def meant_pipeline(call: Call, ref: PipelineRef) -> Pipeline:
    """The pipeline that a body means: 422 if it does not say which."""
    names = [part for part in (ref.namespace, ref.layer, ref.pipeline) if part is not None]
    if ref.pipeline_id is not None and not names:
        return await find_pipeline(call, ref.pipeline_id)
    if ref.pipeline_id is None and len(names) == len(PipelineName._fields):
        return await named_pipeline(call, *names)
    detail = "name the pipeline: either pipeline_id, or namespace, layer and pipeline"
    raise ProblemError(422, "INVALID", detail, errors=[Fault(pointer="/pipeline_id", detail=detail)])


async def _text(_: Call, text: str) -> str:
    return text


_PART = Finder(_text, str, "A part of a pipeline's name.")
routes = Group(
    "pipelines",
    {
        "pipeline": Finder(find_pipeline, lambda found: f"pipeline:{found.id}", "The id of a pipeline."),
        "namespace": _PART,
        "layer": _PART,
        "name": _PART,
    },
)
_NAMED = "/pipelines/{namespace}/{layer}/{name}"


class PipelinesQuery(Paged, frozen=True):
    """Which pipelines. `search` is a part of `namespace/layer/name`."""

    namespace: Annotated[str, Meta(max_length=128)] | None = None
    layer: Annotated[str, Meta(max_length=128)] | None = None
    search: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


class RemovalQuery(Query, frozen=True):
    """`cascade`: remove the schedules, too. Without it they stay, and their runs fail."""

    cascade: bool = False


@routes.get("/pipelines", Scope.READ)
async def list_pipelines(call: Call, query: PipelinesQuery) -> PipelineList:
    """List pipelines by their names."""
    if not call.sees(API_SOURCE):
        return PipelineList(pipelines=(), next=None)
    page = await call.service.store.pipelines(
        PipelineQuery(
            query.namespace, query.layer, query.search, after=call.place(query, str) or "", limit=query.limit
        )
    )
    shown = tuple(show_pipeline(call, found, shows_payload=False) for found in page)
    return PipelineList(pipelines=shown, next=page.next and call.cursor(query, page.next))


@routes.post("/pipelines", Scope.WRITE, status=201)
async def create_pipeline(call: Call, body: PipelineBody) -> PipelineAnswer:
    """Make a pipeline. 409 if there is one of that name."""
    require_source(call)
    key, store, now = call.key, call.service.store, await call.service.store.now()
    new = str(uuid4() if key is None else uuid5(KEYS, f"pipeline:{call.identity.token_id}:{key}"))
    pipeline = Pipeline(
        new, body.namespace, body.layer, body.name, make_action(body.action, call.identity), now, now,
        description=body.description, type=body.type,
    )  # fmt: skip
    if key is not None and (earlier := await store.pipeline(new)) is not None:
        return _replayed(call, pipeline, earlier)
    if call.dry_run:
        await _refuse_taken(call, pipeline)
    else:
        await store.add_pipeline(pipeline)
    call.object = f"pipeline:{new}"
    call.headers["Location"] = call.link("pipelines", new)
    return _changed(call, pipeline)


@routes.get("/pipelines/{pipeline}", Scope.READ)
async def get_pipeline(call: Call, pipeline: Pipeline) -> PipelineAnswer:
    """Show a pipeline."""
    call.tag(pipeline.version, crc32((pipeline.last_run or "").encode()))
    return show_pipeline(call, pipeline)


@routes.get(_NAMED, Scope.READ)
async def get_named_pipeline(call: Call, namespace: str, layer: str, name: str) -> PipelineAnswer:
    """Show a pipeline, by its name."""
    return await get_pipeline(call, await named_pipeline(call, namespace, layer, name))


@routes.put("/pipelines/{pipeline}", Scope.WRITE)
async def replace_pipeline(call: Call, pipeline: Pipeline, body: PipelineBody) -> PipelineAnswer:
    """Change all of a pipeline."""
    given = {name: getattr(body, name) for name in body.__struct_fields__}
    return await _change(call, pipeline, given)


@routes.put(_NAMED, Scope.WRITE)
async def replace_named_pipeline(
    call: Call, namespace: str, layer: str, name: str, body: PipelineBody
) -> PipelineAnswer:
    """Change all of a pipeline, by its name."""
    return await replace_pipeline(call, await named_pipeline(call, namespace, layer, name), body)


@routes.patch("/pipelines/{pipeline}", Scope.WRITE)
async def patch_pipeline(call: Call, pipeline: Pipeline, body: PipelineParts) -> PipelineAnswer:
    """Change some parts of a pipeline."""
    given = {name: getattr(body, name) for name in body.__struct_fields__}
    return await _change(call, pipeline, {name: value for name, value in given.items() if value is not UNSET})


@routes.patch(_NAMED, Scope.WRITE)
async def patch_named_pipeline(
    call: Call, namespace: str, layer: str, name: str, body: PipelineParts
) -> PipelineAnswer:
    """Change some parts of a pipeline, by its name."""
    return await patch_pipeline(call, await named_pipeline(call, namespace, layer, name), body)


@routes.delete("/pipelines/{pipeline}", Scope.WRITE, status=204)
async def remove_pipeline(call: Call, pipeline: Pipeline, query: RemovalQuery) -> RemovedPipeline | None:
    """Remove a pipeline. Its schedules stay, and their runs fail; with `cascade` they are removed."""
    require_source(call)
    pipeline.checked(call.expected)
    store = call.service.store
    views = await jobs_of(store, pipeline.id) if query.cascade else []
    names = tuple(view.key.partition("/")[2] for view in views)
    if call.dry_run:
        schedules = tuple(view.key.partition("/")[2] for view in views if is_schedule(view))
        return RemovedPipeline(id=pipeline.id, schedules=schedules)
    call.before = _fields(pipeline)
    if names:
        await call.ops.define(API_SOURCE, Changes(removed=names), check=lambda *_: None)
    await store.remove_pipeline(pipeline.id, await store.now(), call.expected)
    return None


@routes.delete(_NAMED, Scope.WRITE, status=204)
async def remove_named_pipeline(
    call: Call, namespace: str, layer: str, name: str, query: RemovalQuery
) -> RemovedPipeline | None:
    """Remove a pipeline, by its name."""
    return await remove_pipeline(call, await named_pipeline(call, namespace, layer, name), query)


# -- what they share -------------------------------------------------------------------------------


async def _change(call: Call, pipeline: Pipeline, given: dict[str, Any]) -> PipelineAnswer:
    require_source(call)
    if isinstance(action := given.get("action"), ActionBody):
        given["action"] = make_action(action, call.identity)
    store = call.service.store
    wished = pipeline._replace(**given, updated_at=await store.now())
    call.before = _fields(pipeline)
    if call.dry_run:
        pipeline.checked(call.expected)
        await _refuse_taken(call, wished)
        return _changed(call, pipeline.changed_to(wished))
    changed = await store.change_pipeline(wished, call.expected)
    if changed.action.kind != pipeline.action.kind:
        views = await jobs_of(store, pipeline.id)
        jobs = tuple(with_kind_of(view.record.job, changed) for view in views if view.record is not None)
        await call.ops.define(API_SOURCE, Changes(declared=jobs), check=lambda *_: None)
    return _changed(call, changed)


async def _refuse_taken(call: Call, pipeline: Pipeline) -> None:
    found = await call.service.store.pipeline_named(pipeline.full_name)
    if found is not None and found.id != pipeline.id:
        raise PipelineTakenError(str(pipeline.full_name), found.id)


def _replayed(call: Call, pipeline: Pipeline, earlier: Pipeline) -> PipelineAnswer:
    """The answer to a request that was sent before, under the same Idempotency-Key."""
    is_same = _fields(pipeline) == _fields(earlier)
    if not is_same and earlier.version == 1:
        detail = "the Idempotency-Key was used for another body"
        raise ProblemError(422, "KEY_REUSED", detail, hint="use a new key for each new pipeline")
    call.replayed()
    call.headers["Location"] = call.link("pipelines", earlier.id)
    return _changed(call, earlier)


def _fields(pipeline: Pipeline) -> dict[str, Any]:
    return {
        **pipeline.full_name._asdict(),
        "type": pipeline.type,
        "description": pipeline.description,
        "action": {"kind": pipeline.action.kind, "payload": mask_value(DATA.write(pipeline.action.data))},
    }


def _changed(call: Call, pipeline: Pipeline) -> PipelineAnswer:
    call.after = {"version": pipeline.version, **_fields(pipeline)}
    call.tag(pipeline.version, 0)
    return show_pipeline(call, pipeline)


def show_pipeline(call: Call, pipeline: Pipeline, *, shows_payload: bool = True) -> PipelineAnswer:
    """A pipeline as it is sent. Its payload is for those who may operate, and not for lists."""
    shows_payload = shows_payload and call.identity.allows(Scope.OPERATE, API_SOURCE)
    action = _fields(pipeline)["action"]
    own = call.link("pipelines", pipeline.id)
    return PipelineAnswer(
        id=pipeline.id,
        **pipeline.full_name._asdict(),
        description=pipeline.description,
        type=pipeline.type,
        action=ActionAnswer(kind=action["kind"], payload=action["payload"] if shows_payload else None),
        status=pipeline.status.value,
        last_run=pipeline.last_run and id_of(pipeline.last_run),
        version=pipeline.version,
        created_at=pipeline.created_at,
        updated_at=pipeline.updated_at,
        links={
            "self": own,
            "schedules": f"{call.link('schedules')}?pipeline_id={pipeline.id}",
            "runs": f"{call.link('runs')}?pipeline_id={pipeline.id}",
        },
        dry_run=call.dry_run,
    )
