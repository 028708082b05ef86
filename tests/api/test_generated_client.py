"""A client that a generator writes from our OpenAPI document works against a real server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from api.stage import NEW, Stage

PACKAGE = "client_of_foliot"


@pytest.fixture
def part(alone: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Imports a module of a client that is generated from the document of the server."""
    (tmp_path / "openapi.json").write_text(alone.ask("GET", "//openapi.json").text)
    (tmp_path / "options.yaml").write_text("post_hooks: []\n")  # it would look for a formatter
    command = [
        str(Path(sys.executable).parent / "openapi-python-client"), "generate", "--path", "openapi.json",
        "--config", "options.yaml", "--meta", "none", "--output-path", PACKAGE, "--fail-on-warning",
    ]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603 - a test's own
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    monkeypatch.syspath_prepend(tmp_path)
    return lambda name: import_module(f"{PACKAGE}.{name}")


@pytest.mark.prove
def test_a_generated_client_creates_lists_shows_and_deletes_a_job(
    alone: Stage, part: Callable[[str], ModuleType]
) -> None:
    jobs = "api.jobs"
    address = {"base_url": alone.base, "token": alone.tokens["admin"], "timeout": 60}
    with part("client").AuthenticatedClient(**address) as client:
        body = part("models.new_job_body").NewJobBody.from_dict(NEW)
        made = part(f"{jobs}.create_job").sync_detailed(client=client, body=body)
        assert (made.status_code, made.parsed.key) == (201, "api/mail")

        listed = part(f"{jobs}.list_jobs").sync(client=client, source="api")
        assert [job.id for job in listed.jobs] == [made.parsed.id]

        show = part(f"{jobs}.show").sync
        shown = show(made.parsed.id, client=client)
        assert (shown.name, shown.action.kind) == ("mail", "python:send")
        assert shown.action.payload.to_dict() == {"user": 7}
        assert shown.next_at is not None

        assert part(f"{jobs}.remove_job").sync_detailed(made.parsed.id, client=client).status_code == 204
        problem = show(made.parsed.id, client=client)
        assert (problem.status, problem.code) == (404, "JOB_NOT_FOUND")
