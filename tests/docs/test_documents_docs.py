"""The reference of the documents door names all that the door has, with its defaults."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from foliot.doors import documents
from foliot.doors.documents import Config, FencedStore, Job, JobStore, Scheduler, Settled, TimedStore
from foliot.doors.documents.errors import _SENTENCES

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs/reference/documents.md").read_text()
MADE_BY_USERS = [
    "Config", "Scheduler", "Job", "JobUpdate", "Fields", "Columns", "MemoryStore", "MongoStore",
    "PostgresStore", "SqliteStore", "RedisStore",
]  # fmt: skip


def public(owner: type) -> list[str]:
    return [name for name in vars(owner) if not name.startswith("_")]


@pytest.mark.req("DOC-03", "DOC-08", "DOC-16")
@pytest.mark.parametrize("name", documents.__all__)
def test_each_public_name_is_documented(name: str) -> None:
    assert re.search(rf"`{name}[`(]", PAGE)


@pytest.mark.parametrize(
    "name",
    [
        *(name for owner in (Scheduler, JobStore, FencedStore, TimedStore) for name in public(owner)),
        *(field.name for owner in (Config, Job) for field in fields(owner)),
        *(one.name for one in Settled),
        *_SENTENCES,
    ],
)
def test_each_method_option_field_and_word_is_documented(name: str) -> None:
    assert re.search(rf"`(await )?{name}[`(]", PAGE)


@pytest.mark.parametrize("name", MADE_BY_USERS)
def test_each_parameter_is_documented(name: str) -> None:
    described = PAGE[re.search(rf"\*\*`{name}\(", PAGE).start() :].split("\n\n**`")[0]  # type: ignore[union-attr] # a failure either way
    for parameter in inspect.signature(getattr(documents, name)).parameters:
        assert re.search(rf"[`(, *]{parameter}[`=,)]", described), parameter


@pytest.mark.req("DOC-14")
def test_defaults_of_a_config_are_as_documented() -> None:
    for field in fields(Config):
        shown = f"{field.name}`"
        line = next(
            line for line in PAGE.splitlines() if line.startswith("| `") and shown in line.split("|")[1]
        )
        assert f"| {_shown(field.default)} |" in line, field.name


@pytest.mark.parametrize(
    "name", ["JobUpdate", "Fields", "Columns", "MongoStore", "SqliteStore", "RedisStore"]
)
def test_defaults_of_other_parameters_are_as_documented(name: str) -> None:
    call = re.search(rf"\*\*`{name}\((.*?)\)`\*\*", PAGE)
    assert call is not None
    for parameter in inspect.signature(getattr(documents, name)).parameters.values():
        if parameter.default is not inspect.Parameter.empty:
            assert f"{parameter.name}={_shown(parameter.default)[1:-1]}" in call[1]


def _shown(default: Any) -> str:
    if isinstance(default, timedelta):
        minutes = int(default.total_seconds() // 60)
        return f'`"{minutes}m"`' if minutes else "`0`"
    return f'`"{default}"`' if isinstance(default, str) else f"`{default!r}`"
