"""A server with the dashboard on a store in memory, with some history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Browser

from api.stage import BACKUP, NEW, PIPELINE, Stage, staged
from dashboard.visitor import Visitor
from dashboard.watched import chromium
from foliot.model.attempt import Outcome
from foliot.schedules import Cron

SALES = {"namespace": "shop", "layer": "gold", "pipeline": "sales"}


def furnish(stage: Stage, *, with_open: bool = True) -> None:
    """Some of everything: runs that succeeded and failed, one that is open, versions, a pipeline."""
    stage.post("/jobs/ops~2Fbackup/runs", code=202, headers={"Idempotency-Key": "first"})
    stage.run_due(text="\x1b[32mgreen\x1b[0m and done")
    stage.post("/jobs/ops~2Fbackup/runs", code=202, headers={"Idempotency-Key": "second"})
    stage.run_due(Outcome.FAILED, "broken")
    stage.declare(replace(BACKUP, schedule=Cron("0 4 * * *", timezone="Europe/Berlin")))
    stage.post("/jobs", NEW, code=201)
    pipeline = stage.post("/pipelines", PIPELINE, code=201)
    schedule = stage.post("/schedules", SALES | {"cron": "0 3 * * *"}, code=201)
    stage.ids |= {"pipeline": pipeline["id"], "schedule": schedule["id"]}
    if with_open:
        stage.post("/jobs/ops~2Fbackup/runs", code=202, headers={"Idempotency-Key": "open"})
        stage.claim()


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with staged(None, tmp_path_factory.mktemp("dashboard")) as stage:
        furnish(stage)
        yield stage


@pytest.fixture(scope="module")
def ada(stage: Stage) -> Visitor:
    return Visitor(stage)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser
