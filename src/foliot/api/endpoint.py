"""From a request to a handler and back. The order matters: what a stranger learns comes last.

who asks 401 ─▶ scope 403 ─▶ query 400 ─▶ what the path names 404 ─▶ body 400, 413, 415, 422 ─▶ handler
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from foliot.access import Identity
from foliot.api.call import Call
from foliot.api.entry import identify
from foliot.api.problem import ProblemError
from foliot.api.reading import read_body, read_query
from foliot.api.route import Route
from foliot.api.service import Service
from foliot.model.access import Scope as TokenScope

_ANYBODY = Identity("", "anybody", TokenScope.READ, ())


class Endpoint:
    """One path with all its verbs, as an ASGI application."""

    def __init__(self, service: Service, routes: Mapping[str, Route]) -> None:
        self._service = service
        self._routes = dict(routes)
        verbs = set(routes) | ({"HEAD"} if "GET" in routes else set())
        self._allowed = ", ".join(sorted(verbs))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer; errors are left to the guard."""
        request = Request(scope, receive)
        verb = "GET" if request.method == "HEAD" else request.method
        if verb not in self._routes:
            headers = {"Allow": self._allowed}
            detail = f"{request.method[:20]} is not possible here"
            raise ProblemError(405, "BAD_VERB", detail, hint=f"one of: {self._allowed}", headers=headers)
        scope["foliot.route"] = route = self._routes[verb]
        response = await self._answer(route, request)
        if request.method == "HEAD" and isinstance(response, StreamingResponse):
            response = Response(headers=dict(response.headers))
        await response(scope, receive, send)

    async def _answer(self, route: Route, request: Request) -> Response:
        service = self._service
        if route.scope is None:
            identity = _ANYBODY
        else:
            await service.open()
            identity = await identify(service, request)
            request.scope["foliot.identity"] = identity
            check_scope(route, identity)
        query, dry_run = read_query(request.scope["query_string"], route.query)
        if dry_run and (not route.changes or route.scope is None):
            raise ProblemError(400, "BAD_QUERY", "dry_run is for changes, and this is none")
        call = Call(service=service, route=route, request=request, identity=identity, dry_run=dry_run)
        if route.changes:  # they are read now, so that a bad one is told whatever the handler makes of it
            _ = call.key if route.verb == "POST" else call.match
        given = await self._given(call)
        if "query" in route.handler.__annotations__:
            given["query"] = query
        return await self._done(call, given)

    async def _given(self, call: Call) -> dict[str, Any]:
        """What the path and the body give to the handler."""
        route, given = call.route, dict[str, Any]()
        for name, text in zip(route.parameters, call.request.path_params.values(), strict=True):
            finder = route.group.finders[name]
            given[name] = found = await finder.find(call, text)
            call.about = call.about or finder.object(found)
            if route.scope is TokenScope.WRITE:
                call.before = finder.before(found)
        if route.body is not None:
            limits = call.service.limits
            most = limits.batch_body if route.is_batch else limits.body
            body = await read_body(call.request, route.body, most)
            if "body" in route.handler.__annotations__:
                given["body"] = body
            if route.object is not None:
                call.about = route.object(call, body)
        return given

    async def _done(self, call: Call, given: dict[str, Any]) -> Response:
        route = call.route
        if not route.changes or call.dry_run or route.scope is None:
            if not route.is_heavy:
                return make_response(call, await route.handler(call, **given))
            with call.service.heavy.held(route.path):
                return make_response(call, await route.handler(call, **given))
        auditor, thing = call.auditor, call.about or f"path:{route.path}"
        try:
            async with auditor.change(route.name, thing, before=call.before, after=call.after) as change:
                answer = await route.handler(call, **given)
                change.after = call.after
        finally:
            call.service.totals.forget()
        if call.touched:
            await auditor.note(route.name, call.touched)
        return make_response(call, answer)


def check_scope(route: Route, identity: Identity) -> None:
    """403 if a token may not do this to anything at all."""
    assert route.scope is not None  # noqa: S101 - who is open to all is not checked
    if not identity.scope.includes(route.scope):
        detail = f"this needs a token with the scope {route.scope}, and yours has {identity.scope}"
        hint = f"foliot token create --scope {route.scope}"
        raise ProblemError(403, "NO_SCOPE", detail, hint=hint)
    if route.is_of_all and identity.sources is not None:
        detail = "this is about all sources, and your token is limited to some"
        raise ProblemError(403, "LIMITED_TOKEN", detail, hint="use a token without --source")


def make_response(call: Call, answer: Any) -> Response:
    """The answer of a handler, as it is sent."""
    if isinstance(answer, Response):
        answer.headers.update(call.headers)
        return answer
    status = 200 if call.dry_run else call.status or call.route.status
    if call.is_fresh():
        return Response(status_code=304, headers=call.headers)
    if answer is None:
        return Response(status_code=204, headers=call.headers)
    return Response(msgspec.json.encode(answer), status, call.headers, media_type="application/json")
