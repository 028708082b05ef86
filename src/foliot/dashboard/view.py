"""Pages from templates: the frame around them, the headers, and the words that templates use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from shlex import join
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urlencode
from uuid import uuid4

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from foliot.api.call import Call
from foliot.api.ids import id_of
from foliot.api.problem import ProblemError
from foliot.dashboard.drawing import bars, dots, meter
from foliot.dashboard.times import Times
from foliot.dashboard.words import number, title_of, tone_of, word_of, words_of
from foliot.model.access import Scope

CSP = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HERE = Path(__file__).parent
THEMES = ("light", "dark")
_TOLD = "told"  # the cookie of what a form has done, for the page that follows
_TOLD_SECONDS = 20
_LONGEST_TOLD = 500


class Item(NamedTuple):
    """An entry of the rail: its path, its name, its key after `g`, and the scope that it needs.

    `is_of_all`: it is not for a token that is limited to some sources.
    """

    path: str
    name: str
    key: str = ""
    scope: Scope = Scope.READ
    is_of_all: bool = False


RAIL = (
    (Item("/", "Overview", "o"), Item("/jobs", "Jobs", "j"), Item("/journal", "Journal", "r")),
    (Item("/calendar", "Calendar", "c"), Item("/lab", "Expression lab", "l")),
    (
        Item("/sources", "Sources", "s"),
        Item("/nodes", "Nodes & queues", "n", is_of_all=True),
        Item("/pipelines", "Pipelines", "p"),
    ),
    (
        Item("/audit", "Audit", "a", Scope.ADMIN, is_of_all=True),
        Item("/tokens", "Tokens", "t", Scope.ADMIN, is_of_all=True),
        Item("/about", "About", "i"),
    ),
)


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


class Frame:
    """What every page has around it."""

    def __init__(self, request: Request, call: Call | None, now: datetime | None) -> None:
        self.root = str(request.scope.get("root_path", ""))
        self.path = request.scope["path"].removeprefix(self.root) or "/"
        self.query = request.url.query
        self.identity = call.identity if call is not None and call.route.scope is not None else None
        theme = request.cookies.get("theme", "")
        self.theme = theme if theme in THEMES else ""
        self.told = unquote(request.cookies.get(_TOLD, ""))[:_LONGEST_TOLD]
        self.times = Times(now) if now is not None else None

    def url(self, path: str, query: Mapping[str, Any] | None = None, **more: Any) -> str:
        """A link to one of our own paths; a value of None is left out."""
        if not query and not more:
            return self.root + path
        fields = {**(query or {}), **more}
        given = {name: value for name, value in fields.items() if value not in (None, "")}
        return self.root + path + (f"?{urlencode(given)}" if given else "")

    def job(self, key: str, *steps: str, **query: Any) -> str:
        """A link to the page of a job."""
        return self.url("/".join(("/jobs", id_of(key), *steps)), query)

    def run(self, key: str, *steps: str, **query: Any) -> str:
        """A link to the page of a run."""
        return self.url("/".join(("/runs", id_of(key), *steps)), query)

    @property
    def here(self) -> str:
        """The address of this page, for forms that lead back."""
        return self.root + self.path + (f"?{self.query}" if self.query else "")

    def may(self, scope: str, source: str | None = None) -> bool:
        """Whether who asks may do something to what is of a source."""
        return self.identity is not None and self.identity.allows(Scope(scope), source)

    def can(self, scope: str) -> bool:
        """Whether who asks may do something to anything at all."""
        return self.identity is not None and self.identity.scope.includes(Scope(scope))

    def shows(self, item: Item) -> bool:
        """Whether an entry of the rail leads somewhere for who asks."""
        who = self.identity
        is_scope = who is not None and who.scope.includes(item.scope)
        return is_scope and not (item.is_of_all and who is not None and who.sources is not None)


async def render(  # noqa: PLR0913 - a page, and what its frame tells
    call: Call,
    template: str,
    *,
    heading: str,
    command: tuple[str, ...] = (),
    topics: tuple[str, ...] = (),
    status: int = 200,
    now: datetime | None = None,
    **context: Any,
) -> Response:
    """A page. `command`: the words of what tells the same in a shell; `topics`: hints that renew it.

    `now`: the store's time, if it was asked for already.
    """
    now = now or await call.ops.store.now()
    call.headers.clear()  # they are those of the API's answer, which a page is not
    frame = Frame(call.request, call, now)
    is_limited = call.identity.sources is not None
    shown = [one for one in topics if not (is_limited and one in ("overview", "nodes"))]
    html = (
        environment()
        .get_template(template)
        .render(
            f=frame,
            t=frame.times,
            heading=heading,
            shell=join(("foliot", *command)) if command else "",
            topics=" ".join(shown),
            now=now,
            **context,
        )
    )
    response = HTMLResponse(html, status, page_headers())
    if frame.told:
        response.delete_cookie(_TOLD, path=frame.root or "/")
    return response


def plain_page(
    request: Request, template: str, *, heading: str, status: int = 200, **context: Any
) -> Response:
    """A page for which no store is asked."""
    frame = Frame(request, None, None)
    html = (
        environment().get_template(template).render(f=frame, heading=heading, shell="", topics="", **context)
    )
    return HTMLResponse(html, status, page_headers())


def error_page(request: Request, problem: ProblemError) -> Response:
    """What went wrong, and what is to be done."""
    request_id = request.scope.get("foliot.request_id", "")
    page = plain_page(
        request,
        "error.html",
        heading=_HEADINGS.get(problem.status, "This did not work"),
        status=problem.status,
        problem=problem,
        request_id=request_id,
    )
    page.headers.update(problem.headers)
    return page


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
            _TOLD,
            quote(told[:_LONGEST_TOLD]),
            max_age=_TOLD_SECONDS,
            path=root or "/",
            httponly=True,
            samesite="strict",
            secure=call.service.options.is_https,
        )
    return response


def own_path(root: str, path: str) -> str:
    """A path of ours that a form has given; the first page for anything else, such as another host."""
    is_ours = path.startswith(f"{root}/") and not path.startswith("//") and "\\" not in path
    return path if is_ours and path.isprintable() and path.isascii() else f"{root}/"


def frame_of(call: Call) -> Frame:
    """Links for a handler."""
    return Frame(call.request, call, None)
