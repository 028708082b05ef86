"""What `foliot beat --check` and `--import` tell."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from foliot.cli.instants import both
from foliot.cli.output import say, write, write_json
from foliot.cli.table import Cell, Column, Row, write_rows
from foliot.doors.celery_beat.cut_over import Moved
from foliot.doors.celery_beat.errors import EntryRefusedError
from foliot.doors.celery_beat.importing import Import, last_runs
from foliot.doors.celery_beat.proof import Difference, Proof, prove
from foliot.doors.celery_beat.translate import Translated
from foliot.schedules.explain import explain

_CHECK_COLUMNS = (
    Column("ENTRY", least=16),
    Column("SCHEDULE", 1, 16),
    Column("MEANS", 4, 24),
    Column("TASK", 3, 16),
    Column("NEXT", 2),
    Column("COMPARED", 5),
    Column("RESULT"),
)
_IMPORT_COLUMNS = (
    Column("JOB", least=16),
    Column("SCHEDULE", 2, 16),
    Column("LAST RUN", 3),
    Column("NEXT", 1),
    Column("RESULT"),
)


class _Checked(NamedTuple):
    translated: Translated
    proof: Proof
    next_at: datetime | None

    @property
    def result(self) -> Cell:
        differing = sum(difference.total for difference in self.proof.differences)
        return Cell(f"{differing} differ", "yellow") if differing else Cell("same", "green")


def report_check(
    celery: Any,
    translated: Sequence[Translated],
    refusals: Sequence[EntryRefusedError],
    now: datetime,
    *,
    as_json: bool,
) -> bool:
    """Tell what becomes of each entry; whether nothing differs and nothing is refused."""
    checked = [_Checked(one, prove(one, celery, now), one.job.schedule.next_after(now)) for one in translated]
    is_same = not refusals and not any(one.proof.differences for one in checked)
    if as_json:
        entries = [_facts(one) for one in checked]
        write_json({"ok": is_same, "entries": entries, "refused": [_refusal_facts(one) for one in refusals]})
        return is_same
    if not checked and not refusals:
        write("No entries.", sys.stdout)
        return is_same
    rows = [*(_row(one) for one in checked), *(_refused_row(one) for one in refusals)]
    write_rows(_CHECK_COLUMNS, rows)
    _tell(checked, refusals)
    return is_same


def _tell(checked: Sequence[_Checked], refusals: Sequence[EntryRefusedError]) -> None:
    for one in checked:
        name = one.translated.entry.name
        for difference in one.proof.differences:
            say("warning", f"{name}: {_sentence(difference)}")
        if one.translated.note:
            say("note", f"{name}: {one.translated.note}")
    for refusal in refusals:
        say("error", refusal.message)
        if refusal.hint:
            say("hint", refusal.hint)


def _sentence(difference: Difference) -> str:
    times = ", ".join(at.isoformat() for at in difference.times)
    more = ", …" if difference.total > len(difference.times) else ""
    return f"{difference.cause} ({times}{more})"


def _row(one: _Checked) -> Row:
    entry, job = one.translated.entry, one.translated.job
    return (
        entry.name, str(job.schedule), explain(job.schedule), entry.task,
        "" if one.next_at is None else one.next_at.isoformat(), str(one.proof.compared), one.result,
    )  # fmt: skip


def _refused_row(refusal: EntryRefusedError) -> Row:
    return (str(refusal.entry), "", "", "", "", "", Cell("refused", "red"))


def _facts(one: _Checked) -> dict[str, Any]:
    entry, job = one.translated.entry, one.translated.job
    return {
        "entry": entry.name,
        "job": job.key,
        "task": entry.task,
        "schedule": str(job.schedule),
        "timezone": getattr(job.schedule, "timezone", None),
        "means": explain(job.schedule),
        "next_at": one.next_at,
        "compared": one.proof.compared,
        "differences": [
            {"cause": difference.cause, "count": difference.total, "times": list(difference.times)}
            for difference in one.proof.differences
        ],
        "note": one.translated.note or None,
    }


def _refusal_facts(refusal: EntryRefusedError) -> dict[str, Any]:
    return {"entry": refusal.entry, "reason": refusal.reason, "hint": refusal.hint}


def report_import(found: Import, moved: Sequence[Moved], now: datetime, *, as_json: bool) -> None:
    """Tell what became of each entry."""
    entries = last_runs(found)
    if as_json:
        jobs = [
            {
                "job": one.job.key,
                "schedule": str(one.job.schedule),
                "last_run_at": entries[one.job.key].last_run_at,
                "next_at": one.next_at,
                "result": _result(one).text,
            }
            for one in moved
        ]
        refused = [_refusal_facts(one) for one in found.refusals]
        write_json({"jobs": jobs, "refused": refused, "done": found.done})
        return
    if moved:
        write_rows(
            _IMPORT_COLUMNS, [_import_row(one, entries[one.job.key].last_run_at, now) for one in moved]
        )
    else:
        write("Nothing to import.", sys.stdout)
    for name in found.done:
        say("note", f"{name}: was to be sent once, and was: it is left out")
    _tell((), found.refusals)


def _import_row(one: Moved, last_run_at: datetime | None, now: datetime) -> Row:
    return (
        one.job.key, str(one.job.schedule), both(last_run_at, now) or "", both(one.next_at, now) or "",
        _result(one),
    )  # fmt: skip


def _result(one: Moved) -> Cell:
    return Cell("is there already", "yellow") if one.is_kept else Cell("imported", "green")
