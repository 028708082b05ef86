"""Pages from templates, with their headers and the words that templates use."""

from __future__ import annotations

import json
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from shlex import join
from shlex import quote as shell_quote
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from foliot.api.call import Call
from foliot.api.ids import id_of
from foliot.api.problem import ProblemError
from foliot.api.route import PREFIX
from foliot.dashboard.drawing import bars, dots, meter
from foliot.dashboard.frame import LONGEST_TOLD, RAIL, TOLD, Frame, mark_of
from foliot.dashboard.words import number, title_of, tone_of, word_of, words_of

CSP = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HERE = Path(__file__).parent
_TOLD_SECONDS = 20


@cache
def environment() -> Environment:
    """Templates whose texts are escaped, and in which an unknown name is an error."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals.update(
        rail=RAIL,
        tone=tone_of,
        word=word_of,
        told=words_of,
        title=title_of,
        bars=bars,
        dots=dots,
        meter=meter,
        number=number,
        static=static_name,
        new_key=lambda: uuid4().hex,
        id_of=id_of,
    )
    made.filters["pretty"] = lambda value: json.dumps(value, indent=2, ensure_ascii=False, default=str)
    return made


@cache
def static_name(name: str) -> str:
    """A file with the mark of its content: a browser keeps it until it changes."""
    mark = sha256((HERE / "static" / name).read_bytes()).hexdigest()[:10]
    return f"/static/{name}?v={mark}"


def page_headers() -> dict[str, str]:
    """The headers of every page."""
    return {"Content-Security-Policy": CSP}


async def render(  # noqa: PLR0913 - a page, and what its frame tells
    call: Call,
    template: str,
    *,
    heading: str,
    command: tuple[str, ...] = (),
    api: str = "",
    topics: tuple[str, ...] = (),
    status: int = 200,
    now: datetime | None = None,
    **context: Any,
) -> Response:
    """A page. `command`: the words of what tells the same in a shell; `topics`: hints that renew it.

    `api`: a path of the API that tells the same, where there is no command.

    `now`: the store's time, if it was asked for already.
    """
    now = now or await call.ops.store.now()
    call.headers.clear()  # they are those of the API's answer, which a page is not
    frame = Frame(call.request, now)
    is_limited = call.identity.sources is not None
    shown = [one for one in topics if not (is_limited and one in ("overview", "nodes"))]
    html = (
        environment()
        .get_template(template)
        .render(
            f=frame,
            t=frame.times,
            heading=heading,
            shell=join(("foliot", *command)) if command else _curl(call, api) if api else "",
            topics=" ".join(shown),
            now=now,
            **context,
        )
    )
    response = HTMLResponse(html, status, page_headers())
    if frame.told:
        response.delete_cookie(TOLD, path=frame.root or "/")
    return response


def _curl(call: Call, path: str) -> str:
    """A command for what only the API tells. The token is not shown."""
    address = f"{str(call.request.base_url).rstrip('/')}{PREFIX}{path}"
    return f'curl -H "Authorization: Bearer $TOKEN" {shell_quote(address)}'


def plain_page(
    request: Request, template: str, *, heading: str, status: int = 200, **context: Any
) -> Response:
    """A page for which no store is asked."""
    frame = Frame(request)
    html = (
        environment()
        .get_template(template)
        .render(f=frame, t=None, heading=heading, shell="", topics="", **context)
    )
    return HTMLResponse(html, status, page_headers())


def error_page(request: Request, problem: ProblemError) -> Response:
    """What went wrong, and what is to be done."""
    request_id = request.scope.get("foliot.request_id", "")
    hint = _HINTS.get(problem.code, problem.hint)
    page = plain_page(
        request,
        "error.html",
        heading=_HEADINGS.get(problem.status, "This did not work"),
        status=problem.status,
        problem=problem,
        hint=hint,
        request_id=request_id,
    )
    page.headers.update(problem.headers)
    return page


# What people can do, in the place of what programs can do.
_GONE = "it may have been removed, or its history is forgotten by now"
_HINTS = {
    "JOB_NOT_FOUND": _GONE,
    "RUN_NOT_FOUND": _GONE,
    "SOURCE_NOT_FOUND": _GONE,
    "TOKEN_NOT_FOUND": _GONE,
    "PIPELINE_NOT_FOUND": _GONE,
    "NOT_FOUND": "the address may be mistyped",
    "VERSION_CHANGED": "open it again, and see what is there now",
}
_HEADINGS = {
    403: "You may not do this",
    404: "There is nothing here",
    409: "This is not possible now",
    412: "It was changed meanwhile",
    429: "Too many at once",
    503: "Not available",
}


def leave(call: Call, path: str, told: str = "") -> Response:
    """After a form: go to a page, which tells what was done."""
    call.headers.clear()  # where the API's answer leads is no page
    root = str(call.request.scope.get("root_path", ""))
    response = RedirectResponse(path, 303)
    if told:
        response.set_cookie(
            TOLD,
            mark_of(call.request, told[:LONGEST_TOLD]) + quote(told[:LONGEST_TOLD]),
            max_age=_TOLD_SECONDS,
            path=root or "/",
            httponly=True,
            samesite="strict",
            secure=call.service.options.is_https,
        )
    return response
