"""Logging in, the switch of light and dark, our own files, and the documentation of the API."""

from __future__ import annotations

from gzip import compress
from typing import Annotated, Any

from msgspec import Meta
from starlette.responses import RedirectResponse, Response

from foliot.api import system
from foliot.api.call import Call
from foliot.api.cursor import Query
from foliot.api.problem import ProblemError
from foliot.api.route import Finder
from foliot.api.system import document_of
from foliot.dashboard.endpoint import LONGEST_AIM, ReturnedFormError
from foliot.dashboard.frame import THEMES, own_path
from foliot.dashboard.route import Form, Pages, Short
from foliot.dashboard.view import HERE, plain_page, render
from foliot.model.access import Scope

_TYPES = {
    "style.css": "text/css",
    "script.js": "text/javascript",
    "favicon.svg": "image/svg+xml",
}
_A_YEAR = 31_536_000
_REFUSED = (401, 429)


async def find_file(_: Call, text: str) -> str:
    """The name of one of our own files."""
    if text not in _TYPES:
        raise ProblemError(404, "NOT_FOUND", "there is no such file")
    return text


pages = Pages("entry", {"file": Finder(find_file, lambda name: f"file:{name}", "The name of a file.")})


class LoginQuery(Query, frozen=True):
    """Where to go afterwards."""

    next: Annotated[str, Meta(max_length=LONGEST_AIM)] = ""


@pages.get("/login", None)
async def login_page(call: Call, query: LoginQuery) -> Response:
    """Ask for a token; a code behind the `#` of the address is sent by the script."""
    return _login(call, query)


def _login(call: Call, query: LoginQuery, problem: ProblemError | None = None) -> Response:
    status = 200 if problem is None else problem.status
    return plain_page(
        call.request, "login.html", heading="Log in", status=status, problem=problem, next=query.next
    )


@pages.post("/login", None)
async def log_in(call: Call, query: LoginQuery) -> Any:
    """Begin a session."""
    try:
        response = await system.login(call)
    except ProblemError as problem:
        if problem.status not in _REFUSED:
            raise
        raise ReturnedFormError(problem, _login(call, query, problem)) from None
    if query.next and isinstance(response, RedirectResponse):
        root = str(call.request.scope.get("root_path", ""))
        response.headers["location"] = own_path(root, query.next)
    return response


@pages.post("/logout", None)
async def log_out(call: Call) -> Any:
    """End the session."""
    return await system.logout(call)


@pages.post("/theme", None)
async def switch_theme(call: Call, form: Form) -> Response:
    """Keep whether pages are light or dark; without a choice, the system decides."""
    root = str(call.request.scope.get("root_path", ""))
    response = RedirectResponse(own_path(root, form.get("back")), 303)
    chosen = form.get("theme")
    if chosen in THEMES:
        response.set_cookie(
            "theme",
            chosen,
            max_age=_A_YEAR,
            path=root or "/",
            samesite="strict",
            secure=call.service.options.is_https,
        )
    else:
        response.delete_cookie("theme", path=root or "/")
    return response


# -- files -----------------------------------------------------------------------------------------


class FileQuery(Query, frozen=True):
    """`v` is the mark of its content."""

    v: Short = ""


@pages.get("/static/{file}", None)
async def static_file(call: Call, file: str, query: FileQuery) -> Response:
    """One of our own files; a browser keeps what has the mark of its content."""
    content = (HERE / "static" / file).read_bytes()
    headers = {"Cache-Control": f"public, max-age={_A_YEAR}, immutable"} if query.v else {}
    if "gzip" in call.request.headers.get("accept-encoding", ""):
        content = compress(content, mtime=0)
        headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    return Response(content, headers=headers, media_type=_TYPES[file])


@pages.get("/favicon.ico", None)
async def favicon(call: Call) -> Response:
    """The picture in the tab of a browser."""
    return await static_file(call, "favicon.svg", FileQuery())


@pages.get("/docs", Scope.READ)
async def docs_page(call: Call) -> Response:
    """All paths of the API with their parameters, from the OpenAPI document."""
    document = document_of(call)
    operations = [
        (path, verb.upper(), one, [(p, _kind(p["schema"])) for p in one["parameters"]], _body(one))
        for path, verbs in document["paths"].items()
        for verb, one in verbs.items()
    ]
    return await render(
        call, "docs.html", heading="The API", operations=operations, about=document["info"]["description"]
    )


def _body(operation: dict[str, Any]) -> str:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    return _kind(content["schema"]) if content else ""


def _kind(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    options = [_kind(one) for one in schema.get("anyOf", ())]
    return " or ".join(options) or str(schema.get("format") or schema.get("type", "anything"))
