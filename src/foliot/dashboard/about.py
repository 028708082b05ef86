"""What serves this page: versions, the store, the limits. No secret."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from importlib.metadata import version

from starlette.responses import Response

from foliot.api.call import Call
from foliot.api.fleet import scheduler
from foliot.api.tokens import whoami
from foliot.dashboard.frame import RAIL
from foliot.dashboard.route import Pages
from foliot.dashboard.view import render
from foliot.errors import FoliotError
from foliot.model.access import Scope
from foliot.model.view import Schema
from foliot.shown import without_password
from foliot.wiring import schema_of

pages = Pages("about")
KEYS = (
    ("/", "search jobs"),
    ("?", "these keys"),
    ("j, k", "next row, row before"),
    ("Enter", "open the row"),
    ("x", "choose the row"),
    ("p", "pause the job, the chosen jobs, or the job of the marked row"),
    ("w", "why"),
    ("Esc", "leave a field"),
)


@pages.get("/about", Scope.READ)
async def about_page(call: Call) -> Response:
    """Versions, the store, the limits, the keys."""
    options, url = call.service.options, call.service.backend.place
    packages = {name: version(name) for name in ("foliot", "starlette", "msgspec", "jinja2", "tzdata")}
    going = [(item.key, item.name) for group in RAIL for item in group if item.key]
    return await render(
        call,
        "about.html",
        heading="About",
        command=("--version",),
        packages=packages,
        store=without_password(url),
        schema=await asyncio.to_thread(_schema, url),  # it waits for the store, and others must not
        scheduler=await scheduler(call),
        who=await whoami(call),
        limits=asdict(call.service.limits),
        keys=KEYS,
        going=going,
        settings={
            "Host names": "any" if options.hosts is None else ", ".join(sorted(options.hosts)),
            "Path prefix": options.root or "none",
            "Served by https": "yes" if options.is_https else "no",
            "Changes need If-Match": "yes" if options.demands_match else "no",
        },
    )


def _schema(url: str) -> Schema | None:
    try:
        return schema_of(url)
    except FoliotError:  # a store in memory has none
        return None
