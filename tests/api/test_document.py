"""The OpenAPI document: it describes every route, and what is sent is what it says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from api.stage import Stage
from foliot.api.application import GROUPS
from foliot.api.openapi_words import EXAMPLES
from foliot.api.problem import Problem


def test_every_route_is_described_with_its_scope_and_its_problems(alone: Stage) -> None:
    document = alone.ask("GET", "//openapi.json", "read").json()
    described = {one["operationId"]: one for verbs in document["paths"].values() for one in verbs.values()}
    routes = {route.name: route for group in GROUPS for route in group.routes}
    assert described.keys() == routes.keys()
    for name, one in described.items():
        assert one["summary"].endswith("."), name
        problem = document["components"]["responses"]["Problem"]
        assert problem["content"].keys() == {"application/problem+json"}
        assert one["responses"]["default"] == {"$ref": "#/components/responses/Problem"}
        is_for_all = routes[name].scope is None
        assert ("401" in one["responses"]) != is_for_all, name
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


def _schemas(document: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each field and each parameter, with its name and its schema; null is left out."""
    for kind, schema in document["components"]["schemas"].items():
        for name, one in schema.get("properties", {}).items():
            yield f"{kind}.{name}", one
    for verbs in document["paths"].values():
        for one in verbs.values():
            for parameter in one["parameters"]:
                yield f"{one['operationId']}?{parameter['name']}", parameter["schema"]


def test_a_generator_of_clients_finds_what_it_wants(alone: Stage) -> None:
    document = alone.ask("GET", "//openapi.json").json()
    every = json.dumps(document)
    untimed, untyped = [], []
    for name, schema in _schemas(document):
        kinds = [one for one in schema.get("anyOf", [schema]) if one.get("type") != "null"]
        is_time = name.endswith(("_at", "_until", "scheduled_for", "covers_from", ".at", ".since", ".until"))
        untimed += [name for one in kinds if is_time and one.get("format") != "date-time"]
        untyped += [name for one in kinds if "enum" in one and one.get("type") != "string"]
    assert (untimed, untyped) == ([], [])
    assert "\\A" not in every, "a mark that only Python knows"
    operations = [one for verbs in document["paths"].values() for one in verbs.values()]
    assert len({one["operationId"] for one in operations}) == len(operations)
    for one in operations:
        assert all(parameter["description"] for parameter in one["parameters"]), one["operationId"]
        assert one["summary"].count(". ") == 0
        assert one["description"].startswith(one["summary"])
    assert all(tag["description"] for tag in document["tags"])
    schemas = document["components"]["schemas"]
    assert schemas["RunAnswer"]["properties"]["status"]["enum"] == [
        "cancelled", "failed", "pending", "running", "success",
    ]  # fmt: skip
    for kind, field in (("AttemptAnswer", "state"), ("WhyAnswer", "verdict"), ("TokenAnswer", "scope")):
        assert schemas[schemas[kind]["properties"][field]["$ref"].rpartition("/")[2]]["enum"]


@pytest.mark.parametrize(("name", "example"), EXAMPLES.items(), ids=EXAMPLES)
def test_an_example_of_the_document_is_one_of_what_is_described(name: str, example: Any) -> None:
    kinds = {route.body for group in GROUPS for route in group.routes} | {Problem}
    [kind] = [kind for kind in kinds if getattr(kind, "__name__", "") == name]
    assert msgspec.to_builtins(msgspec.convert(example, kind)).keys() >= example.keys()


CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_schema_conformance", "response_headers_conformance", "negative_data_rejection",
    "unsupported_method", "ignored_auth",
)  # fmt: skip
# A stream does not end; a login is for browsers; a source that is removed takes its jobs along.
LEFT_OUT = ("/api/v1/events", "/login", "/logout")


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
    find_breaches(alone, tmp_path, "--max-examples", "10")
