"""What pages tell after a deed, and while something else is slow or gone."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event
from typing import Any

import pytest

from api.stage import Stage, staged
from dashboard.conftest import furnish
from dashboard.visitor import Visitor

pytestmark = pytest.mark.req("OWN-12")
JOB = "/jobs/ops~2Fbackup"


@pytest.fixture
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with staged(None, tmp_path_factory.mktemp("deeds")) as stage:
        furnish(stage)
        yield stage


@pytest.fixture
def ada(stage: Stage) -> Visitor:
    return Visitor(stage)


def test_a_pause_is_undone_where_it_is_told(stage: Stage, ada: Visitor) -> None:
    page = ada.press(ada.get(JOB), "Pause")
    assert "paused" in stage.get(JOB)["state"]
    ada.press(page, "Undo")
    assert "paused" not in stage.get(JOB)["state"]
    with pytest.raises(AssertionError, match="no button 'Undo'"):
        ada.get(JOB).form("Undo")


def test_a_run_that_was_cancelled_tells_how_it_ended_and_why_it_began(stage: Stage, ada: Visitor) -> None:
    stage.post(f"{JOB}/runs", code=202, headers={"Idempotency-Key": "waits"})
    run = "/runs/ops~2Fbackup~21waits"
    stage.post(f"{run}/cancel", code=202)
    page = ada.get(run).text
    assert "How it ended: cancelled by a person" in page
    assert "Why it exists: it was asked for" in page


def test_a_silent_node_does_not_count_as_one_that_lives(
    stage: Stage, ada: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = stage.server.application.service.store
    ask = store.nodes
    assert stage.get("/overview")["nodes"] == 1
    assert "No node lives" not in ada.get("/").text

    async def silent() -> Any:
        return tuple(view._replace(until=view.until - timedelta(days=9)) for view in await ask())

    monkeypatch.setattr(store, "nodes", silent)
    assert stage.get("/overview")["nodes"] == 0
    assert "No node lives, so nothing runs." in ada.get("/").text


def test_a_database_that_hangs_holds_up_no_other_request(
    stage: Stage, ada: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answers = Event(), Event()

    def hang(_: str) -> None:
        asked.set()
        answers.wait(60)

    monkeypatch.setattr("foliot.dashboard.about.schema_of", hang)
    with ThreadPoolExecutor(1) as other:
        about = other.submit(ada.client.get, "/about")
        try:
            assert asked.wait(30)
            assert stage.client.get("/livez", timeout=30).text == "ok"
            assert not about.done()
        finally:
            answers.set()
        assert about.result().status_code == 200
