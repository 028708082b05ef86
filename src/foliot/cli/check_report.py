"""What `foliot check` tells: an error with its line, or a job with its next runs."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple

from foliot.cli.caret import draw_caret
from foliot.cli.cron_report import Shown, finding_facts, occurrence_facts, occurrence_rows, occurrences_after
from foliot.cli.instants import in_zone, zone_of
from foliot.cli.output import labelled
from foliot.cli.table import Cell
from foliot.errors import ConfigProblem
from foliot.model.frozen import thaw
from foliot.model.job import Job
from foliot.model.policy import MisfireMode, Policy
from foliot.schedules import Never, Schedule
from foliot.schedules.duration import format_duration
from foliot.schedules.explain import explain
from foliot.schedules.lint import Finding, lint
from foliot.why.chain import told_after

_DEFAULT_TIMEOUT = (
    "no timeout is said, so a run is ended after 10s: write timeout: 10m, or timeout: none for no limit"
)
_PINGED_OFTEN = "it starts and ends more than 5 times a minute: watch services drop pings beyond that"
_A_DAY = datetime(2026, 11, 16, tzinfo=UTC), datetime(2026, 11, 16, 23, 59, 59, tzinfo=UTC)
_MOST_PINGS = 5 * 24 * 60  # a day
_MAY_HOLD_SECRETS = ("channels", "ping")
Fact = tuple[str, Cell | str | None]


def look_beside(jobs: Sequence[Job], folder: Path, untimed: Collection[str]) -> dict[str, list[Finding]]:
    """What jobs name and is not there, beside the file; and which of them have a timeout by silence."""
    found: dict[str, list[Finding]] = {}
    for job in jobs:
        if job.name in untimed:
            timeout = Finding(code="default-timeout", severity="warning", message=_DEFAULT_TIMEOUT)
            found.setdefault(job.name, []).append(timeout)
        if (user := job.action.data.get("user")) is not None:
            message = f"it runs as {user}: serve it as root, with --run-as {user}"
            found.setdefault(job.name, []).append(Finding(code="run-as", severity="note", message=message))
        if job.group is not None and not job.group.startswith(f"{job.source}."):
            message = f"group names {job.group}, which the file does not define: serve it with --groups"
            found.setdefault(job.name, []).append(
                Finding(code="unknown-group", severity="warning", message=message)
            )
        if alerts := _look_at_alerts(job):
            found.setdefault(job.name, []).extend(alerts)
        for field, is_there in (("env_file", Path.is_file), ("working_dir", Path.is_dir)):
            name = job.action.data.get(field)
            if name is not None and not is_there(folder / name):
                message = f"{field} {name} is not there: the job will fail to start"
                found.setdefault(job.name, []).append(
                    Finding(code="missing", severity="warning", message=message)
                )
    return found


def _look_at_alerts(job: Job) -> list[Finding]:
    """Channels that the file does not define, and a ping that is told of too much."""
    found, to = [], () if job.policy.notify is None else job.policy.notify.to
    for name in to:
        if not name.startswith(f"{job.source}."):
            message = f"notify names {name}, which the file does not define: serve it with --channels"
            found.append(Finding(code="unknown-channel", severity="warning", message=message))
    is_often = 2 * job.schedule.count(*_A_DAY) > _MOST_PINGS
    if job.policy.ping is not None and is_often:
        found.append(Finding(code="ping-often", severity="warning", message=_PINGED_OFTEN))
    return found


class Report(NamedTuple):
    """A job, and what will become of it from an instant on."""

    job: Job
    begin: datetime
    occurrences: list[Shown]
    findings: list[Finding]

    @property
    def has_warning(self) -> bool:
        """Whether a finding is more than a note."""
        return any(finding.severity == "warning" for finding in self.findings)


def look_at(jobs: Sequence[Job], start: datetime, count: int) -> list[Report]:
    """A report on each job. Jobs that share a rule share what is found about it."""
    seen: dict[Schedule, Report] = {}
    reports = []
    for job in jobs:
        if job.schedule not in seen:
            begin = in_zone(start, zone_of(job.schedule))
            occurrences = occurrences_after(job.schedule, begin, count)
            seen[job.schedule] = Report(job, begin, occurrences, lint(job.schedule, begin))
        reports.append(seen[job.schedule]._replace(job=job))
    return reports


def without_secrets(lines: Sequence[str], problems: Sequence[ConfigProblem]) -> list[str]:
    """The lines of a file, but for those with a wrong value that may be a secret: logs of CI are read."""
    fields = ((problem.line, (problem.field or "").partition(".")[0]) for problem in problems)
    hidden = {line for line, field in fields if field in _MAY_HOLD_SECRETS}
    return ["" if number in hidden else line for number, line in enumerate(lines, 1)]


def problem_lines(problem: ConfigProblem, lines: Sequence[str]) -> list[str]:
    """An error for people: what, its line with a caret, and what would be right."""
    line = lines[problem.line - 1] if problem.line <= len(lines) else ""
    encoding = getattr(sys.stderr, "encoding", None) or "ascii"
    shown = [labelled("error", str(problem), sys.stderr)]
    if line:
        shown += (f"  {part}" for part in draw_caret(line, problem.column - 1, encoding=encoding))
    return [*shown, labelled("hint", problem.hint, sys.stderr)] if problem.hint else shown


def told(report: Report) -> list[Fact]:
    """A job for people: labels and values."""
    job, data = report.job, report.job.action.data
    facts: list[Fact] = [
        ("job", Cell(job.name, "heading")),
        ("name", data["name"] if data["name"] != job.name else None),
        ("about", _first_line(data.get("description", ""))),
        ("state", None if job.enabled else Cell("disabled: it does not run by its schedule", "yellow")),
        ("schedule", str(job.schedule)),
        ("meaning", explain(job.schedule)),
        ("after", told_after(job)),
        ("zone", _timezone(job)),
        ("command", _first_line(command_text(data["run"]))),
        ("policy", ", ".join(policy_words(job.policy))),
    ]
    rows = occurrence_rows(report.occurrences, report.begin) if job.enabled else []
    runs = (f"{at} ({wait}{note and f', {note}'})" for at, _, wait, note in rows)
    return facts + list(zip(chain(["next"], repeat("")), runs, strict=False))


def report_facts(report: Report) -> dict[str, Any]:
    """A job for JSON."""
    job = report.job
    return {
        "job": job.name,
        "name": job.action.data["name"],
        "description": job.action.data.get("description"),
        "enabled": job.enabled,
        "schedule": str(job.schedule),
        "timezone": _timezone(job),
        "explanation": explain(job.schedule),
        "run": thaw(job.action.data)["run"],
        "timeout": format_duration(job.policy.timeout) if job.policy.timeout else None,
        "concurrency": str(job.policy.overlap.mode),
        "occurrences": [occurrence_facts(shown, report.begin) for shown in report.occurrences],
        "findings": [finding_facts(finding) for finding in report.findings],
    }


def policy_words(policy: Policy) -> list[str]:
    """How a job behaves, in the words of rollcron.yaml."""
    words = [f"timeout {format_duration(policy.timeout) if policy.timeout else 'none'}"]
    words.append(f"concurrency {policy.overlap.mode}")
    if policy.splay:
        words.append(f"splay {format_duration(policy.splay)}")
    if policy.retry.max:
        words.append(f"retry up to {policy.retry.max}x after {format_duration(policy.retry.delay)}")
    if policy.misfire.mode is not MisfireMode.SKIP:
        most = f" up to {policy.misfire.limit}" if policy.misfire.mode is MisfireMode.ALL else ""
        words.append(f"misfire {policy.misfire.mode}{most}")
    if policy.notify is not None and policy.notify.to:
        words.append(f"notify {', '.join(name.rpartition('.')[2] for name in policy.notify.to)}")
    return words


def command_text(run: str | Sequence[str]) -> str:
    """A command in one text; a list as a shell would read it."""
    return run if isinstance(run, str) else shlex.join(run)


def _timezone(job: Job) -> str | None:
    return None if isinstance(job.schedule, Never) else getattr(job.schedule, "timezone", "UTC")


def _first_line(text: str) -> str:
    first, *more = text.strip().split("\n")
    return f"{first} …" if more else first
