"""The OpenAPI document: it describes every route, and what is sent is what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from api.stage import Stage
from foliot.api.application import GROUPS


def test_every_route_is_described_with_its_scope_and_its_problems(alone: Stage) -> None:
    document = alone.ask("GET", "//openapi.json", "read").json()
    described = {one["operationId"]: one for verbs in document["paths"].values() for one in verbs.values()}
    routes = {route.name: route for group in GROUPS for route in group.routes}
    assert described.keys() == routes.keys()
    for name, one in described.items():
        assert one["summary"].endswith("."), name
        assert one["responses"]["default"]["content"].keys() == {"application/problem+json"}
        assert one["x-foliot-scope"] == (routes[name].scope or "none")
        is_change = routes[name].changes and routes[name].scope is not None
        assert ("dry_run" in [parameter["name"] for parameter in one["parameters"]]) == is_change
    page = alone.ask("GET", "//docs", "read").text
    assert all(f'id="{name}"' in page for name in routes)


def test_every_reference_of_the_document_leads_somewhere(alone: Stage) -> None:
    document = alone.ask("GET", "//openapi.json").json()
    known = document["components"]["schemas"]

    def walk(value: Any) -> None:
        if isinstance(value, dict):
            if "$ref" in value:
                assert value["$ref"].rpartition("/")[2] in known
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(document)
    assert "flt_" not in json.dumps(document, ensure_ascii=False).replace("flt_…", "")


CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_schema_conformance", "response_headers_conformance", "negative_data_rejection",
    "unsupported_method", "ignored_auth",
)  # fmt: skip
# A stream does not end; a login is for browsers; a source that is removed takes its jobs along.
LEFT_OUT = ("/api/v1/events", "/login", "/logout", "/", "/static/{file}")


def find_breaches(stage: Stage, folder: Path, *options: str) -> None:
    """Send what the document allows, and what it does not, in all phases."""
    document = stage.ask("GET", "//openapi.json").json()
    for path in LEFT_OUT:
        document["paths"].pop(path)
    file = folder / "openapi.json"
    file.write_text(json.dumps(document))
    command = [
        str(Path(sys.executable).parent / "schemathesis"), "run", str(file), "--url", stage.base,
        "--header", f"Authorization: Bearer {stage.tokens['admin']}", "--checks", ",".join(CHECKS),
        "--suppress-health-check", "all", "--generation-deterministic", "--no-color", *options,
    ]  # fmt: skip
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - a test's own
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2000:]


@pytest.mark.prove
@pytest.mark.req("OWN-09")
def test_schemathesis_finds_no_breach_of_the_document(alone: Stage, tmp_path: Path) -> None:
    find_breaches(alone, tmp_path, "--max-examples", "30")
