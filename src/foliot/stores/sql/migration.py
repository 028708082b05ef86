"""The steps of a schema, read from the package of a dialect.

The number of a step is 1000 × the major version of the schema, plus a count. A step within a major version
only adds things that older programs can ignore, so older and newer programs work side by side.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

from foliot.errors import StoreError

_MAJOR_STEP = 1000


class Step(NamedTuple):
    """One step of a schema."""

    number: int
    name: str
    script: str


@cache
def read_steps(package: str) -> tuple[Step, ...]:
    """All steps, in order. They are read once: a process opens many stores, and each asks twice."""
    found = []
    for file in (files(package) / "migrations").iterdir():
        number, _, name = file.name.removesuffix(".sql").partition("_")
        if file.name.endswith(".sql"):
            found.append(Step(int(number), name, file.read_text(encoding="utf-8")))
    return tuple(sorted(found))


def major_of(number: int) -> int:
    """The major version of a schema at that step."""
    return number // _MAJOR_STEP


def refuse_newer(number: int, known: int) -> None:
    """StoreError if a schema is of a newer major version than this program knows."""
    if major_of(number) > known:
        raise StoreError(
            f"the store has schema {number}, and this version of Foliot knows {known}.x only",
            details={"found": number, "known": known},
            hint="a newer version of Foliot has migrated it: use that version, or a copy from before",
        )
