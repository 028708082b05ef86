"""The OpenAPI document, made from the table of routes and the types in it."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

import msgspec

from foliot.api.openapi_words import (
    EXAMPLES,
    LOCATION,
    PARAMETERS,
    REPLAYED,
    RETRY_AFTER,
    TAG,
    TAGS,
)
from foliot.api.problem import MEDIA_TYPE, Problem
from foliot.api.route import Group, Route

_REF = "#/components/schemas/{name}"
_DESCRIPTION = (
    "Jobs, runs and schedules of Foliot. Every error is a problem (RFC 9457) with a `code`. Lists have "
    "`next`, the cursor of the next page. Every change takes `?dry_run=true`: the same checks and the same "
    "answer, and nothing is written. Ids are keys with "
    "`~XX` where a URL has `%XX`: the job `ops/backup` is `ops~2Fbackup`."
)
_MAKING = (HTTPStatus.CREATED, HTTPStatus.ACCEPTED)
_DRY_RUN = {
    "name": "dry_run",
    "in": "query",
    "description": "Only show what would be done.",
    "schema": {"type": "boolean", "default": False},
}
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "The same key counts once.",
    "schema": {"type": "string", "pattern": "^[\\x23-\\x3f\\x41-\\x7e]{1,200}$"},
}
_MATCH = {
    "name": "If-Match",
    "in": "header",
    "description": 'Only if this version is there: `"v7"`.',
    "schema": {"type": "string", "pattern": '^(\\*|"v[0-9]{1,15}")$'},
}


def make_document(groups: Iterable[Group], root: str = "") -> dict[str, Any]:
    """The document of all routes."""
    routes = [route for group in groups for route in group.routes]
    kinds = [kind for route in routes for kind in (route.body, route.answer) if _is_described(kind)]
    kinds += [Problem, *(route.query for route in routes)]
    schemas, components = msgspec.json.schema_components(kinds, ref_template=_REF)
    of_kind = {id(kind): schema for kind, schema in zip(kinds, schemas, strict=True)}
    for name, example in EXAMPLES.items():
        components[name]["examples"] = [example]
    for route in routes:  # a query is not sent as an object: its fields are parameters
        of_kind[id(route.query)] = components.pop(route.query.__name__, of_kind[id(route.query)])
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(_named(route.path), {})[route.verb.lower()] = _operation(route, of_kind)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Foliot",
            "version": version("foliot"),
            "description": _DESCRIPTION,
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": root or "/"}],
        "security": [{"token": []}],
        "tags": [
            {"name": name, "description": TAGS[name]}
            for name in dict.fromkeys(group.name for group in groups)
        ],
        "paths": paths,
        "components": {
            "schemas": _portable(components),
            "responses": {"Problem": _problem(of_kind)},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "flt_…"}},
        },
    }


def _portable(schema: Any) -> Any:
    """A schema as all generators of clients read it: enums have a type, patterns ECMA's marks."""
    if isinstance(schema, list):
        return [_portable(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: value if name == "examples" else _portable(value) for name, value in schema.items()}
    if isinstance(found.get("enum"), list) and all(isinstance(one, str) for one in found["enum"]):
        found["type"] = "string"
    if isinstance(found.get("pattern"), str):
        found["pattern"] = found["pattern"].replace("\\A", "^").replace("\\Z", "$")
    return found


def _problem(of_kind: dict[int, Any]) -> dict[str, Any]:
    content = {MEDIA_TYPE: {"schema": of_kind[id(Problem)]}}
    return {"description": "A problem: `code` says which.", "headers": RETRY_AFTER, "content": content}


def _named(path: str) -> str:
    """A path with the names of its parameters as the document has them: those of one place are the same."""
    return path.replace("{place}", "{job}")


def _is_described(kind: Any) -> bool:
    return kind is not None and kind is not type(None) and kind is not Any


def _operation(route: Route, of_kind: dict[int, Any]) -> dict[str, Any]:
    text = " ".join(route.summary.split())
    summary, end, _ = text.partition(". ")
    operation: dict[str, Any] = {
        "operationId": route.name,
        "tags": [route.group.name],
        "summary": summary + end.strip(),
        "description": text,
        "parameters": _parameters(route, of_kind),
        "responses": _responses(route, of_kind),
        "x-foliot-scope": route.scope.value if route.scope else "none",
    }
    if route.scope is None:
        operation["security"] = []
    if route.body is not None:
        is_required = any(field.required for field in msgspec.structs.fields(route.body))
        content = {"application/json": {"schema": of_kind[id(route.body)]}}
        operation["requestBody"] = {"required": is_required, "content": content}
    return operation


def _parameters(route: Route, of_kind: dict[int, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {
            "name": _named(f"{{{name}}}")[1:-1],
            "in": "path",
            "required": True,
            "description": route.group.finders[name].description,
            "schema": {"type": "string", "pattern": "^[A-Za-z0-9_.~-]+$"},
        }
        for name in route.parameters
    ]
    query = of_kind[id(route.query)]
    for name, schema in query["properties"].items():
        shown = _portable(_not_null(schema))
        found.append(
            {
                "name": name,
                "in": "query",
                "required": name in query.get("required", ()),
                "description": shown.pop("description", None) or PARAMETERS[name],
                "schema": shown,
            }
        )
    if route.changes and route.scope is not None:
        found.append(_DRY_RUN)
        found += [_KEY] if route.verb == "POST" else [_MATCH]
    return found


def _not_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter is there or not; it is never null."""
    options = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    known = options[0] if len(options) == 1 else schema
    return {name: value for name, value in known.items() if name != "default" or value is not None}


def _responses(route: Route, of_kind: dict[int, Any]) -> dict[str, Any]:
    schema = of_kind.get(id(route.answer), {})
    content = {media: {"schema": {"type": "string"}} for media in route.media}
    if schema:
        content["application/json"] = {"schema": _not_null(schema)}
    headers = (LOCATION if route.status in _MAKING else {}) | (REPLAYED if route.verb == "POST" else {})
    headers |= TAG if route.parameters and route.verb in ("GET", "PUT", "PATCH") else {}
    responses: dict[str, Any] = {str(route.status): {"description": HTTPStatus(route.status).phrase}}
    if headers:
        responses[str(route.status)]["headers"] = headers
    if route.status != HTTPStatus.NO_CONTENT:
        responses[str(route.status)]["content"] = content
    if route.changes and route.scope is not None and route.status != HTTPStatus.OK:
        responses["200"] = {"description": "A dry run", "content": content}
    if route.verb == "PUT":
        responses["201"] = {"description": "Created", "headers": LOCATION | TAG, "content": content}
    if route.verb == "GET" and route.parameters:
        responses["304"] = {"description": "Not Modified"}
    for status in _refusals(route):
        responses[str(status)] = {"$ref": "#/components/responses/Problem"}
    return responses | {"default": {"$ref": "#/components/responses/Problem"}}


def _refusals(route: Route) -> list[int]:
    """The statuses of problems that a client of a route must reckon with."""
    found = [400, 429, 503]
    found += [401, 403] if route.scope is not None else []
    found += [404] if route.parameters else []
    found += [413, 415, 422] if route.body is not None else []
    found += [409] if route.changes and route.scope is not None else []
    found += [412] if route.verb in ("PUT", "PATCH", "DELETE") else []
    return sorted(found)
