"""A look at a database from outside: how far its schema is, and whether it is sound. Nothing is written."""

from __future__ import annotations

from datetime import timedelta

import psycopg

from foliot.errors import StoreUnavailableError
from foliot.model.view import Schema
from foliot.stores.postgres.address import Address, read_address
from foliot.stores.postgres.connection import READ, Connection, begin, connect, translated
from foliot.stores.postgres.migration import schema_in

_DEADLINE = timedelta(seconds=5)
_TIME_TO_CHECK = timedelta(minutes=10)
_CHECKS = {
    "{} job(s) have no state": """
        SELECT count(*) FROM jobs AS j LEFT JOIN states AS s ON s.job_no = j.job_no WHERE s.job_no IS NULL
    """,
    "{} state(s) belong to no job": """
        SELECT count(*) FROM states AS s LEFT JOIN jobs AS j ON j.job_no = s.job_no WHERE j.job_no IS NULL
    """,
    "{} attempt(s) belong to no job": """
        SELECT count(*) FROM attempts AS a LEFT JOIN jobs AS j ON j.job_no = a.job_no
        WHERE j.job_no IS NULL AND a.job_no NOT IN (SELECT job_no FROM remains)
    """,
    "{} index(es) are not valid: REINDEX them": """
        SELECT count(*) FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid
        WHERE c.relnamespace = current_schema()::regnamespace AND NOT i.indisvalid
    """,
}


def knock(url: str) -> None:
    """Whether a server lets us in, with or without a schema of ours. StoreUnavailableError if it does not."""
    address = read_address(url)
    try:
        connect(address, _DEADLINE).close()
    except psycopg.Error as error:
        raise translated("open", error) from None


def look_at_schema(url: str) -> Schema:
    """How far a schema is. StoreUnavailableError if there is no answer, StoreError if it is not ours."""
    address = read_address(url)
    try:
        with connect(address, _DEADLINE) as connection:
            schema = schema_in(connection, address.schema, _DEADLINE)
    except psycopg.Error as error:
        raise translated("open", error) from None
    if schema.found == 0:
        hint = "foliot serve creates it at its first start, and so does foliot store migrate"
        raise StoreUnavailableError("open", f"there is no schema {address.schema} yet", hint=hint)
    return schema


def find_flaws(url: str) -> tuple[str, ...]:
    """What is wrong with the tables, after reading them."""
    address = read_address(url)
    try:
        with connect(address, _DEADLINE) as connection:
            return _flaws(connection, address)
    except psycopg.Error as error:
        raise translated("check", error) from None


def _flaws(connection: Connection, address: Address) -> tuple[str, ...]:
    begin(connection, READ, address.schema, _TIME_TO_CHECK)
    counts = {words: (connection.execute(sql).fetchone() or (0,))[0] for words, sql in _CHECKS.items()}
    connection.execute("ROLLBACK")
    return tuple(words.format(count) for words, count in counts.items() if count)
