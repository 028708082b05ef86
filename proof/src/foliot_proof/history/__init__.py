"""Judges what a run of several nodes did, from logs that do not trust each other.

    definitions ──▶ worlds ──▶ owed ─┐
    faults      ──▶ hosts  ──────────┼─▶ case ──▶ claims, effects, timing, losses, matching ──▶ report
    ledger, witness ──▶ story ───────┘   (one small rule for each thing that can be wrong)

The promise that is judged: at most one claim per (job, occurrence, attempt); every owed occurrence ends in
exactly one of {ran, covered by one catch-up run, skipped with a stored reason}; every claimed attempt
reaches its end; an attempt whose node died is lost, and its policy says what follows.

No log is trusted alone. Occurrences are recomputed from the definitions log by an oracle of the checker's
own. What the ledger says must have been seen by the witness, and the other way round. Lateness is judged
against the fault log: somebody is late only if one and the same host was able, informed and free to act for
longer than the tolerances in `Bounds`. Where the logs leave open what was right, both ways are legal, and
`Measures.excuses` counts how often that was so.

`check(history)` gives a `Report`. Facts are plain values; `to_json` and `from_json` make lines of them.
"""

from foliot_proof.history.check import check
from foliot_proof.history.facts import (
    Bounds,
    Change,
    Definition,
    Fault,
    Finish,
    Forgotten,
    History,
    Host,
    Identity,
    Mark,
    Operation,
    Told,
    Trouble,
    Verdict,
    Witness,
    define,
)
from foliot_proof.history.lines import Final, from_json, from_lines, to_json, to_lines
from foliot_proof.history.oracle import Rule
from foliot_proof.history.report import Code, Measures, Report, Violation

__all__ = [
    "Bounds",
    "Change",
    "Code",
    "Definition",
    "Fault",
    "Final",
    "Finish",
    "Forgotten",
    "History",
    "Host",
    "Identity",
    "Mark",
    "Measures",
    "Operation",
    "Report",
    "Rule",
    "Told",
    "Trouble",
    "Verdict",
    "Violation",
    "Witness",
    "check",
    "define",
    "from_json",
    "from_lines",
    "to_json",
    "to_lines",
]
