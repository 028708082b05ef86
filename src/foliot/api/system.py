"""Around the API: is it alive, what does it count, how is it documented; sessions for browsers."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response

from foliot.access import Actor, Auditor
from foliot.api.address import address_of, group_of
from foliot.api.call import Call
from foliot.api.cursor import Query
from foliot.api.entry import check_origin, cookie_name, identify
from foliot.api.limits import too_many
from foliot.api.problem import ProblemError
from foliot.api.reading import read_body, receive
from foliot.api.route import Group
from foliot.errors import StoreUnavailableError
from foliot.model.access import SESSION_LIFE, Scope

_MOST_LOGIN = 4096  # bytes of a body
_FORM = "application/x-www-form-urlencoded"


routes = Group("system", prefix="")


# -- health ----------------------------------------------------------------------------------------


class HealthQuery(Query, frozen=True):
    """`verbose`: tell more, to who has a token."""

    verbose: bool = False


@routes.get("/livez", None, media=("text/plain",), answer=dict[str, bool])
async def livez(call: Call, query: HealthQuery) -> Any:
    """Tell whether the engine of this process turns. Without an engine, it does."""
    if not call.service.backend.is_alive:
        raise ProblemError(503, "NOT_ALIVE", "the engine's loop stands still", hint="restart the process")
    return await _healthy(call, query)


@routes.get("/startupz", None, media=("text/plain",), answer=dict[str, bool])
async def startupz(call: Call, query: HealthQuery) -> Any:
    """Tell whether this process has started."""
    if not call.service.backend.is_ready:
        raise ProblemError(503, "NOT_STARTED", "the engine has not begun yet", headers={"Retry-After": "1"})
    return await _healthy(call, query)


@routes.get("/readyz", None, media=("text/plain",), answer=dict[str, bool])
async def readyz(call: Call, query: HealthQuery) -> Any:
    """Tell whether the store answers, and the engine has begun."""
    await call.service.open()
    await call.ops.store.now()
    return await startupz(call, query)


async def _healthy(call: Call, query: HealthQuery) -> Response:
    if not query.verbose:
        return PlainTextResponse("ok")
    await call.service.open()
    await identify(call.service, call.request)
    backend = call.service.backend
    return JSONResponse({"engine": backend.has_engine, "alive": backend.is_alive, "ready": backend.is_ready})


@routes.get("/metrics", Scope.READ, is_of_all=True, media=("text/plain",))
async def metrics(call: Call) -> Any:
    """Count and measure, for Prometheus."""
    registry = CollectorRegistry()
    registry.register(_Counted(call))
    text = generate_latest(registry)
    if call.service.backend.registry is not None:
        text += generate_latest(call.service.backend.registry)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


class _Counted:
    def __init__(self, call: Call) -> None:
        self._service = call.service

    def collect(self) -> list[Any]:
        answered = CounterMetricFamily(
            "foliot_api_requests", "Requests that were answered.", labels=("method", "route", "status")
        )
        for (verb, path, status), count in self._service.answered.items():
            answered.add_metric((verb, path, str(status)), count)
        refused = CounterMetricFamily(
            "foliot_api_refused", "Requests and connections that a limit has refused.", labels=("limit",)
        )
        for limit, count in self._service.refused.items():
            refused.add_metric((limit,), count)
        streams = GaugeMetricFamily(
            "foliot_api_streams", "Streams of events that are open.", self._service.streams.count
        )
        return [answered, refused, streams]


# -- documentation ---------------------------------------------------------------------------------


@routes.get("/openapi.json", Scope.READ)
async def openapi(call: Call) -> Any:
    """Describe all paths, as OpenAPI 3.1."""
    return JSONResponse(document_of(call))


def document_of(call: Call) -> dict[str, Any]:
    """The document, as it is for who asks: behind a proxy, its paths begin with a prefix."""
    return call.service.document | {"servers": [{"url": _root(call) or "/"}]}


def _root(call: Call) -> str:
    return str(call.request.scope.get("root_path", ""))


# -- sessions ---------------------------------------------------------------------------------------


@routes.post("/login", None, is_raw=True, media=("text/html",))
async def login(call: Call) -> Any:
    """Begin a session with a token or a code: `{"token": "…"}`, or a form. 429 after ten that were wrong."""
    service, address = call.service, address_of(call.service, call.request)
    group = group_of(address)
    if wait := service.logins.wait(group):
        raise too_many("failed_logins", "too many logins from this address were wrong", wait)
    headers = call.request.headers
    is_form = headers.get("content-type", "").partition(";")[0].strip().lower() == _FORM
    if is_form or "origin" in headers or "sec-fetch-site" in headers:
        check_origin(call.request)  # another site could log a person in under its own name, or lock her out
    text = await (_token_of_form(call) if is_form else _token_of_json(call))
    await service.open()
    session = await service.authority.login(text) if text else None
    auditor = Auditor(service.store, service.clock, Actor("anybody", address, _request_id(call)))
    if session is None:
        service.logins.take(group)
        await auditor.refuse("login", "session", "no valid token, and no code")
        raise ProblemError(401, "NO_TOKEN", "that is no valid token, and no code that was not used")
    root = _root(call)
    response: Response = JSONResponse({"name": session.identity.name, "scope": session.identity.scope})
    if is_form:
        response = RedirectResponse(f"{root}/", 303)
    _set_cookie(call, response, session.cookie, int(SESSION_LIFE.total_seconds()))
    return response


async def _token_of_form(call: Call) -> str:
    body = await receive(call.request, _MOST_LOGIN)
    fields = parse_qs(body.decode("utf-8", "replace"), max_num_fields=5)
    return fields.get("token", [""])[0].strip()


async def _token_of_json(call: Call) -> str:
    value = await read_body(call.request, dict[str, str], _MOST_LOGIN)
    return str(value.get("token", ""))


@routes.post("/logout", None, is_raw=True, media=("text/html",))
async def logout(call: Call) -> Any:
    """End the session."""
    check_origin(call.request)
    if cookie := call.request.cookies.get(cookie_name(call.service)):
        with suppress(StoreUnavailableError):  # the browser forgets it, and it ends by itself
            await call.service.open()
            await call.service.authority.logout(cookie)
    response = RedirectResponse(f"{_root(call)}/login", 303)
    _set_cookie(call, response, "", 0)
    return response


def _set_cookie(call: Call, response: Response, value: str, seconds: int) -> None:
    is_https, root = call.service.options.is_https, _root(call)
    response.set_cookie(
        cookie_name(call.service), value, max_age=seconds, path=root or "/", secure=is_https, httponly=True,
        samesite="strict",
    )  # fmt: skip


def _request_id(call: Call) -> str:
    return str(call.request.scope["foliot.request_id"])
