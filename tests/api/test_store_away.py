"""A real PostgreSQL that goes away and comes back: 503 while it is away, and then as before."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.stage import staged
from daemon.harness import eventually
from foliot.testing.servers import MissingServerError, postgres_server
from real_postgres import do_without
from stores.postgres.opening import fresh


@pytest.mark.prove
@pytest.mark.req("OWN-09")
def test_a_server_that_is_restarted_is_told_as_503_and_then_answers(tmp_path: Path) -> None:
    try:
        with postgres_server() as server, staged(fresh(server.url), tmp_path) as stage:
            assert stage.ask("GET", "/jobs").status_code == 200
            server.stop(immediate=True)
            for verb, path in (("GET", "/jobs"), ("POST", "/jobs/ops~2Fbackup/runs"), ("GET", "//readyz")):
                answer = stage.ask(verb, path, json={} if verb == "POST" else None)
                assert (answer.status_code, answer.json()["code"]) == (503, "STORE_UNAVAILABLE"), answer.text
                assert answer.headers["retry-after"] == "2"
            assert stage.client.get("livez").status_code == 200
            server.start()
            eventually(lambda: stage.ask("GET", "/jobs").status_code == 200, "an answer")
            assert stage.post("/jobs/ops~2Fbackup/runs", code=202)["new"]
    except MissingServerError as error:
        do_without(error)
