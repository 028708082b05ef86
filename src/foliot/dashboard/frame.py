"""What is around every page: the rail, the links, and what the last form has done."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from hmac import compare_digest
from hmac import new as new_mac
from typing import Any, NamedTuple
from urllib.parse import unquote, urlencode

from starlette.requests import Request

from foliot.access import Identity
from foliot.api.call import Call
from foliot.api.entry import COOKIE
from foliot.api.ids import id_of
from foliot.dashboard.times import Times
from foliot.model.access import Scope

THEMES = ("light", "dark")
TOLD = "told"  # the cookie of what a form has done, for the page that follows
LONGEST_TOLD = 500
_MARK = 32  # digits


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


class Frame:
    """What every page has around it."""

    def __init__(self, request: Request, now: datetime | None = None) -> None:
        self.root = str(request.scope.get("root_path", ""))
        self.path = request.scope["path"].removeprefix(self.root) or "/"
        self.query = request.url.query
        self.identity: Identity | None = request.scope.get("foliot.identity")
        theme = request.cookies.get("theme", "")
        self.theme = theme if theme in THEMES else ""
        self.told = _read_told(request)
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

    def source(self, name: str, *steps: str) -> str:
        """A link to the page of a source."""
        return self.url("/".join(("/sources", id_of(name), *steps)))

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


def frame_of(call: Call) -> Frame:
    """Links for a handler."""
    return Frame(call.request)


def _read_told(request: Request) -> str:
    """What the last form has done; nothing, if the cookie is not of this session.

    Another program on the same host can set cookies, too, and must not speak in our name.
    """
    given = request.cookies.get(TOLD, "")
    mark, text = given[:_MARK], unquote(given[_MARK:])[:LONGEST_TOLD]
    return text if text and compare_digest(mark.encode(), mark_of(request, text).encode()) else ""


def mark_of(request: Request, text: str) -> str:
    """What shows that a text is of this session."""
    sessions = (value for name, value in request.cookies.items() if name.endswith(COOKIE))
    secret = request.headers.get("authorization") or next(sessions, "")
    return new_mac(secret.encode(), text.encode(), "sha256").hexdigest()[:_MARK]


def own_path(root: str, path: str) -> str:
    """A path of ours that a form has given; the first page for anything else, such as another host."""
    steps = path.partition("?")[0].split("/")
    is_ours = path.startswith(f"{root}/") and not path.startswith("//") and "\\" not in path
    is_ours = is_ours and not {".", ".."} & set(steps)  # they may lead out of the prefix
    return path if is_ours and path.isprintable() and path.isascii() else f"{root}/"
