"""The ASGI application: all groups of routes behind one guard."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from starlette.exceptions import HTTPException
from starlette.routing import Route as StarletteRoute
from starlette.routing import Router
from starlette.types import Receive, Scope, Send

from foliot.api import (
    events,
    fleet,
    job_commands,
    job_history,
    jobs,
    pipeline_runs,
    pipelines,
    plans,
    rules,
    runs,
    schedules,
    system,
    tokens,
)
from foliot.api.endpoint import Endpoint
from foliot.api.guard import Guard
from foliot.api.openapi import make_document
from foliot.api.route import Group, Route
from foliot.api.service import Backend, Options, Service
from foliot.protocols import Clock

GROUPS: tuple[Group, ...] = tuple(
    module.routes
    for module in (
        pipelines,
        schedules,
        pipeline_runs,
        jobs,
        job_commands,
        job_history,
        runs,
        rules,
        fleet,
        plans,
        tokens,
        events,
        system,
    )
)
Pages = Callable[[Service], Sequence[StarletteRoute]]  # what is there for browsers
_BRACES = re.compile(r"\{[^}]*\}")


def no_pages(_: Service) -> Sequence[StarletteRoute]:
    """Nothing for browsers."""
    return ()


class Application:
    """An API as an ASGI application. `async with` opens and closes it; else the first request opens it.

    `pages` come before the routes of the API: the dashboard has a form at `/login`, too.
    """

    def __init__(
        self,
        backend: Backend,
        clock: Clock,
        options: Options,
        groups: Sequence[Group] = GROUPS,
        pages: Pages = no_pages,
    ) -> None:
        self.service = Service(backend, clock, options)
        self.service.document = make_document(groups)
        routes = [*pages(self.service), *make_routes(self.service, groups)]
        # A path has one spelling: a slash at its end leads nowhere.
        router = Router(routes, redirect_slashes=False, default=_lead_nowhere)
        self._guard = Guard(router, self.service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or live as long as a server does."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await self._guard(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.service.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def __aenter__(self) -> Self:
        await self.service.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.service.close()


async def _lead_nowhere(*_: object) -> None:
    raise HTTPException(404)


def make_routes(
    service: Service, groups: Sequence[Group], make: Callable[..., Endpoint] = Endpoint
) -> list[StarletteRoute]:
    """One route for each path, with all its verbs; fixed names come before those in braces."""
    by_path: dict[str, dict[str, Route]] = {}
    for group in groups:
        for route in group.routes:
            by_path.setdefault(_BRACES.sub("{}", route.path), {})[route.verb] = route
    return [
        StarletteRoute(_numbered(path), make(service, by_path[path]))
        for path in sorted(by_path, key=lambda path: path.replace("{}", "\U0010ffff"))
    ]


def _numbered(path: str) -> str:
    """A name for each pair of braces: verbs of one path may have names of their own for them."""
    first, *rest = path.split("{}")
    return first + "".join(f"{{p{number}}}{part}" for number, part in enumerate(rest))
