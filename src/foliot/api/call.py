"""One request that is let in: who asks, and what a handler needs beside what it is given."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import NAMESPACE_URL, uuid4, uuid5

from starlette.requests import Request

from foliot.access import Actor, Auditor, Identity
from foliot.api.address import address_of
from foliot.api.cursor import Paged, bad_cursor, read_cursor, write_cursor
from foliot.api.ids import id_of
from foliot.api.problem import ProblemError
from foliot.api.route import PREFIX, Route
from foliot.api.service import Service
from foliot.model.access import Scope
from foliot.model.query import Page
from foliot.operations import Operations

T = TypeVar("T")
_TAG = re.compile(r'(?:W/)?"v([0-9]{1,15})(?:\.[0-9]{1,20})?"', re.ASCII)
_KEY = re.compile(r"[\x21-\x7e]{1,200}", re.ASCII)
_LONGEST_LIST = 20  # tags in one header


@dataclass(slots=True, kw_only=True)
class Call:
    """A request. `headers` are added to the answer; `before` and `after` to the entry of the audit.

    `touched`: what was changed beside `about`, with what it is now. Each has an entry of the audit, too.
    """

    service: Service
    route: Route
    request: Request
    identity: Identity
    dry_run: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 0  # of the answer; 0: that of the route
    about: str = ""  # the object that the audit names
    before: Any = None
    after: Any = None
    touched: dict[str, Any] = field(default_factory=dict)
    look: Operations | None = None  # what a page asks; None: it is no page
    _new_id: str | None = None

    @property
    def ops(self) -> Operations:
        """What can be asked and told."""
        return self.look or self.service.ops

    @property
    def auditor(self) -> Auditor:
        """What writes the audit for who asks."""
        address = address_of(self.service, self.request)
        actor = Actor(self.identity.actor, address, self.request.scope["foliot.request_id"])
        return Auditor(self.service.store, self.service.clock, actor)

    # -- who may see what --------------------------------------------------------------------------

    def sees(self, source: str) -> bool:
        """Whether who asks may read what is of a source."""
        return self.identity.allows(Scope.READ, source)

    def seen_sources(self, wanted: str | None) -> tuple[str | None, ...]:
        """The sources to look through; (None,): all. None at all, if the wanted one is hidden."""
        if wanted is not None:
            return (wanted,) if self.sees(wanted) else ()
        sources = self.identity.sources
        return (None,) if sources is None else tuple(sorted(sources, key=lambda source: f"{source}/"))

    # -- pages -------------------------------------------------------------------------------------

    def place(self, query: Paged, kind: type[T]) -> T | None:
        """The place of the query's cursor."""
        return read_cursor(self.route.path, query, self.identity.sources, kind)

    def cursor(self, query: Paged, place: Any) -> str:
        """The cursor of a place in the list."""
        return write_cursor(self.route.path, query, self.identity.sources, place)

    async def page(
        self, query: Paged, source: str | None, ask: Callable[[str | None, str], Awaitable[Page[T]]]
    ) -> tuple[Sequence[T], str | None]:
        """A page of what is of a source, or of all that may be seen, and the cursor of the next page.

        A token that is limited to several sources gets one source after the other.
        """
        sources = self.seen_sources(source)
        index, after = self.place(query, tuple[int, str]) or (0, "")
        if not 0 <= index < max(1, len(sources)):
            raise bad_cursor("it is no cursor of this server")
        while index < len(sources):
            found = await ask(sources[index], after)
            place = (index, found.next) if found.next else (index + 1, "")
            has_more = place[0] < len(sources)
            if found or found.next or not has_more:  # a look that is over goes on when it is asked again
                return found, self.cursor(query, place) if has_more else None
            index, after = place
        return (), None

    # -- preconditions -----------------------------------------------------------------------------

    @property
    def match(self) -> int | None:
        """The version that `If-Match` names; None: any, or it is not there. 400 if it cannot be read."""
        given = self.request.headers.get("if-match", "*").strip()
        if given == "*":
            return None
        found = _TAG.fullmatch(given)
        if found is None:
            raise ProblemError(400, "BAD_MATCH", "If-Match cannot be read", hint='such as If-Match: "v7"')
        return int(found[1])

    @property
    def expected(self) -> int | None:
        """The same; 428 if it is not there and the server demands it."""
        if "if-match" not in self.request.headers and self.service.options.demands_match:
            hint = 'If-Match: "v7", with the version of a GET'
            raise ProblemError(428, "MATCH_REQUIRED", "a change needs If-Match here", hint=hint)
        return self.match

    @property
    def key(self) -> str | None:
        """The `Idempotency-Key`, if one was given."""
        key = self.request.headers.get("idempotency-key")
        if key is not None and (not _KEY.fullmatch(key) or set(key) & set("!@")):
            hint = "such as a UUID"
            detail = "an Idempotency-Key has 1 to 200 characters of ASCII, without spaces, ! and @"
            raise ProblemError(400, "BAD_KEY", detail, hint=hint)
        return key

    @property
    def new_id(self) -> str:
        """The id of what is made: with an Idempotency-Key always the same one, else a new one."""
        if self._new_id is None:
            key = self.key
            name = f"foliot:{self.identity.token_id}:{key}"
            self._new_id = str(uuid4() if key is None else uuid5(NAMESPACE_URL, name))
        return self._new_id

    def replayed(self) -> None:
        """Tell that the answer is that of an earlier request with the same key."""
        self.headers["Idempotency-Replayed"] = "true"

    def tag(self, version: int, token: int) -> None:
        """The weak tag of what is sent: it changes with every run, and `version` only with a definition."""
        self.headers["ETag"] = f'W/"v{version}.{token}"'

    def is_fresh(self) -> bool:
        """Whether the client has what would be sent."""
        known = self.request.headers.get("if-none-match", "").split(",", _LONGEST_LIST)
        tag = self.headers.get("ETag")
        return tag is not None and tag in (one.strip() for one in known)

    # -- links -------------------------------------------------------------------------------------

    def link(self, *steps: str) -> str:
        """A path below the prefix, with the keys among its steps as ids: `jobs`, `ops/backup`, `runs`."""
        root: str = self.request.scope.get("root_path", "")
        return root + PREFIX + "".join(f"/{id_of(step)}" for step in steps)
