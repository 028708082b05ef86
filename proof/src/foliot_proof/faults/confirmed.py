"""What the store has confirmed must be there at the end: an answer that a crash can undo is a lie."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from foliot.model.attempt import Attempt
from foliot_proof.faults import workload
from foliot_proof.faults.witness_log import Note


def lost_endings(notes: Iterable[Note], attempts: Sequence[Attempt]) -> Iterator[str]:
    """Endings that the store took, and that are gone, or that somebody else's took the place of."""
    rows = {attempt.key: attempt for attempt in attempts}
    pruned = f"{workload.NAME}/{workload.PRUNED}"
    for note in notes:
        if note.what != "finish" or not note.facts["taken"] or note.facts["job"] == pruned:
            continue
        told, name = note.facts["outcome"], f"{note.facts['run']} #{note.facts['number']}"
        row = rows.get((note.facts["run"], note.facts["number"]))
        if row is None:
            yield f"lost: the end of {name} was confirmed, and there is no such attempt"
        elif row.token == note.facts["token"] and str(row.outcome) != told:
            yield f"lost: it was confirmed that {name} {told}, and now it is {row.outcome or 'open'}"
