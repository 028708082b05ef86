"""`foliot store check | migrate`, and what every command does with a store that it cannot use."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from cli.calls import Result, call, command, run
from cli.shop import Shop
from foliot.stores.sqlite.migration import APPLICATION, steps

NEWEST = steps()[-1].number
QUESTIONS = [
    ("job", "list"), ("job", "show", "x"), ("job", "next", "x"), ("job", "why", "x"), ("job", "pause", "x"),
    ("job", "resume", "x"), ("job", "trigger", "x"), ("run", "list"), ("run", "show", "x@y"),
    ("job", "backfill", "x", "--from", "2026-01-01", "--to", "2026-01-02"),
    ("run", "logs", "x@y"), ("run", "cancel", "x@y"), ("node", "list"), ("source", "list"),
    ("source", "remove", "x"), ("store", "check"),
]  # fmt: skip


def named(words: tuple[str, ...]) -> str:
    return " ".join(words[:2])


@pytest.mark.parametrize("words", QUESTIONS, ids=named)
def test_a_question_creates_no_store(tmp_path: Path, words: tuple[str, ...]) -> None:
    result = call(*words, "--store", f"sqlite:///{tmp_path}/jobs.db")
    hint = "hint: foliot serve creates it at its first start; name another with --store or FOLIOT_STORE"
    assert result == Result(6, "", f"error: there is no file {tmp_path}/jobs.db\n{hint}\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", QUESTIONS, ids=named)
def test_the_database_of_another_program_is_left_as_it_is(tmp_path: Path, words: tuple[str, ...]) -> None:
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE songs (title)")
    before = path.read_bytes()
    for call_ in (words, ("store", "migrate")):
        result = call(*call_, "--store", f"sqlite:///{path}")
        assert result.code == (9 if call_ == ("store", "check") else 1)
        assert "the file is the database of another program" in result.err + result.out
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("words", [*QUESTIONS, ("store", "migrate")], ids=named)
def test_without_an_option_or_a_variable_the_store_is_that_of_the_daemon(
    tmp_path: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FOLIOT_STORE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    result = call(*words)
    assert result.code in (3, 6)
    assert f"{tmp_path}/foliot" in result.err
    monkeypatch.setenv("FOLIOT_STORE", f"sqlite:///{tmp_path}/no/jobs.db")
    assert call(*words).code in (3, 6)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://admin:hush@db/jobs",
        "postgresql://admin:hu/hush@db/jobs",
        "postgresql://admin:a://hush@db/jobs",
        "postgresql://db/jobs?password=hush",
        "postgresql://admin:[hush@db/jobs",
        "redis://:hush@db",
        "mongodb://admin:hush@db/jobs?w=1",
        "admin:hush@db",
        "mongo://admin:hush@db",
        "sqlite://admin:hush@db/jobs",
        "memory://admin:hush@db",
    ],
)
@pytest.mark.parametrize("words", [("job", "list"), ("store", "migrate"), ("store", "check")], ids=named)
def test_no_password_is_printed(url: str, words: tuple[str, ...]) -> None:
    for output in ("table", "json"):
        result = call(*words, "--store", url, "-o", output)
        assert result.code in (3, 6)  # no such store, or nobody there who answers
        assert "hush" not in result.out + result.err


def test_a_store_in_memory_cannot_be_asked_from_outside() -> None:
    for words in (("job", "list"), ("store", "migrate")):
        result = call(*words, "--store", "memory://")
        assert result.code == 3
        assert "lives in one process only" in result.err


def test_a_sound_store(shop: Shop) -> None:
    result = shop.call("store", "check")
    assert result == Result(
        0, f"ok: no damage was found\njobs: 5, open attempts: 1, nodes alive: 1, schema: {NEWEST}\n", ""
    )
    document = shop.call("store", "check", "-ojson").json()
    assert (document["ok"], document["findings"]) == (True, [])
    assert document["schema"] == {"found": NEWEST, "newest": NEWEST}
    assert [node["node"] for node in document["nodes"]] == ["n1"]


def test_a_damaged_job_is_found(shop: Shop) -> None:
    with closing(sqlite3.connect(shop.path)) as connection, connection:
        connection.execute("UPDATE jobs SET frame = '{' WHERE key = 'billing/slow'")
    result = shop.call("store", "check", "-ojson")
    assert result.code == 9
    (finding,) = result.json()["findings"]
    assert (finding["code"], finding["severity"]) == ("damaged_job", "error")
    assert "error: billing/slow cannot be read: " in shop.call("store", "check").out


def test_a_silent_node_that_holds_runs_is_found(shop: Shop) -> None:
    shop.wait(timedelta(minutes=1))
    result = shop.call("store", "check")
    assert result.code == 9
    assert result.out.startswith(
        "warning: node n1 is silent: its lease ended 30 s ago, and it holds 1 open attempt(s)\n"
    )


def test_a_flaw_of_the_file_is_found(shop: Shop) -> None:
    with closing(sqlite3.connect(shop.path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = connection.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'states_due'"
        ).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    data = bytearray(shop.path.read_bytes())
    data[(page - 1) * size + 8 : page * size] = bytes(size - 8)
    shop.path.write_bytes(data)
    result = shop.call("store", "check", "-ojson")
    assert result.code == 9
    assert result.json()["findings"][0]["code"] == "flaw"


@pytest.mark.parametrize("content", [b"no database" * 100, b"", b"SQLite format 3\x00" + b"\xff" * 4096])
def test_what_is_no_store_is_a_finding_for_check_and_an_error_for_others(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "jobs.db"
    path.write_bytes(content)
    url = f"sqlite:///{path}"
    assert call("store", "check", "--store", url).code == 9
    assert call("job", "list", "--store", url).code == 1
    assert path.read_bytes() == content


def test_migrate_creates_a_store_and_then_leaves_it(tmp_path: Path) -> None:
    words = ("store", "migrate", "--store", f"sqlite:///{tmp_path}/jobs.db")
    assert call(*words).out == f"ok: the store was created, with schema {NEWEST}\n"
    assert call(*words).out == f"ok: the schema is {NEWEST}, the newest already\n"
    assert call(*words, "-ojson").json() == {"from": NEWEST, "to": NEWEST, "created": False}
    assert call("job", "list", *words[2:]).out == "No jobs.\n"
    lost = call("store", "migrate", "--store", f"sqlite:///{tmp_path}/no/jobs.db")
    assert lost.code == 3
    assert "there is no folder" in lost.err


def test_an_older_schema_is_told_and_migrated_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "jobs.db"
    first = steps()[0]
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            f"{first.script}; PRAGMA user_version = {first.number}; PRAGMA application_id = {APPLICATION}"
        )
    where = ("--store", f"sqlite:///{path}")
    refused = call("job", "list", *where)
    assert refused.code == 1
    assert refused.err == (
        f"error: the store has schema 1001, and this version of Foliot needs {NEWEST}\n"
        "hint: foliot store migrate\n"
    )
    check = call("store", "check", *where)
    assert (check.code, check.out) == (
        9, f"warning: the schema is 1001, and the newest is {NEWEST}: foliot store migrate\n"
    )  # fmt: skip
    assert call("store", "migrate", *where).out == f"ok: the schema went from 1001 to {NEWEST}\n"
    assert call("job", "list", *where).out == "No jobs.\n"


def test_a_store_that_is_locked_is_unreachable(shop: Shop) -> None:
    with closing(sqlite3.connect(shop.path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        result = run(command("foliot", "job", "pause", "slow", "--store", shop.url))
    assert result.code == 6
    assert "database is locked" in result.err
