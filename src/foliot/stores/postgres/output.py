"""What attempts wrote."""

from __future__ import annotations

from collections.abc import Sequence

from foliot.protocols import Output
from foliot.stores.postgres import arrays
from foliot.stores.postgres.book import Desk

_LENIENT = "surrogatepass"  # a program may write half a surrogate pair, and even that comes back
_PUT = """
    INSERT INTO outputs (run_key, number, job, text, dropped)
    SELECT * FROM unnest(%s::text[], %s::bigint[], %s::text[], %s::bytea[], %s::bigint[])
    ON CONFLICT (run_key, number) DO UPDATE
    SET job = excluded.job, text = excluded.text, dropped = excluded.dropped
"""
_GET = """
    SELECT job, run_key, number, text, dropped FROM outputs
    WHERE run_key = %s AND number = %s
    AND EXISTS (SELECT 1 FROM jobs AS j WHERE j.key = outputs.job COLLATE "C")
"""


def write_outputs(desk: Desk, outputs: Sequence[Output]) -> None:
    """Keep outputs; one that is there already is replaced."""
    last = {(output.run_key, output.number): output for output in outputs}.values()
    if not last:
        return
    values = (
        arrays.texts(output.run_key for output in last),
        arrays.numbers(output.number for output in last),
        arrays.texts(output.job for output in last),
        [output.text.encode(errors=_LENIENT) for output in last],
        arrays.numbers(output.dropped for output in last),
    )
    desk.connection.execute(_PUT, values)


def output(desk: Desk, run_key: str, number: int) -> Output | None:
    """What an attempt wrote; nothing, if its job was removed."""
    row = desk.connection.execute(_GET, (run_key, number), binary=True).fetchone()
    if row is None:
        return None
    job, key, count, text, dropped = row
    return Output(job, key, count, bytes(text).decode(errors=_LENIENT), dropped)
