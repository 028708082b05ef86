"""What `foliot job` tells of a job: rows for a table, labels and values for people, facts for JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from foliot.api.ids import id_of
from foliot.cli.check_report import policy_words as file_words
from foliot.cli.instants import both
from foliot.cli.run_report import attempt_facts
from foliot.cli.short import Names
from foliot.cli.table import Cell, Column, Row
from foliot.model.attempt import format_instant
from foliot.model.codec import encode_job
from foliot.model.job import Job
from foliot.model.policy import Policy
from foliot.model.splay import offset_of
from foliot.model.state import Record, Skip, State
from foliot.model.view import SourceView
from foliot.operations import next_at, state_of
from foliot.protocols import JobView
from foliot.schedules import Never, Once
from foliot.schedules.duration import format_duration
from foliot.schedules.explain import explain
from foliot.shown import relative
from foliot.why import rule_text, zone_of
from foliot.why.chain import after_words, told_after

COLUMNS = (
    Column("JOB", least=30),
    Column("STATE"),
    Column("NEXT"),
    Column("LAST", 1),
    Column("LAST RUN", 2),
    Column("SCHEDULE", 1, 21),
    Column("ZONE", 3),
    Column("QUEUE", 5),
    Column("ACTION", 4, 15),
)
_COLOURS = {
    "ok": "green", "running": "cyan", "paused": "yellow", "failing": "red", "damaged": "red", "lost": "red",
    "interrupted": "red", "missed": "red", "succeeded": "green", "failed": "red", "timed_out": "red",
    "skipped": "yellow", "cancelled": "yellow",
}  # fmt: skip


def state_cell(view: JobView) -> Cell:
    """The same, in the colour of the worst."""
    words = state_of(view)
    colours = [_COLOURS[word] for word in reversed(words) if word in _COLOURS]
    shown = list(words)
    if "failing" in words and view.record is not None:
        shown[words.index("failing")] = f"failing {view.record.state.failures_in_row}x"
    return Cell(", ".join(shown), colours[0] if colours else None)


def job_row(view: JobView, now: datetime) -> Row:
    """A line of the list."""
    if view.record is None:
        return (view.key, state_cell(view), *[""] * (len(COLUMNS) - 2))
    job, state, _ = view.record
    return (
        view.key,
        state_cell(view),
        _due(next_at(view), now),
        last_cell(view),
        relative(state.last_attempt_at, now),
        _short_rule(job),
        zone_of(job.schedule),
        job.queue,
        job.action.kind,
    )


def last_cell(view: JobView) -> Cell | str:
    """How the last run ended."""
    last = view.last_outcome
    return "" if last is None else Cell(last.replace("_", " "), _COLOURS.get(last))


def _due(at: datetime | None, now: datetime) -> str:
    """When a job runs next; what has come and has not been met is due."""
    return relative(at, now) if at is None or at > now else "due"


def idle_words(job: Job) -> str:
    """Why a job has no next occurrence, and what starts it then."""
    starts = _starts(job)
    return "No occurrence is left." if starts is None else f"It has no times: it runs {starts}"


def _starts(job: Job) -> str | None:
    """What starts a job that waits for no time; None: its schedule has times."""
    if not isinstance(job.schedule, Never):
        return None
    starts = [] if job.policy.after is None else [after_words(job.policy.after)]
    starts += ["once after each boot"] if job.schedule.at_boot else []
    return ", and ".join(starts) or f"only when somebody asks: foliot job trigger {job.key}"


def _short_rule(job: Job) -> str:
    schedule = job.schedule
    if isinstance(schedule, Never) and not schedule.at_boot and job.policy.after is not None:
        return f"after {job.policy.after.job}"
    if isinstance(schedule, Once):
        return f"once {schedule.at.astimezone(UTC):%Y-%m-%d %H:%M}"
    return str(schedule)


def job_facts(view: JobView) -> dict[str, Any]:
    """One job of the list, for JSON: with the keys that the REST API has for it."""
    source, _, name = view.key.partition("/")
    facts: dict[str, Any] = {
        "id": id_of(view.key), "key": view.key, "source": source, "name": name,
        "job": view.key, "state": state_of(view), "damage": view.problem,
    }  # fmt: skip
    if view.record is None:
        return facts
    job, state, attempts = view.record
    return facts | {
        "schedule": str(job.schedule),
        "timezone": getattr(job.schedule, "timezone", None),
        "queue": job.queue,
        "group": job.group,
        "action": job.action.kind,
        "next_at": next_at(view),
        "last_attempt_at": state.last_attempt_at,
        "last_outcome": view.last_outcome,
        "last_success_at": view.last_success_at,
        "failures_in_row": state.failures_in_row,
        "open_runs": sorted({attempt.run_key for attempt in attempts}),
        "paused_at": state.paused_at,
        "paused_reason": state.paused_reason,
        "paused_until": state.paused_until,
        "version": state.version,
    }


def whole_facts(view: JobView, skips: Sequence[Skip]) -> dict[str, Any]:
    """All of one job, for JSON."""
    facts = job_facts(view)
    if view.record is not None:
        job, state, attempts = view.record
        facts["definition"] = json.loads(encode_job(job))
        facts["explanation"] = explain(job.schedule)
        facts["stored_state"] = state._asdict()
        facts["attempts"] = [attempt_facts(attempt) for attempt in attempts]
    return facts | {
        "skips": [{"first": s.first, "last": s.last, "reason": s.reason, "code": s.code} for s in skips]
    }


def skip_facts(skip: Skip) -> dict[str, Any]:
    """Occurrences that did not run, for JSON."""
    return {"first": skip.first, "last": skip.last, "code": skip.code}


def told(
    view: JobView, source: SourceView, skips: Sequence[Skip], now: datetime
) -> list[tuple[str, Cell | str | None]]:
    """All of one job, for people."""
    facts: list[tuple[str, Cell | str | None]] = [
        ("job", Cell(view.key, "heading")),
        ("state", state_cell(view)),
        ("damage", view.problem),
    ]
    if view.record is None:
        return facts
    job, state, _ = view.record
    facts += [
        ("schedule", rule_text(job.schedule)),
        ("meaning", explain(job.schedule)),
        ("after", told_after(job)),
        ("then", ", ".join(f"{link.job} ({link.on})" for link in job.policy.then or ()) or None),
        ("until", both(job.repeat_until, now)),
        *_action_facts(job),
        ("queue", job.queue),
        ("group", job.group),
        ("policy", ", ".join(policy_words(job)) or "all defaults"),
        ("revision", revision_words(job.revision or source.revision, source, now)),
        ("version", f"{state.version}, since {both(state.defined_at or state.created_at, now)}"),
        ("known since", both(state.created_at, now)),
        ("removed", both(state.removed_at, now)),
        ("paused", pause_words(state, now)),
        ("next run", _due_words(next_at(view), now, offset_of(job)) or _starts_if_live(view.record)),
    ]
    return facts + _told_of_runs(view, view.record, skips, now)


def _action_facts(job: Job) -> list[tuple[str, Cell | str | None]]:
    """What a job does. Of a job of a repository, what its file says; of others, the action and its data."""
    data = json.loads(encode_job(job))["action"].get("data", {})
    if not job.action.kind.startswith("shell:") or not isinstance(data.get("run"), str):
        return [("action", job.action.kind), ("payload", json.dumps(data) if data else None)]
    others = {name: value for name, value in data.items() if name not in ("name", "run")}
    return [
        ("name", data.get("name")),
        ("command", data["run"]),
        ("settings", json.dumps(others) if others else None),
        ("repository", job.action.kind.partition(":")[2]),
    ]


def pause_words(state: State, now: datetime) -> str | None:
    """Since when a job is paused, and why, if that was told."""
    why = f": {state.paused_reason}" if state.paused_reason else ""
    until = f", until {both(state.paused_until, now)}" if state.paused_until else ""
    return None if state.paused_at is None else f"{both(state.paused_at, now)}{until}{why}"


def _starts_if_live(record: Record) -> str | None:
    job, state, _ = record
    is_live = job.enabled and state.paused_at is None and state.removed_at is None
    return _starts(job) if is_live else None


def _due_words(at: datetime | None, now: datetime, offset: timedelta) -> str | None:
    if at is not None and offset:
        return f"{format_instant(at)}, starts at {_due_words(at + offset, now, timedelta(0))}"
    return both(at, now) if at is None or at > now else f"{format_instant(at)} (due, and not met yet)"


def revision_words(revision: str | None, source: SourceView, now: datetime) -> str | None:
    """A revision, and since when it is that of its source, if that is known."""
    since = both(source.reconciled_at, now) if revision == source.revision else None
    short = revision and Names(is_short=True).id(revision)
    return f"{short}, since {since}" if since else short


def _told_of_runs(
    view: JobView, record: Record, skips: Sequence[Skip], now: datetime
) -> list[tuple[str, Cell | str | None]]:
    state, last = record.state, view.last_outcome
    facts: list[tuple[str, Cell | str | None]] = [
        ("open", f"{a.run_key} #{a.number} {a.state}" + (f" on {a.node}" if a.node else f": {a.reason}"))
        for a in record.attempts
    ]
    facts += [
        ("last run", state.last_run),
        ("last outcome", last and Cell(last.replace("_", " "), _COLOURS.get(last))),
        ("last success", both(view.last_success_at, now)),
        ("last failure", both(state.last_failure_at, now)),
        ("failures", f"{state.failures_in_row} in a row" if state.failures_in_row else None),
    ]
    if skips:
        skip = skips[-1]
        facts.append(("last skip", f"{both(skip.last, now)}: {skip.reason}"))
    return facts


def policy_words(job: Job) -> list[str]:
    """How a job behaves: of a repository in the words of its file, else what differs: `retry.max=3`."""
    if job.action.kind.startswith("shell:"):
        return file_words(job.policy)
    told = _differences(job.policy, Policy(), "")
    return [f"{name}={value}" for name, value in told if name not in ("after", "then")]


def _differences(given: Any, usual: Any, prefix: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for field in fields(given):
        mine, theirs = getattr(given, field.name), getattr(usual, field.name)
        name = f"{prefix}{field.name}"
        if is_dataclass(mine) and theirs is not None:
            found += _differences(mine, theirs, f"{name}.")
        elif mine != theirs:
            found.append((name, _word(mine)))
    return found


def _word(value: object) -> str:
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, StrEnum):
        return value.value
    return "none" if value is None else str(value).lower()
