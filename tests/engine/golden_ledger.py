"""Golden ledgers: questions that the planner was asked, with the answers of that time, as lines of JSON.

    {"known": ["token", …]}                                   the fields of states and attempts of that time
    {"job": "<text of a job>"}                                the jobs, numbered from 0
    {"ask": "due", "of": 0, "state": {…}, "open": […], "now": "…", "answer": {…}}

An answer is what is decided: state, attempts, skips, events. Words in which it is explained are not part of
it, and may change.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from foliot.engine.plan_command import Backfill, Cancel, Command, Pause, Resume, RunNow, plan_command
from foliot.engine.plan_definition import plan_declared, plan_removed
from foliot.engine.planner import plan_due, plan_ended, plan_lost
from foliot.errors import CommandRefusedError
from foliot.model.attempt import Attempt, Ending, Outcome
from foliot.model.codec import (
    decode_attempt,
    decode_job,
    decode_state,
    encode_attempt,
    encode_job,
    encode_state,
)
from foliot.model.decision import Decision, Happening
from foliot.model.job import Job
from foliot.model.state import Record, State

FOLDER = Path(__file__).with_name("golden")
KNOWN = frozenset({*State._fields, *Attempt._fields}) - {"reason"}
# Kinds of events that the oldest ledger does not know. No event is stored: releases may differ.
NEWER = frozenset({Happening.FAILED_FOR_GOOD})
Line = dict[str, Any]


def read_ledger(path: Path) -> Iterator[Line]:
    """The questions of a ledger, each with its jobs in the place of their numbers."""
    jobs: list[Job] = []
    known: frozenset[str] = frozenset()
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for text in file:
            line = json.loads(text)
            if "known" in line:
                known = frozenset(line["known"])
                continue
            if "job" in line:
                jobs.append(decode_job(line["job"]))
                continue
            line["known"] = known
            for name in ("of", "declares"):
                if name in line:
                    line[name] = jobs[line[name]]
            yield line


def write_ledger(path: Path, lines: list[Line]) -> None:
    """Write questions that hold jobs, as `question` makes them, and all know the same fields."""
    texts: dict[str, int] = {}
    asked = []
    for line in lines:
        numbered = {name: value for name, value in line.items() if name != "known"}
        for name in ("of", "declares"):
            if name in line:
                numbered[name] = texts.setdefault(encode_job(line[name]), len(texts))
        asked.append(numbered)
    known = lines[0].get("known", KNOWN)
    found = [{"known": sorted(known)}, *({"job": text} for text in texts), *asked]
    body = "".join(f"{json.dumps(line, separators=(',', ':'), ensure_ascii=False)}\n" for line in found)
    path.write_bytes(gzip.compress(body.encode(), mtime=0))


# -- questions -------------------------------------------------------------------------------------


def question(ask: str, now: datetime, record: Record | None, **about: Any) -> Line:
    """What the planner is asked, as a line; `about` is what the event is about."""
    line: Line = {"ask": ask, "now": now.isoformat(), **about}
    if record is not None:
        line["of"] = record.job
        line["state"] = encode_state(record.state)
        line["open"] = [encode_attempt(attempt) for attempt in record.attempts]
    return line


def ending_line(ending: Ending) -> Line:
    """What a node reports."""
    return {name: _plain(value) for name, value in ending._asdict().items()}


def command_line(command: Command) -> Line:
    """What a person asks for."""
    match command:
        case RunNow(request):
            return {"run": request}
        case Cancel(key):
            return {"cancel": key}
        case Backfill(first, last, ran, rerun):
            known = {at.isoformat(): number for at, number in ran.items()}
            return {"first": first.isoformat(), "last": last.isoformat(), "ran": known, "rerun": rerun}
        case Pause():
            return {"pause": True}
        case Resume():
            return {"resume": True}
        case _:
            raise AssertionError(f"no ledger has {command}")


def answer(line: Mapping[str, Any]) -> Line:
    """What today's planner says to a question."""
    try:
        return _decided(_ask(line), line.get("known", KNOWN))
    except CommandRefusedError:
        return {"refused": True}


def _ask(line: Mapping[str, Any]) -> Decision:
    now = datetime.fromisoformat(line["now"])
    record = _record(line) if "of" in line else None
    if line["ask"] == "declared":
        return plan_declared(line["declares"], record, now)
    assert record is not None, "only what is declared can be new"
    match line["ask"]:
        case "due":
            return plan_due(record, now, line["node"])
        case "ended":
            return plan_ended(record, [_ending(line["ending"])], now)
        case "lost":
            return plan_lost(record, [(line["run"], line["number"])], now)
        case "removed":
            return plan_removed(record, now)
        case "command":
            return plan_command(record, _command(line["command"]), now)
    raise AssertionError(f"no such question: {line['ask']}")


def _record(line: Mapping[str, Any]) -> Record:
    attempts = tuple(decode_attempt(attempt) for attempt in line["open"])
    return Record(line["of"], decode_state(line["state"]), attempts)


def _ending(line: Line) -> Ending:
    instants = {name: _instant(line[name]) for name in ("started_at", "finished_at")}
    return Ending(**{**line, **instants, "outcome": Outcome(line["outcome"])})


def _command(line: Line) -> Command:
    if "run" in line:
        return RunNow(line["run"])
    if "cancel" in line:
        return Cancel(line["cancel"])
    if "first" in line:
        ran = {datetime.fromisoformat(at): number for at, number in line["ran"].items()}
        first, last = (datetime.fromisoformat(line[name]) for name in ("first", "last"))
        return Backfill(first, last, ran, rerun=line["rerun"])
    return Pause() if "pause" in line else Resume()


# -- answers ---------------------------------------------------------------------------------------


def _decided(decision: Decision, known: Collection[str]) -> Line:
    def cut(line: Line) -> Line:
        return {name: value for name, value in line.items() if name in known}

    found: Line = {
        "state": cut(encode_state(decision.state)),
        "attempts": [cut(encode_attempt(attempt)) for attempt in decision.attempts],
        "skips": [[skip.first.isoformat(), skip.last.isoformat()] for skip in decision.skips],
        "events": [
            [event.what.value, event.run_key, event.number]
            for event in decision.events
            if event.what not in NEWER
        ],
        "remove": decision.remove,
        "keeps": None if decision.job is None else encode_job(decision.job),
    }
    return {name: value for name, value in found.items() if value}


def _plain(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
