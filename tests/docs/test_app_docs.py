"""The reference of the application object names all that the object has."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from foliot import Foliot
from foliot.app.core import AppSettings
from foliot.app.options import JobOptions
from foliot.app.status import JobStatus
from foliot.executors.python import JobRun
from foliot.model.attempt import Trigger
from foliot.model.decision import Event, Happening
from foliot.why import Verdict

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs/reference/app.md").read_text()


def public(owner: type) -> list[str]:
    return [name for name in dir(owner) if not name.startswith("_")]


@pytest.mark.parametrize("name", public(Foliot))
def test_each_method_is_documented(name: str) -> None:
    assert re.search(rf"`(await |@app\.)?{name}[`(]", PAGE)


@pytest.mark.parametrize(
    "name",
    [
        *(field.name for field in fields(AppSettings)),
        *JobOptions.__annotations__,
        *JobStatus._fields,
        *Event._fields,
        *Happening,
        *Verdict,
        *Trigger,
        *public(JobRun),
    ],
)
def test_each_setting_option_field_and_word_is_documented(name: str) -> None:
    assert f"`{name}`" in PAGE


def test_defaults_of_settings_are_as_documented() -> None:
    settings = AppSettings()
    for name in ("lease", "drain", "poll"):
        seconds = int(getattr(settings, name).total_seconds())
        assert f'| `{name}` | `"{seconds}s"` |' in PAGE
    assert f"| `slots` | `{settings.slots['default']}` |" in PAGE  # type: ignore[index] # a mapping by now


def test_each_example_is_in_the_index_and_has_a_test() -> None:
    index = (ROOT / "docs/index.md").read_text()
    tests = "".join(file.read_text() for file in (ROOT / "tests/examples").glob("test_*.py"))
    for file in (ROOT / "examples").glob("*.py"):
        assert f"(../examples/{file.name})" in index
        assert f'"{file.name}"' in tests or f"examples.{file.stem}" in tests
