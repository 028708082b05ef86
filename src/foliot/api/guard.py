"""What stands around all paths: the Host, the path itself, the headers of every answer, and every error.

Nothing that a client sends ends in a traceback: what is no answer is a problem.
"""

from __future__ import annotations

import re
from typing import Any
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from foliot.api.courtesy import Courtesy
from foliot.api.problem import ProblemError, problem_of
from foliot.api.route import PREFIX
from foliot.api.service import Service
from foliot.errors import FoliotError
from foliot.observability.log import tell

CSP = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": CSP,
}
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?", re.ASCII)
_PORTION = 1 << 17  # bytes of a body; 8 MB in one go took 20 ms
_ENCODED_SLASH = re.compile(rb"%(2f|5c|00)", re.IGNORECASE)


class Guard:
    """The application around the router."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request in."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = scope["foliot.request_id"] = uuid4().hex
        sent = _Sending(send, request_id)
        try:
            check_head(self._service.limits.header, scope)
            check_host(self._service.options.hosts, scope)
            self._place(scope)
            await self._service.courtesy.give_way()
            await self._app(scope, _Receiving(receive, self._service.courtesy), sent)
        except ClientDisconnect:
            return
        except (FoliotError, HTTPException) as error:
            await self._refuse(error, scope, receive, sent)
        except Exception as error:  # noqa: BLE001 - the client gets a problem, the log the traceback
            tell("request_failed", error, request=request_id, path=scope["path"], error=type(error).__name__)
            failure = ProblemError(
                500, "INTERNAL", "the server has made a mistake", hint=f"see the log for {request_id}"
            )
            await self._refuse(failure, scope, receive, sent)
        finally:
            self._count(scope, sent.status)

    def _place(self, scope: Scope) -> None:
        """Put what a proxy has cut off before the path, so that links lead through the proxy."""
        path, root = scope["path"], self._service.options.root
        if _ENCODED_SLASH.search(scope.get("raw_path") or b""):
            raise HTTPException(404)  # it would name something else once it is decoded
        if root:
            scope["root_path"] = root
            if not path.startswith(f"{root}/"):
                scope["path"] = root + path

    async def _refuse(
        self, error: FoliotError | HTTPException, scope: Scope, receive: Receive, sent: _Sending
    ) -> None:
        if sent.status:  # the answer has begun: all that can be told is its end
            raise error
        problem = problem_of(error) if isinstance(error, FoliotError) else _of_http(error)
        if (limit := _limit_of(problem, scope)) is not None:
            self._service.refused[limit] += 1
        shown = self._service.lost_page if _is_lost(problem, scope) else None
        response = shown(Request(scope), problem) if shown else problem.response(sent.request_id)
        await response(scope, receive, sent)

    def _count(self, scope: Scope, status: int) -> None:
        route = scope.get("foliot.route")
        path = route.path if route is not None else ""
        verb = scope["method"] if scope["method"] in _VERBS else "OTHER"
        self._service.answered[verb, path, status] += 1


_ONCE = (b"if-match", b"idempotency-key", b"content-type", b"content-encoding")
_VERSIONS = ("1.0", "1.1", "2", "2.0", "3", None)
_VERBS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"))


class _Receiving:
    """Receives a body in portions, and lets the engine go first before each. Meanwhile the client waits."""

    def __init__(self, receive: Receive, courtesy: Courtesy) -> None:
        self._receive, self._courtesy = receive, courtesy
        self._portion = 0

    async def __call__(self) -> Message:
        if self._portion >= _PORTION:
            self._portion = 0
            await self._courtesy.give_way()
        message = await self._receive()
        self._portion += len(message.get("body", b""))
        return message


class _Sending:
    """Adds the headers of every answer, where the answer has not its own."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self.request_id = request_id
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(raw=message.setdefault("headers", []))
            headers["Request-Id"] = self.request_id
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)


def _is_lost(problem: ProblemError, scope: Scope) -> bool:
    """Whether a browser has asked for an address that does not exist."""
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    is_page = "text/html" in Headers(scope=scope).get("accept", "") and not path.startswith(f"{PREFIX}/")
    return is_page and problem.code == "NOT_FOUND"


def _limit_of(problem: ProblemError, scope: Scope) -> str | None:
    """The limit that a request has met, if any. Which one a body has met, its route tells."""
    if problem.code != "TOO_LARGE":
        return problem.limit
    return "batch_body" if (route := scope.get("foliot.route")) and route.is_batch else "body"


def check_head(most: int, scope: Scope) -> None:
    """431 if the headers are too large; 400 for two that contradict, or a version that there is not."""
    if sum(len(name) + len(value) for name, value in scope["headers"]) > most:
        raise ProblemError(
            431, "HEADERS_TOO_LARGE", f"headers have {most:,} bytes at most together", limit="header"
        )
    names = [name.lower() for name, _ in scope["headers"]]
    for name in _ONCE:
        if names.count(name) > 1:
            detail = f"the header {name.decode()} must be there once: which one is meant cannot be told"
            raise ProblemError(400, "MALFORMED", detail, hint="send it once")
    if scope.get("http_version") not in _VERSIONS:
        raise ProblemError(400, "MALFORMED", "there is no such version of HTTP")


def check_host(hosts: frozenset[str] | None, scope: Scope) -> None:
    """421 if the request was meant for another host: a name of others may lead to our address."""
    given = Headers(scope=scope).getlist("host")
    found = _HOST.fullmatch(given[0]) if len(given) == 1 else None
    is_ours = hosts is None or (found is not None and found[1].lower().rstrip(".") in hosts)
    if not is_ours or not scope["path"].startswith("/"):
        hint = "call it by its own name, or serve it with --host-name NAME"
        raise ProblemError(421, "OTHER_HOST", "this server does not answer for that host", hint=hint)


def _of_http(error: HTTPException) -> ProblemError:
    code, detail = _WORDS.get(error.status_code, ("HTTP_ERROR", error.detail))
    return ProblemError(
        error.status_code, code, detail, hint="GET /openapi.json tells all paths", headers=error.headers
    )


_WORDS: dict[int, Any] = {404: ("NOT_FOUND", "there is nothing of that name here")}
