"""The public names are pinned: adding or losing one is a decision, not an accident."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from importlib import metadata
from pathlib import Path

import pytest

import foliot
from foliot import errors, schedules


def test_public_names() -> None:
    assert sorted(foliot.__all__) == [
        "Attempt", "Cron", "Event", "Every", "Expect", "Foliot", "Happening", "JobRun", "JobStatus", "Keep",
        "Misfire", "Notify", "Once", "Outcome", "Overlap", "Retry", "Trigger", "Verdict", "Why", "parallel",
    ]  # fmt: skip
    assert dir(foliot) == foliot.__all__
    assert sorted(schedules.__all__) == ["Calendar", "Cron", "Every", "Never", "OnDays", "Once", "Schedule"]
    assert all(hasattr(foliot, name) for name in foliot.__all__)


def test_the_error_tree_is_drawn_as_it_is() -> None:
    drawn: dict[str, str] = {}
    path: list[str] = []
    for line in (inspect.getdoc(errors) or "").splitlines():
        if found := re.match(r"([│├└─ ]*)(\w+Error)\b", line):
            depth = len(found[1]) // 4
            path[depth:] = [found[2]]
            drawn[found[2]] = path[depth - 1] if depth else "Exception"
    real = {
        name: value.__bases__[0].__name__
        for name, value in vars(errors).items()
        if inspect.isclass(value) and value.__module__ == errors.__name__ and issubclass(value, BaseException)
    }

    assert drawn == real
    assert all(name.endswith("Error") for name in real)


CORE = (
    "alerts", "app", "clock", "engine", "errors", "executors", "model", "network", "protocols", "schedules",
    "stores/memory", "stores/sqlite", "wiring",
)  # fmt: skip


@pytest.mark.parametrize("part", CORE)
def test_the_core_imports_nothing_but_itself_and_the_standard_library(part: str) -> None:
    root = Path(foliot.__file__).parent
    files = [root / f"{part}.py"] if (root / f"{part}.py").exists() else list((root / part).rglob("*.py"))
    files = [file for file in files if not file.is_relative_to(root / "executors/celery")]  # of an extra
    imported = {
        name.partition(".")[0]
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }

    assert files
    assert imported <= sys.stdlib_module_names | {"foliot"}


def test_the_package_is_typed_and_its_version_is_known() -> None:
    assert (Path(foliot.__file__).parent / "py.typed").is_file()
    assert metadata.version("foliot") == "0.1.0"


def test_console_scripts() -> None:
    scripts = {
        entry.name
        for entry in metadata.distribution("foliot").entry_points
        if entry.group == "console_scripts"
    }

    assert scripts == {"foliot", "rollcron"}


def test_extras() -> None:
    assert set(metadata.metadata("foliot").get_all("Provides-Extra") or ()) == {
        "api",
        "postgres",
        "redis",
        "mongodb",
        "celery",
        "apprise",
        "holidays",
        "all",
    }
