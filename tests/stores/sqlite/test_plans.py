"""The statements of the hot path find their rows by an index, however many jobs and runs there are."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from foliot.stores.sql import herd
from foliot.stores.sqlite import SqliteStore, batch, session, store
from foliot.stores.sqlite.dialect import _MANY, _about, _for_many, _translated
from foliot.testing.clock import ManualClock
from stores.shared_statements import SHARED, VALUES

HOT = {
    "what is due": (batch.DUE, ["states_due", "jobs USING INTEGER PRIMARY KEY"]),
    "what is due in some lanes": (batch.merged((1, 2, 3)), ["states_due", "jobs USING INTEGER PRIMARY KEY"]),
    "a claim made before": (session.CLAIMED_BEFORE, ["claims"]),
    "attempts to be cancelled": (store.CANCELS, ["attempts_cancelling"]),
    **{name: (shared.sql, shared.sqlite) for name, shared in SHARED.items() if shared.sqlite},
}
# What is sorted is a page, whatever the length of the history.
SORTED = {
    "when jobs last succeeded", "problems of a job", "open runs", "runs of a source", "skips of a source",
}  # fmt: skip


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
    text = _for_many(sql, 8)[0] if _MANY.search(sql) else _translated(sql)
    values: object = {**VALUES, "lane": 9, "count": 9} if ":" in text else (1,) * text.count("?")
    rows = connection.execute(f"EXPLAIN QUERY PLAN {text}", values)  # type: ignore[arg-type]  # either kind
    plan = [detail.replace(" AS ", " ") for *_, detail in rows]
    made = {
        f"SCAN {step.split()[-1]}" for step in plan if step.startswith("CO-ROUTINE")
    }  # by the query itself
    scans = [step for step in plan if step.startswith("SCAN") and not _is_bounded(step) and step not in made]
    assert scans == [], plan
    assert name in SORTED or not any("TEMP B-TREE" in step for step in plan), plan
    for index in wanted:
        assert any(re.sub(r" (s|j|a|h) ", " ", step).find(index.split(" USING")[-1]) >= 0 for step in plan), (
            plan
        )


@pytest.mark.parametrize(
    ("sql", "columns", "shared"),
    [
        (herd.START, herd.STARTED, ("now", "node_no")),
        (herd.MOVE, herd.MOVED, ("now",)),
        (herd.MOVE_FIRST, herd.MOVED_FIRST, ("now",)),
        (herd.QUIET, herd.ENDING, ("node_no",)),
        (herd.END, herd.ENDING, ("node_no",)),
        (herd.FIND_STARTED, ("at", "job_no"), ()),
    ],
    ids=["start", "move", "move first", "quiet", "end", "find started"],
)
def test_herds_are_written_row_by_row_of_the_batch(
    connection: sqlite3.Connection, sql: str, columns: tuple[str, ...], shared: tuple[str, ...]
) -> None:
    text = _about(sql, columns, 2, shared)
    plan = [row[-1] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", (1,) * text.count("?"))]
    scans = [
        step for step in plan if step.startswith("SCAN") and not re.match(r"SCAN (v|g|\d* ?CONSTANT)", step)
    ]
    assert scans == [], plan
    assert any("PRIMARY KEY" in step for step in plan), plan


def _is_bounded(step: str) -> bool:
    """Steps over what the query itself has made, and the first of an index."""
    return any(
        step.startswith(f"SCAN {made}")
        for made in (
            "instants",
            "3 CONSTANT ROWS",
            "l",
            "d",
            "past",
            "i",
            "p",
            "holders",
            "(subquery",
            "h",
            "CONSTANT",
            "attempts USING INDEX attempts_cancelling",
            "s USING COVERING INDEX states_ripe",
            "s USING INDEX states_paused",
            "s USING INDEX states_failing",
            "s USING INDEX states_damaged",
            "a USING INDEX attempts_open",
            "f",
            "s USING INDEX states_ripe",
        )
    )
