"""The statements of the hot path find their rows by an index, however many jobs and runs there are."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from foliot.stores.sql import cut, look, prune
from foliot.stores.sql import history as shared
from foliot.stores.sqlite import SqliteStore, history, life, question, run, statement
from foliot.testing.clock import ManualClock

HOT = {
    "what is due": (statement.DUE, ["states_due", "jobs USING INTEGER PRIMARY KEY"]),
    "the next wake": (statement.NEXT_WAKE, ["states_due"]),
    "the backlog": (statement.BACKLOG, ["states_due"]),
    "jobs by key": (statement.one_of(statement.BY_KEY, ["?"] * 8), ["sqlite_autoindex_jobs_1"]),
    "jobs by number": (statement.one_of(statement.BY_NUMBER, ["?"] * 8), ["jobs USING INTEGER PRIMARY KEY"]),
    "open attempts": (statement.one_of(statement.OPEN_OF_JOBS, ["?"] * 8), ["attempts_open"]),
    "what a node holds": (statement.HELD, ["attempts_held"]),
    "what the dead held": (run._LOST, ["attempts_held", "states USING INTEGER PRIMARY KEY"]),
    "who holds anything": (statement.HOLDERS, ["attempts_held"]),
    "cancels": (life._CANCELS, ["attempts_held"]),
    "the history of a job": (shared.WALK, ["PRIMARY KEY"]),
    "what is behind cuts": (
        cut.BEHIND_CUTS.replace(":these", "(1, 2, 3)"),
        ["states USING INTEGER PRIMARY KEY", "PRIMARY KEY"],
    ),
    "instants of a job": (shared.KNOWN.replace(":these", "(1, 2, 3)"), ["PRIMARY KEY"]),
    "the newest of a job": (history.NEWEST_FIRST, ["attempts_rise", "PRIMARY KEY"]),
    "the last success of a job": (history.SUCCESS_FAR, ["states USING INTEGER PRIMARY KEY", "PRIMARY KEY"]),
    "problems of a job": (question.PROBLEMS_OF_JOB, ["attempts_trouble"]),
    "the first skips": (look.SKIPS, ["PRIMARY KEY"]),
    "a history worth a look": (
        prune.RIPE.format(ripe="INDEXED BY states_ripe", lock=""),
        ["states_ripe"],
    ),
    "a history that is old": (prune.OLD.format(old="INDEXED BY states_old", lock=""), ["states_old"]),
    "its neighbours": (prune.NEIGHBOURS, ["states USING INTEGER PRIMARY KEY"]),
    "the oldest of a long history": (prune.OLDEST, ["PRIMARY KEY"]),
    "a lane": ("SELECT lane_no, kind FROM lanes WHERE queue = ?", ["sqlite_autoindex_lanes_1"]),
    "a claim made before": ("SELECT claim_no FROM claims WHERE claim_id = ? AND node_no = ?", ["claims"]),
}


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    async def create() -> None:
        async with SqliteStore(tmp_path / "jobs.db", ManualClock()):
            pass

    asyncio.run(create())
    with closing(sqlite3.connect(tmp_path / "jobs.db")) as connection:
        yield connection


@pytest.mark.parametrize("name", HOT)
def test_rows_are_found_by_an_index(connection: sqlite3.Connection, name: str) -> None:
    sql, wanted = HOT[name]
    names = dict.fromkeys(("job", "most", "first", "now", "since"), 9)
    values: object = names if ":" in sql else (1,) * sql.count("?")
    rows = connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)  # type: ignore[arg-type]  # either kind
    plan = [detail.replace(" AS ", " ") for *_, detail in rows]
    scans = [step for step in plan if step.startswith("SCAN") and not _is_bounded(step)]
    assert scans == [], plan
    assert not any("TEMP B-TREE" in step for step in plan), plan
    for index in wanted:
        assert any(re.sub(r" (s|j|a|h) ", " ", step).find(index.split(" USING")[-1]) >= 0 for step in plan), (
            plan
        )


def _is_bounded(step: str) -> bool:
    """Steps over what the query itself has made, and the first of an index."""
    return any(
        step.startswith(f"SCAN {made}")
        for made in (
            "instants",
            "past",
            "i",
            "p",
            "holders",
            "(subquery",
            "h",
            "CONSTANT",
            "s USING COVERING INDEX states_ripe",
            "s USING INDEX states_ripe",
        )
    )
