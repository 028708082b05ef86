"""From a request of a browser to a page and back: the same checks as in the API, and errors as pages."""

from __future__ import annotations

from collections.abc import Mapping
from gzip import compress
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Receive, Send
from starlette.types import Scope as AsgiScope

from foliot.api.call import Call
from foliot.api.endpoint import Endpoint
from foliot.api.entry import check_origin, cookie_name
from foliot.api.problem import ProblemError, problem_of
from foliot.api.reading import receive
from foliot.api.route import Route
from foliot.api.service import Service
from foliot.dashboard.last_page import LastPages
from foliot.dashboard.one_look import one_look
from foliot.dashboard.route import Form
from foliot.dashboard.view import error_page, page_headers
from foliot.errors import FoliotError, StoreUnavailableError
from foliot.model.access import Scope

_FORM = "application/x-www-form-urlencoded"
_UNAUTHORIZED, _OK = 401, 200
_WORTH_IT = 1000  # bytes from which on a page is compressed
LONGEST_AIM = 2000  # characters of the address to which a login leads


class ReturnedFormError(ProblemError):
    """A form is wrong: `page` has the form with what was typed, and what is to be done."""

    def __init__(self, problem: ProblemError, page: Response) -> None:
        super().__init__(
            problem.status,
            problem.code,
            problem.message,
            hint=problem.hint,
            errors=problem.errors,
            headers=problem.headers,
            version=problem.version,
            limit=problem.limit,
        )
        self.page = page
        page.headers.update(problem.headers)


class PageEndpoint(Endpoint):
    """One path with its pages."""

    def __init__(self, service: Service, routes: Mapping[str, Route], last: LastPages) -> None:
        super().__init__(service, routes)
        self._last = last

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        """Answer; what goes wrong is a page, too, for who takes pages."""
        scope["query_string"] = without_blanks(scope["query_string"])
        request = Request(scope, receive)
        try:
            await super().__call__(scope, receive, send)
        except (FoliotError, HTTPException) as error:
            if not isinstance(error, FoliotError) or "text/html" not in request.headers.get("accept", ""):
                raise
            await self._refused(request, error)(scope, receive, send)

    def _refused(self, request: Request, error: FoliotError) -> Response:
        problem = problem_of(error)
        if problem.limit is not None:
            self._service.refused[problem.limit] += 1
        if isinstance(error, ReturnedFormError):
            return error.page
        if problem.status == _UNAUTHORIZED:
            self._last.forget(self._reader(request))
            if request.method == "GET":
                return _to_login(request)
        if isinstance(error, StoreUnavailableError) and request.method == "GET":
            revoked = self._service.authority.revoked if self._service.is_open else ()
            if old := self._last.find(self._reader(request), str(request.url), revoked):
                return HTMLResponse(old, problem.status, {**page_headers(), "Retry-After": "2"})
        return error_page(request, problem)

    async def _given(self, call: Call) -> dict[str, Any]:
        if not call.route.changes:
            call.look = one_look(call.service) if call.route.scope is not None else None
            return await super()._given(call)
        form = None
        if "form" in call.route.handler.__annotations__:
            form = await _read_form(call)
        given = await super()._given(call)
        if form is not None:
            given["form"] = form
        return given

    async def _done(self, call: Call, given: dict[str, Any]) -> Response:
        response = await super()._done(call, given)
        if call.route.path == "/logout":
            self._last.forget(self._reader(call.request))
        is_page = isinstance(response, HTMLResponse) and response.status_code == _OK
        if not is_page or call.route.changes or call.route.scope is None:
            return response
        text = bytes(response.body)
        if call.route.scope is not Scope.ADMIN:
            self._last.keep(self._reader(call.request), str(call.request.url), text, call.identity.token_id)
        return _compressed(call.request, response, text)

    def _reader(self, request: Request) -> str:
        """The token or session of a reader. No reader gets a page that another reader has asked for."""
        return request.headers.get("authorization") or request.cookies.get(cookie_name(self._service), "")


def _to_login(request: Request) -> Response:
    """To the form for a token, and back again; not back, if that address is too long."""
    root = str(request.scope.get("root_path", ""))
    path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    is_plain = path.removeprefix(root) == "/" or len(path) > LONGEST_AIM
    return RedirectResponse(f"{root}/login" + ("" if is_plain else f"?next={quote(path, safe='')}"), 303)


async def _read_form(call: Call) -> Form:
    """The form. It has fields for headers: `version` is `If-Match`, `request_key` the `Idempotency-Key`."""
    request = call.request
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != _FORM:
        raise ProblemError(415, "BAD_TYPE", "a form is expected", hint=f"Content-Type: {_FORM}")
    if call.route.scope is None:
        check_origin(request)
    form = Form.read(await receive(request, call.service.limits.body))
    headers = [*request.scope["headers"]]
    if version := form.get("version"):
        headers.append((b"if-match", f'"v{version}"'.encode("ascii", "replace")))
    if key := form.get("request_key"):
        headers.append((b"idempotency-key", key.encode("ascii", "replace")))
    call.request = Request({**request.scope, "headers": headers}, request.receive)
    call.dry_run = "preview" in form
    return form


def without_blanks(query: bytes) -> bytes:
    """A query without fields that were left empty: a browser sends all fields of a form."""
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=50)
    except ValueError:
        return query  # what is wrong with it is told by who reads it
    return (
        query
        if all(value.strip() for _, value in pairs)
        else urlencode([(name, value) for name, value in pairs if value.strip()]).encode()
    )


def _compressed(request: Request, response: Response, text: bytes) -> Response:
    """A page, compressed if the browser takes that. It has no secret beside what a stranger could write."""
    if "gzip" not in request.headers.get("accept-encoding", "") or len(text) < _WORTH_IT:
        return response
    headers = {name: value for name, value in response.headers.items() if name != "content-length"}
    made = HTMLResponse(compress(text, 5, mtime=0), response.status_code, headers)
    made.raw_headers += [
        pair for pair in response.raw_headers if pair[0] == b"set-cookie" and pair not in made.raw_headers
    ]
    made.headers["Content-Encoding"] = "gzip"
    made.headers["Vary"] = "Accept-Encoding, Cookie"
    return made
