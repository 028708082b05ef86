"""Every verb is written once; a dialect's store says only what is its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import foliot.stores
from foliot.protocols import NodeStore, OutputStore, SourceStore, Store
from foliot.stores.postgres import PostgresStore
from foliot.stores.sql.store import Lane, SqlStore
from foliot.stores.sqlite import SqliteStore
from foliot.testing.clock import ManualClock

VERBS = {
    name
    for protocol in (Store, OutputStore, NodeStore, SourceStore)
    for name in vars(protocol)
    if not name.startswith("_")
}
# Of these, what is done around the verb, or what time it is, is a matter of the database.
OWN = {
    SqliteStore: {"join", "leave", "recover", "wakes", "now"},
    PostgresStore: {"reconcile", "now"},
}


def test_every_verb_is_there() -> None:
    assert set(vars(SqlStore)) >= VERBS - {"now"}


@pytest.mark.parametrize("store", OWN)
def test_a_dialect_says_no_verb_again(store: type[SqlStore[object]]) -> None:  # type: ignore[type-var]  # any session
    assert VERBS & set(vars(store)) == OWN[store]


def test_every_lane_is_served(tmp_path: Path) -> None:
    assert set(PostgresStore("postgresql://h/d")._lanes) == set(Lane)
    file = SqliteStore(tmp_path / "jobs.db", ManualClock())
    assert set(file._readers) == {Lane.READER, Lane.GLANCE, Lane.COUNTER}, "all others write"


def test_what_is_shared_names_no_database() -> None:
    folder = Path(str(foliot.stores.__file__)).parent / "sql"
    named = []
    for file in folder.glob("*.py"):
        code = re.sub(r'""".*?"""|#.*', "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
        named += re.findall(r"sqlite|postgres|psycopg", code, re.IGNORECASE)
    assert named == []
