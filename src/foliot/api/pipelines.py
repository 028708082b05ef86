"""Pipelines: named actions that schedules refer to. They are of the source `api`, as their schedules are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Annotated, Any
from zlib import crc32

from msgspec import UNSET, Meta

from foliot.access import mask_value
from foliot.api.answers import ActionAnswer
from foliot.api.call import Call
from foliot.api.cursor import Paged, Query
from foliot.api.definition import ActionBody, make_action
from foliot.api.ids import id_of
from foliot.api.jobs import changed_meanwhile, note_definitions, require_source
from foliot.api.pipeline_answers import (
    MOST_COUNTED,
    PipelineAnswer,
    PipelineBody,
    PipelineList,
    PipelineParts,
    PipelineRef,
    RemovedPipeline,
)
from foliot.api.problem import Fault, ProblemError
from foliot.api.route import Finder, Group
from foliot.errors import InvalidJobError
from foliot.errors_access import PipelineNotFoundError, PipelineTakenError
from foliot.model.access import Scope
from foliot.model.job import Action
from foliot.model.pipeline import Pipeline, PipelineName, PipelineStatus
from foliot.model.shape import DATA
from foliot.model.state import Record
from foliot.model.version import API_SOURCE
from foliot.operations.pipelines import is_schedule, jobs_of, with_kind_of
from foliot.protocols import Changes
from foliot.protocols_access import PipelineQuery


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
    return found


async def find_named(call: Call, _: str) -> Pipeline:
    """The pipeline that all three parts in braces name."""
    return await named_pipeline(call, *call.request.path_params.values())


async def meant_pipeline(call: Call, ref: PipelineRef) -> Pipeline:
    """The pipeline that a body means: 422 if it does not say which."""
    names = [part for part in (ref.namespace, ref.layer, ref.pipeline) if part is not None]
    if ref.pipeline_id is not None and not names:
        return await find_pipeline(call, ref.pipeline_id)
    if ref.pipeline_id is None and len(names) == len(PipelineName._fields):
        return await named_pipeline(call, *names)
    detail = "name the pipeline: either pipeline_id, or namespace, layer and pipeline"
    raise ProblemError(422, "INVALID", detail, errors=[Fault(pointer="/pipeline_id", detail=detail)])


def named_in(_: Call, ref: PipelineRef) -> str:
    """What the audit calls the pipeline that a body means."""
    return f"pipeline:{ref.pipeline_id or '/'.join(map(str, (ref.namespace, ref.layer, ref.pipeline)))}"


async def _text(_: Call, text: str) -> str:
    return text


def _fields(pipeline: Pipeline) -> dict[str, Any]:
    return {
        **pipeline.full_name._asdict(),
        "type": pipeline.type,
        "description": pipeline.description,
        "action": {"kind": pipeline.action.kind, "payload": mask_value(DATA.write(pipeline.action.data))},
    }


def _object(pipeline: Pipeline) -> str:
    return f"pipeline:{pipeline.id}"


routes = Group(
    "pipelines",
    {
        "pipeline": Finder(find_pipeline, _object, "The id of a pipeline.", _fields),
        "namespace": Finder(find_named, _object, "The namespace of a pipeline.", _fields),
        "layer": Finder(_text, str, "Its layer."),
        "name": Finder(_text, str, "Its name."),
    },
)
Handler = Callable[..., Awaitable[Any]]


def _by_id_or_name(verb: str, scope: Scope, **options: Any) -> Callable[[Handler], Handler]:
    """A route for a pipeline by its id, and the same by its namespace, layer and name."""

    def register(handler: Handler) -> Handler:
        async def by_name(call: Call, namespace: Pipeline, layer: str, name: str, **given: Any) -> Any:
            del layer, name  # they were used to find it
            return await handler(call, namespace, **given)

        by_name.__annotations__ = handler.__annotations__
        by_name.__name__, by_name.__doc__ = f"{handler.__name__}_by_name", handler.__doc__
        routes.add(verb, "/pipelines/{namespace}/{layer}/{name}", scope, **options)(by_name)
        return routes.add(verb, "/pipelines/{pipeline}", scope, **options)(handler)

    return register


class PipelinesQuery(Paged, frozen=True):
    """Which pipelines. `search` is a part of `namespace/layer/name`."""

    namespace: Annotated[str, Meta(max_length=128)] | None = None
    layer: Annotated[str, Meta(max_length=128)] | None = None
    search: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    offset: Annotated[int, Meta(ge=0, le=MOST_COUNTED)] = 0


class RemovalQuery(Query, frozen=True):
    """`cascade`: remove the schedules, too. Without it they stay, and their runs fail."""

    cascade: bool = False


@routes.get("/pipelines", Scope.READ)
async def list_pipelines(call: Call, query: PipelinesQuery) -> PipelineList:
    """List pipelines by their names."""
    if not call.sees(API_SOURCE):
        return PipelineList(pipelines=(), total=0, next=None)
    after, store = call.place(query, str) or "", call.service.store
    offset = 0 if after else query.offset
    asked = PipelineQuery(query.namespace, query.layer, query.search, after=after, limit=offset + query.limit)
    page = await store.pipelines(asked)
    total: int | None = len(page)
    if after or page.next is not None:

        async def count() -> int | None:
            every = await store.pipelines(asked._replace(after="", limit=MOST_COUNTED))
            return len(every) if every.next is None else None

        total = await call.service.totals.of(("pipelines", query.namespace, query.layer, query.search), count)
    shown = tuple(show_pipeline(call, found, shows_payload=False) for found in page[offset:])
    return PipelineList(
        pipelines=shown,
        total=total,
        next=page.next and call.cursor(query, page.next),
    )


@routes.post("/pipelines", Scope.WRITE, status=201, object=lambda call, _: f"pipeline:{call.new_id}")
async def create_pipeline(call: Call, body: PipelineBody) -> PipelineAnswer:
    """Make a pipeline. 409 if there is one of that name."""
    require_source(call)
    key, new, store = call.key, call.new_id, call.service.store
    now = await store.now()
    pipeline = Pipeline(
        new, body.namespace, body.layer, body.name, _action(call, body.action), now, now,
        description=body.description, type=body.type,
    )  # fmt: skip
    if key is not None and (earlier := await store.pipeline(new)) is not None:
        return _replayed(call, pipeline, earlier)
    if call.dry_run:
        await _refuse_taken(call, pipeline)
    else:
        await store.add_pipeline(pipeline)
    call.headers["Location"] = call.link("pipelines", new)
    return _changed(call, pipeline)


@_by_id_or_name("GET", Scope.READ)
async def get_pipeline(call: Call, pipeline: Pipeline) -> PipelineAnswer:
    """Show a pipeline."""
    call.tag(pipeline.version, crc32((pipeline.last_run or "").encode()))
    return show_pipeline(call, pipeline)


@_by_id_or_name("PUT", Scope.WRITE)
async def replace_pipeline(call: Call, pipeline: Pipeline, body: PipelineBody) -> PipelineAnswer:
    """Change all of a pipeline."""
    given = {name: getattr(body, name) for name in body.__struct_fields__}
    return await _change(call, pipeline, given)


@_by_id_or_name("PATCH", Scope.WRITE)
async def patch_pipeline(call: Call, pipeline: Pipeline, body: PipelineParts) -> PipelineAnswer:
    """Change some parts of a pipeline."""
    given = {name: getattr(body, name) for name in body.__struct_fields__}
    return await _change(call, pipeline, {name: value for name, value in given.items() if value is not UNSET})


@_by_id_or_name("DELETE", Scope.WRITE, status=204)
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
    if names:
        removed = await call.ops.define(API_SOURCE, Changes(removed=names), check=lambda *_: None)
        note_definitions(call, removed)
    await store.remove_pipeline(pipeline.id, await store.now(), call.expected)
    return None


# -- what they share -------------------------------------------------------------------------------


async def _change(call: Call, pipeline: Pipeline, given: dict[str, Any]) -> PipelineAnswer:
    require_source(call)
    if isinstance(action := given.get("action"), ActionBody):
        given["action"] = _action(call, action)
    store = call.service.store
    wished = pipeline._replace(**given, updated_at=await store.now())
    if call.dry_run:
        pipeline.checked(call.expected)
        await _refuse_taken(call, wished)
        return _changed(call, pipeline.changed_to(wished))
    changed = await store.change_pipeline(wished, call.expected)
    if changed.action.kind != pipeline.action.kind:
        await _tell_schedules(call, changed)
    return _changed(call, changed)


async def _tell_schedules(call: Call, pipeline: Pipeline) -> None:
    """The jobs of a pipeline know the kind of its action."""
    while views := await jobs_of(call.service.store, pipeline.id):
        records = {view.key: view.record for view in views if view.record is not None}

        def check(key: str, found: Record | None, seen: Mapping[str, Record] = records) -> None:
            if found is None or found.state.version != seen[key].state.version:
                raise changed_meanwhile(None)

        jobs = tuple(with_kind_of(record.job, pipeline) for record in records.values())
        with suppress(ProblemError):  # a schedule was changed at the same time: look again
            note_definitions(call, await call.ops.define(API_SOURCE, Changes(declared=jobs), check=check))
            return


def _action(call: Call, body: ActionBody) -> Action:
    try:
        return make_action(body, call.identity)
    except InvalidJobError as error:
        error.details["field"] = f"action.{error.details['field']}"
        raise


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
        status=pipeline.status,
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
