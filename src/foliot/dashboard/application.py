"""All pages, as routes beside those of the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.routing import Route as StarletteRoute

from foliot.api.application import make_routes
from foliot.api.route import Group, Route
from foliot.api.service import Service
from foliot.dashboard import (
    about,
    access,
    backfill,
    bulk,
    calendar,
    entry,
    job,
    job_edit,
    jobs,
    journal,
    lab,
    nodes,
    overview,
    pipelines,
    run,
    sources,
)
from foliot.dashboard.endpoint import PageEndpoint
from foliot.dashboard.last_page import LastPages
from foliot.dashboard.view import error_page

PAGES: tuple[Group, ...] = tuple(
    module.pages
    for module in (
        entry,
        overview,
        jobs,
        bulk,
        job,
        job_edit,
        backfill,
        run,
        journal,
        calendar,
        lab,
        sources,
        nodes,
        pipelines,
        access,
        about,
    )
)


def make_pages(service: Service) -> Sequence[StarletteRoute]:
    """The routes of all pages."""
    last = LastPages(service.clock)
    service.lost_page = error_page

    def make(service: Service, routes: Mapping[str, Route]) -> PageEndpoint:
        return PageEndpoint(service, routes, last)

    return make_routes(service, PAGES, make)
