"""Outputs of attempts: several parts while an attempt runs, and one text when it has ended.

While the output is in parts, its row has no text. A part that comes after the text is ignored.
"""

from __future__ import annotations

from collections.abc import Sequence

from foliot.model.output import HEAD, Output, OutputPart, joined
from foliot.stores.sql import upsert
from foliot.stores.sql.session import Session

OUTPUT = """
    SELECT o.job, o.run_key, o.number, o.text, o.dropped FROM outputs AS o
    WHERE o.run_key = :run AND o.number = :number
    AND EXISTS (SELECT 1 FROM jobs AS j WHERE j.key = o.job)
"""
PARTS = """
    SELECT p.start, p.text FROM output_parts AS p WHERE p.run_key = :run AND p.number = :number
    AND p.start >= COALESCE((
        SELECT max(q.start) FROM output_parts AS q
        WHERE q.run_key = :run AND q.number = :number AND q.start <= :after
    ), 0)
    ORDER BY p.start
"""
_DROP_MIDDLE = """
    DELETE FROM output_parts WHERE run_key = :run AND number = :number AND start >= :head AND start < :kept
"""


def write_outputs(session: Session, outputs: Sequence[Output]) -> None:
    """Keep whole outputs. An output that exists is replaced."""
    text = session.dialect.output_text
    rows = [(o.run_key, o.number, o.job, text(o.text), o.dropped) for o in outputs]
    session.dialect.upsert(upsert.PUT_OUTPUT, rows)
    session.dialect.delete("output_parts", "run_key, number", [row[:2] for row in rows])


def append_outputs(session: Session, parts: Sequence[OutputPart]) -> None:
    """Keep new parts of the output of running attempts."""
    dialect, text = session.dialect, session.dialect.output_text
    dialect.upsert(upsert.BEGIN_OUTPUT, [(p.run_key, p.number, p.job, text(""), 0) for p in parts])
    dialect.upsert(upsert.PUT_PART, [(p.run_key, p.number, p.start, text(p.text)) for p in parts])
    for part in parts:
        if part.kept_from > HEAD:
            dialect.run(_DROP_MIDDLE, run=part.run_key, number=part.number, head=HEAD, kept=part.kept_from)


def output(session: Session, run_key: str, number: int, after: int = 0) -> Output | None:
    """The output of an attempt from a position on; None if its job was removed."""
    row = session.dialect.run(OUTPUT, run=run_key, number=number).fetchone()
    if row is None:
        return None
    read = session.dialect.read_output
    job, key, count, text, dropped = row
    whole = Output(job, key, count, read(text), dropped)
    if whole.text:
        return whole.since(after)
    parts = session.dialect.run(PARTS, run=run_key, number=number, after=after).fetchall()
    if not parts:
        return whole.since(after)
    first = whole._replace(start=min(after, parts[0][0]))
    return joined(first, [(start, read(text)) for start, text in parts]).since(after)
