"""The lock of `make run`: what a person who only tries Foliot installs, and nothing for developers."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent.parent
PIN = re.compile(r"^([A-Za-z0-9_.-]+)==([^ ;]+)", re.MULTILINE)


def pins(name: str) -> dict[str, str]:
    text = (ROOT / "requirements" / name).read_text()
    return {canonicalize_name(package): version for package, version in PIN.findall(text)}


def declared() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [
        Requirement(text) for text in (*project["dependencies"], *project["optional-dependencies"]["api"])
    ]


def test_the_lock_of_make_run_has_what_the_package_and_its_api_need() -> None:
    locked = pins("run.lock")
    for requirement in declared():
        version = locked[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement} is locked at {version}: make lock"


def test_it_has_the_versions_that_the_tests_run_with_and_no_tools_of_developers() -> None:
    locked, tested = pins("run.lock"), pins("dev.lock")
    assert {name: tested.get(name) for name in locked} == locked
    assert locked.keys().isdisjoint({"mypy", "pytest", "ruff", "hypothesis", "django", "celery", "hatchling"})
    assert len(locked) < 20


def test_make_run_installs_it_and_make_lock_renews_it() -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert "tools/bootstrap.sh $(RUN) requirements/run.lock" in makefile
    assert "--extra api -o requirements/run.lock" in makefile
