"""A plan as a comment under a pull request.

A stranger may have written what is compared. So every text of a user is escaped: it is shown, and does
nothing. No name is mentioned, no issue is linked, no HTML is let through, and the comment has a bound.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import takewhile

from foliot.cli.output import visible
from foliot.cli.plan_text import (
    MARKS,
    herd_words,
    runs_words,
    summary_words,
    switch_words,
    time_words,
    unchanged_words,
)
from foliot.engine.change import ChangePlan, Code, JobChange, PlanEffect, Severity
from foliot.engine.change.words import moment

LONGEST = 60_000
_RESERVE = 2_000  # for the last lines
_LONGEST_TEXT = 300
_LONGEST_REST = 80  # of the line that tells how many are left out
_SPECIAL = re.compile(r"([\\`*_\[\]|~])")
_JOINER = "\u2060"  # takes no room, and ends a word
_BREAKS = (
    (re.compile(r"([@#!%&$^])"), rf"\1{_JOINER}"),  # what names a person, an issue, a label, a formula
    (re.compile("://"), f":{_JOINER}//"),
    (re.compile("(?i)www"), f"ww{_JOINER}w"),
)
_HEAD = "| | job | runs | first difference |\n|---|---|---|---|\n"


def markdown_of(plan: ChangePlan) -> str:
    """The plan in GitHub's and GitLab's Markdown; its first line tells a bot which comment to replace."""
    room = _Room(LONGEST - _RESERVE)
    room.add(f"<!-- foliot-plan:{re.sub(r'[^A-Za-z0-9._-]', '-', plan.source)} -->\n")
    room.add(f"### Plan for {escape(plan.source)}\n\nFrom {escape(plan.base)} to {escape(plan.head)}, ")
    room.add(f"effective {escape(time_words(plan))}\n\n")
    room.add(f"**{escape(summary_words(plan))}** {unchanged_words(plan)}.\n\n")
    warnings, jobs = plan.warnings, plan.jobs
    room.add_all(
        "#### Warnings\n\n", (f"- {_where(job)}{_effect(one)}\n" for job, one in warnings), len(warnings)
    )
    room.add_all(_HEAD, map(_row, jobs), len(jobs))
    told = "<details><summary>What changes</summary>\n\n"
    room.add_all(told, map(_details, jobs), len(jobs), end="\n</details>\n")
    tail = [escape(switch_words(plan))]
    tail += [escape(words) for words in (herd_words(plan),) if words is not None]
    tail += [_effect(effect) for effect in plan.effects if effect.severity is Severity.NOTE]
    return room.text + "\n" + "\n\n".join(tail)[: _RESERVE - 100] + "\n"


class _Room:
    """Text that never grows beyond a bound; what does not fit is counted."""

    def __init__(self, most: int) -> None:
        self.text = ""
        self._most = most

    def add(self, text: str) -> bool:
        """More, if there is room for it."""
        if len(self.text) + len(text) > self._most:
            return False
        self.text += text
        return True

    def add_all(self, head: str, lines: Iterable[str], total: int, end: str = "\n") -> None:
        """A part with its heading: as many of its lines as fit."""
        most, self._most = self._most, self._most - len(end) - _LONGEST_REST
        if total and self.add(head):
            fitting = sum(1 for _ in takewhile(self.add, lines))
            self._most = most
            if fitting < total:
                self.add(f"\n… and {total - fitting:,} more; `foliot plan -o json` has all\n")
            self.add(end)
        self._most = most


def escape(text: str) -> str:
    """A text as text: nothing in it is Markdown, HTML, a mention, a reference or a link."""
    shown = visible(text)
    shown = shown if len(shown) <= _LONGEST_TEXT else f"{shown[:_LONGEST_TEXT]}…"
    for pattern, broken in _BREAKS:
        shown = pattern.sub(broken, shown)
    shown = shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _SPECIAL.sub(r"\\\1", shown)


def _where(job: str | None) -> str:
    return "" if job is None else f"**{escape(job)}**: "


def _effect(effect: PlanEffect) -> str:
    return f"{escape(effect.text)} `{effect.code}`"


def _row(change: JobChange) -> str:
    first = change.first_difference
    at = None if first is None else first.after or first.before
    told = "" if at is None else escape(moment(at, change.zone))
    name = change.name if change.old_name is None else f"{change.old_name} → {change.name}"
    return f"| `{MARKS[change.kind]}` | {escape(name)} | {escape(runs_words(change))} | {told} |\n"


def _details(change: JobChange) -> str:
    lines = [f"  - {escape(one.field)}: {_side(one.before)} → {_side(one.after)}\n" for one in change.fields]
    notes = (effect for effect in change.effects if effect.severity is Severity.NOTE)
    lines += [f"  - {_effect(effect)}\n" for effect in notes if effect.code is not Code.MOVED]
    lines += [f"  - new: {escape(finding)}\n" for finding in change.findings]
    lines += [f"  - resolved: {escape(finding)}\n" for finding in change.resolved]
    return f"- **{escape(change.name)}**\n{''.join(lines)}"


def _side(value: str | None) -> str:
    return "none" if value is None else escape(value)
