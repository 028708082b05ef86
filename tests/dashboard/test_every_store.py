"""Every page that can be asked for opens on every store, with jobs, runs, sources and pipelines in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from api.stage import Stage, staged
from dashboard.conftest import furnish
from dashboard.visitor import Visitor
from foliot.dashboard.application import PAGES
from foliot.testing.servers import MissingServerError, shared_mongodb, shared_postgres, shared_redis
from stores.mongodb.opening import fresh as fresh_mongodb
from stores.postgres.opening import fresh as fresh_postgres
from stores.redis.opening import fresh as fresh_redis

STORES = (
    "sqlite",
    pytest.param("postgresql", marks=pytest.mark.prove),
    pytest.param("redis", marks=pytest.mark.prove),
    pytest.param("mongodb", marks=pytest.mark.prove),
)
# What is asked beyond the plain page: each part of it reads something else of the store.
MORE = {
    "/": [],
    "/jobs": [
        "state=failing",
        "state=paused",
        "state=open",
        "state=damaged",
        "order=soonest",
        "search=back",
        "source=ops",
        "queue=default",
        "removed=true",
        "limit=1",
    ],
    "/jobs/{job}": [
        "tab=runs",
        "tab=runs&status=failed",
        "tab=definition",
        "tab=policies",
        "why=true",
        "at=2026-01-01T04:00",
        "zoom=hour",
        "zoom=week",
        "zoom=year",
    ],
    "/journal": ["what=skips", "status=failed", "limit=1"],
    "/calendar": ["zone=Europe/Berlin", "source=ops", "queue=default", "at=2026-11-20T03:00Z"],
    "/lab": ["expr=30+2+*+*+*"],
    "/runs/{run}": ["find=done"],
}


def _url(kind: str, folder: Path) -> str:
    try:
        match kind:
            case "postgresql":
                return fresh_postgres(shared_postgres().url)
            case "redis":
                return fresh_redis(shared_redis("redis").url)
            case "mongodb":
                return fresh_mongodb(shared_mongodb().url)
    except MissingServerError as error:
        pytest.skip(str(error))
    return f"sqlite:///{folder}/jobs.db"


@pytest.fixture(scope="module", params=STORES)
def stored(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("every")
    with staged(_url(request.param, folder), folder) as stage:
        furnish(stage)
        yield stage


def _paths(stage: Stage) -> list[str]:
    """Every route, with something that is there in the place of each brace."""
    runs = stage.get("/jobs/ops~2Fbackup/runs")["runs"]
    revision = stage.get("/sources/ops/revisions")["revisions"][0]["ordinal"]
    ids = {
        "job": "ops~2Fbackup",
        "run": runs[0]["id"],
        "source": "ops",
        "pipeline": stage.ids["pipeline"],
        "schedule": stage.ids["schedule"],
        "number": "1",
        "file": "style.css",
    }
    found = []
    for route in (route for group in PAGES for route in group.routes if route.verb == "GET"):
        own = dict(ids)
        if route.path.startswith("/sources/"):
            own["number"] = str(revision)
        if route.path.startswith("/jobs/{job}/edit"):
            own["job"] = "api~2Fmail"
        path = route.path.format_map(own)
        found += [path, *(f"{path}?{query}" for query in MORE.get(route.path, ()))]
    found += [f"/runs/{run['id']}" for run in runs]
    return found


def test_every_page_opens(stored: Stage) -> None:
    visitor = Visitor(stored)
    opened = []
    for path in _paths(stored):
        answer = visitor.client.get(path, follow_redirects=True)
        opened.append((path, answer.status_code))
        assert "Traceback" not in answer.text, path
    assert [one for one in opened if one[1] != 200] == []
    assert len(opened) > len(PAGES) + sum(map(len, MORE.values()))


def test_every_link_of_every_page_leads_somewhere(stored: Stage) -> None:
    wrong = [(path, answer.status_code) for path, answer in Visitor(stored).walk(most=150) if answer.is_error]
    assert wrong == []
