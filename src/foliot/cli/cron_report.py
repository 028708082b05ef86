"""What `foliot cron` tells of a rule, as facts for JSON and as rows for a table."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from foliot.schedules.cron import Cron
from foliot.schedules.lint import Finding
from foliot.schedules.schedule import Schedule
from foliot.shown import in_words

HEADINGS = ("OCCURRENCE", "UTC", "DUE", "NOTE")
STYLES = ("bold", "", "cyan", "yellow")
LEGEND = "2nd time: the clocks go back, so this wall time comes twice"

Shown = tuple[datetime, datetime]


def occurrences_after(rule: Schedule, begin: datetime, count: int) -> list[Shown]:
    """The next occurrences, each in its zone and in UTC."""
    found: list[Shown] = []
    with suppress(OverflowError):  # the last hours of the calendar have no name in UTC
        for at in rule.upcoming(begin, count):
            found.append((at, at.astimezone(UTC)))  # noqa: PERF401 - what came before an overflow counts
    return found


def occurrence_rows(occurrences: list[Shown], begin: datetime) -> list[tuple[str, ...]]:
    """A table: wall time, UTC, wait, note. Seconds are shown if any occurrence has some."""
    has_seconds = any(at.second or utc.second for at, utc in occurrences)
    precision = "seconds" if has_seconds else "minutes"
    rows: list[tuple[str, ...]] = []
    for at, utc in occurrences:
        wall = at.replace(tzinfo=None).isoformat(" ", precision)
        offset = at.isoformat(" ", precision).removeprefix(wall)
        wait = in_words(utc - begin)
        note = "2nd time" if at.fold else ""
        rows.append(
            (f"{at:%a} {wall} {offset}", utc.replace(tzinfo=None).isoformat(" ", precision), wait, note)
        )
    return rows


def rule_facts(rule: Cron) -> dict[str, Any]:
    """What every JSON answer about a rule begins with."""
    return {
        "expression": rule.expression,
        "dialect": rule.dialect,
        "dst": rule.dst,
        "timezone": rule.timezone,
    }


def occurrence_facts(occurrence: Shown, begin: datetime) -> dict[str, Any]:
    """One occurrence for JSON; `second_pass`: its wall time comes for the second time."""
    at, utc = occurrence
    return {"at": at, "utc": utc, "in_seconds": (utc - begin).total_seconds(), "second_pass": bool(at.fold)}


def finding_facts(finding: Finding) -> dict[str, Any]:
    """One finding for JSON."""
    return {
        "code": finding.code,
        "severity": finding.severity,
        "message": finding.message,
        "times": finding.times,
    }
