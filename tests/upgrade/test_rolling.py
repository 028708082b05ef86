"""An older and a newer version work together on one store; a newer major version stops the older ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from foliot.wiring import schema_of
from real_postgres import shared_url
from real_redis import redis_url_of
from stores.redis.opening import fresh
from upgrade.fleet import ROOT, Fleet, source_of

pytestmark = pytest.mark.prove

# Commits with the first schema of each store; steps were added since. Of Redis: before it could heal.
OLDER = {"sqlite": "3c331c6", "postgres": "b879264", "redis": "f20a936"}
FIRST = {"sqlite": 1001, "postgres": 1001, "redis": 1000}
# Steps that later releases will take.
MINOR = {"sqlite": 1999, "postgres": 1999, "redis": 1999}
MAJOR = 2001
NEW = ROOT / "src"


@pytest.fixture(params=["sqlite", "postgres", "redis"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def fleet(kind: str, tmp_path: Path) -> Iterator[Fleet]:
    fleet = Fleet(store_for(kind, tmp_path), tmp_path)
    try:
        yield fleet
    finally:
        fleet.kill_all()


def store_for(kind: str, folder: Path) -> str:
    if kind == "sqlite":
        return f"sqlite:///{folder}/jobs.db"
    if kind == "redis":
        return fresh(redis_url_of(kind))
    return f"{shared_url()}?schema=upgrade_{uuid4().hex}"


def test_nodes_are_upgraded_one_by_one_and_back_and_nothing_is_missed_or_runs_twice(
    kind: str, fleet: Fleet, tmp_path: Path
) -> None:
    old = source_of(OLDER[kind], tmp_path / "old")
    fleet.start("old-1", old)
    fleet.start("old-2", old)
    fleet.wait_for("old-1")
    fleet.wait_for("old-2", 1)  # a program that is still being loaded does not stop in order
    assert schema_of(fleet.store).found == FIRST[kind]
    assert f"this is {old}" in fleet.log("old-1")

    fleet.stop("old-2")
    fleet.start(
        "new-2", NEW, MINOR[kind]
    )  # it takes the store to a schema that the others have never heard of
    fleet.wait_for("new-2")
    assert schema_of(fleet.store).found == MINOR[kind]
    fleet.wait_for("old-1")
    fleet.stop("old-1")
    fleet.start("new-1", NEW)
    fleet.start("back-2", old)  # and back again: the newer schema stays
    fleet.wait_for("new-1")
    fleet.stop("new-2")
    fleet.wait_for("back-2")
    fleet.stop("new-1")
    fleet.stop("back-2")
    assert (fleet.duplicates(), fleet.gaps()) == ([], [])


def test_a_newer_major_schema_stops_a_node_that_runs_and_one_that_starts(fleet: Fleet) -> None:
    fleet.start("old", NEW)
    fleet.wait_for("old")
    fleet.start("new", NEW, MAJOR)
    assert fleet.ended("old") != 0
    counted = fleet.count("old")
    fleet.start("late", NEW)
    assert fleet.ended("late") != 0
    fleet.wait_for("new")
    fleet.stop("new")

    assert fleet.count("late") == 0
    assert fleet.count("old") == counted, "it did not go on"
    for label in ("old", "late"):
        assert f"the store has schema {MAJOR}, and this version of Foliot knows 1" in fleet.log(label)
        assert "use that version" in fleet.log(label)
    assert "engine_failed" in fleet.log("old")
    assert len(fleet.duplicates()) <= 1, "one run may have been under way: it starts again"
    assert fleet.gaps() == []
