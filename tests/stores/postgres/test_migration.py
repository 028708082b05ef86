"""The schema: whoever opens first makes it, others wait; a stranger's is refused, and so is a newer major."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from foliot.errors import InvalidStoreError, StoreError, StoreUnavailableError
from foliot.model.state import Node
from foliot.model.view import Schema
from foliot.stores.postgres import PostgresStore
from foliot.stores.postgres.address import Address, read_address
from foliot.stores.postgres.migration import MAJOR, steps
from foliot.wiring import flaws_of, schema_of

SNAPSHOT = Path(__file__).with_name("schema.txt")
OPEN_AND_JOIN = """
import asyncio, sys
from foliot.model.state import Node
from foliot.stores.postgres import PostgresStore

async def main():
    async with PostgresStore(sys.argv[1]) as store:
        await store.join(Node(sys.argv[2]))
        print(await store.revision("nobody"))

sys.stdin.readline()
asyncio.run(main())
"""
COLUMNS = """
    SELECT table_name || '.' || column_name,
        data_type || CASE is_nullable WHEN 'NO' THEN ' not null' ELSE '' END
    FROM information_schema.columns WHERE table_schema = %s ORDER BY table_name, ordinal_position
"""
INDEXES = "SELECT indexdef FROM pg_indexes WHERE schemaname = %s ORDER BY indexname"


async def open_and_close(url: str) -> None:
    async with PostgresStore(url):
        pass


def ask(url: str, sql: str, *values: object) -> list[Any]:
    server, schema = read_address(url)
    with psycopg.connect(server, options=f"-csearch_path={schema}") as connection:
        cursor = connection.execute(sql.encode(), values)
        return cursor.fetchall() if cursor.description else []


def shape_of(url: str) -> str:
    schema = read_address(url).schema
    columns = [f"{name} {kind}" for name, kind in ask(url, COLUMNS, schema)]
    indexes = [definition.replace(f"{schema}.", "") for (definition,) in ask(url, INDEXES, schema)]
    return "\n".join([*columns, *indexes]) + "\n"


def test_the_schema_is_what_was_reviewed(url: str) -> None:
    asyncio.run(open_and_close(url))
    assert shape_of(url) == SNAPSHOT.read_text()


def test_of_eight_processes_that_start_at_once_one_makes_the_schema_and_all_work(url: str) -> None:
    processes = [
        subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-c", OPEN_AND_JOIN, url, f"node-{number}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for number in range(8)
    ]  # fmt: skip
    answers = [process.communicate("go\n", timeout=120) for process in processes]
    assert answers == [("None\n", "")] * 8
    assert ask(url, "SELECT number FROM foliot_steps") == [(step.number,) for step in steps()]
    assert ask(url, "SELECT count(*) FROM nodes") == [(8,)]


def test_a_newer_major_schema_makes_an_older_program_refuse(url: str) -> None:
    asyncio.run(open_and_close(url))
    ask(url, "INSERT INTO foliot_steps (number, name) VALUES (%s, 'the future')", (MAJOR + 1) * 1000 + 1)
    with pytest.raises(StoreError, match=r"knows 1\.x only") as caught:
        asyncio.run(open_and_close(url))
    assert "newer version" in (caught.value.hint or "")
    with pytest.raises(StoreError, match=r"knows 1\.x only"):
        schema_of(url)


def test_a_newer_minor_schema_is_worked_on(url: str) -> None:
    asyncio.run(open_and_close(url))
    ask(url, "INSERT INTO foliot_steps (number, name) VALUES (%s, 'a column more')", MAJOR * 1000 + 999)
    asyncio.run(open_and_close(url))
    assert schema_of(url) == Schema(MAJOR * 1000 + 999, steps()[-1].number)


def test_the_tables_of_another_program_are_left_alone(url: str) -> None:
    server, schema = read_address(url)
    with psycopg.connect(server) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(f"CREATE TABLE {schema}.jobs (theirs text)")
    with pytest.raises(StoreError, match="another program"):
        asyncio.run(open_and_close(url))
    assert ask(url, "SELECT tablename::text FROM pg_tables WHERE schemaname = %s", schema) == [("jobs",)]


def test_a_question_makes_no_schema(url: str) -> None:
    with pytest.raises(StoreUnavailableError, match="no schema"):
        schema_of(url)
    assert ask(url, "SELECT 1 FROM pg_namespace WHERE nspname = %s", read_address(url).schema) == []


def test_two_schemas_of_one_database_know_nothing_of_each_other(server_url: str, url: str) -> None:
    async def act() -> None:
        async with PostgresStore(url) as ours, PostgresStore(f"{server_url}?schema=another") as theirs:
            await ours.join(Node("a"))
            assert (await theirs.overview()).nodes == ()

    asyncio.run(act())


def test_flaws_are_found(url: str) -> None:
    asyncio.run(open_and_close(url))
    assert flaws_of(url) == ()
    ask(url, "INSERT INTO jobs VALUES (1, 'a/b', '', '', 1)")
    assert flaws_of(url) == ("1 job(s) have no state",)


@pytest.mark.parametrize(
    ("url", "schema"),
    [
        ("postgresql://h/db", "foliot"),
        ("postgres://u:p%40@h:99/db?sslmode=require", "foliot"),
        ("postgresql://h/db?schema=billing_2&connect_timeout=3", "billing_2"),
        ("postgresql:///db?host=/run/postgresql", "foliot"),
    ],
)
def test_an_address_names_its_schema(url: str, schema: str) -> None:
    address = read_address(url)
    assert address.schema == schema
    assert "schema=" not in address.server


@pytest.mark.parametrize("schema", ["", "Big", "pg_mine", "a-b", 'x"; DROP', "a" * 41, "0a"])
def test_a_schema_has_a_simple_name(schema: str) -> None:
    with pytest.raises(InvalidStoreError, match="a schema is named by"):
        read_address(f"postgresql://u:secret@h/db?schema={schema}")


def test_an_address_keeps_what_the_driver_understands() -> None:
    found = read_address("postgres://u:p%40@h:99/db?sslmode=require&schema=s")
    assert found == Address("postgresql://u:p%40@h:99/db?sslmode=require", "s")
