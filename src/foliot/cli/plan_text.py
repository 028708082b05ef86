"""A plan for people, in at most 80 columns."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from foliot.cli.output import visible
from foliot.engine.change import ChangePlan, Code, JobChange, Kind, PlanEffect, Severity
from foliot.engine.change.words import counted, moment

COLUMNS = 80
MARKS = {Kind.ADDED: "+", Kind.CHANGED: "~", Kind.REMOVED: "-", Kind.RENAMED: ">"}
# What the lines of fields and runs say already.
_SAID = frozenset(
    {
        Code.ADDED, Code.REMOVED, Code.MOVED, Code.DENSER, Code.SPARSER, Code.ENV_CHANGED,
        Code.COMMAND_CHANGED, Code.POLICY_CHANGED, Code.ZONE_CHANGED, Code.SWITCHED_ON, Code.SWITCHED_OFF,
    }
)  # fmt: skip
_LABEL = 11
_WIDEST_NAME = 18
_MOST_JOBS = 100
_LONGEST = 200
_MOST_EFFECTS = 12


def text_of(plan: ChangePlan, job: str | None = None) -> str:
    """The whole plan, or one job in full."""
    shown = [change for change in plan.jobs if job in (None, change.name, change.old_name)]
    lines = list(_header(plan))
    width = min(_WIDEST_NAME, max((len(visible(one.name)) for one in shown), default=0)) + 2
    for change in shown[:_MOST_JOBS]:
        lines += _job_lines(change, width, is_whole=job is not None)
    if len(shown) > _MOST_JOBS:
        lines.append(f"    … and {len(shown) - _MOST_JOBS:,} more: see -o json, or --job NAME")
    if job is None:
        lines.append(f"    {unchanged_words(plan)}")
        lines += ["", *_footer(plan)]
    return "\n".join(lines)


def _header(plan: ChangePlan) -> Iterator[str]:
    sides = f"{visible(plan.base)} → {visible(plan.head)}"
    yield from wrap(f"Plan for {visible(plan.source)}: {sides}", COLUMNS, subsequent_indent="  ")
    yield from wrap(f"effective {time_words(plan)}", COLUMNS, subsequent_indent="  ")
    yield ""


def time_words(plan: ChangePlan) -> str:
    """When it takes effect, and how far it looks ahead, to the minute."""
    at, until = (moment(one.replace(second=0), plan.zone) for one in (plan.at, plan.until))
    return f"{at} {plan.zone}, runs until {until}"


def _job_lines(change: JobChange, width: int, *, is_whole: bool) -> list[str]:
    """The lines of a job: its name stands before the first."""
    name = visible(change.name)
    indent = " " * (4 + width)
    lines = [line for label, value in _rows(change, is_whole=is_whole) for line in _row(label, value, indent)]
    head = f"  {MARKS[change.kind]} {name}"
    if len(name) + 2 > width or not lines:
        return [head, *lines]
    return [head.ljust(len(indent)) + lines[0][len(indent) :], *lines[1:]]


def _row(label: str, value: str, indent: str) -> list[str]:
    inner = indent + " " * _LABEL
    first = indent + label.ljust(_LABEL)
    room = {"initial_indent": first, "subsequent_indent": inner}
    return wrap(value, COLUMNS, break_long_words=True, break_on_hyphens=False, **room)  # type: ignore[arg-type]


def _rows(change: JobChange, *, is_whole: bool) -> Iterator[tuple[str, str]]:
    if change.old_name is not None:
        yield "renamed", f"it was {visible(change.old_name)}"
    for field, before, after in change.fields:
        yield (
            field if len(field) < _LABEL else f"{field} ",
            f"{_side(before, is_whole)}  →  {_side(after, is_whole)}",
        )
    yield "runs", runs_words(change)
    if (first := change.first_difference) is not None and change.kind is Kind.CHANGED:
        at, was = (None if one is None else moment(one, change.zone) for one in (first.after, first.before))
        yield "first", f"{at or 'no run'} (was: {was or 'no run'})"
    effects = [effect for effect in change.effects if is_whole or effect.code not in _SAID]
    for effect in effects if is_whole else effects[:_MOST_EFFECTS]:
        yield effect_row(effect)
    for label, findings in (("new", change.findings), ("resolved", change.resolved)):
        for finding in findings:
            yield label, visible(finding)
    if is_whole:
        for before_at, after_at in change.sample:
            told = (None if at is None else moment(at, change.zone) for at in (before_at, after_at))
            yield "run", "  →  ".join(text or "none" for text in told)


def effect_row(effect: PlanEffect) -> tuple[str, str]:
    """An effect: warnings have a mark, and their code in brackets."""
    is_warning = effect.severity is Severity.WARNING
    return ("!" if is_warning else "note"), f"{visible(effect.text)} [{effect.code}]"


def runs_words(change: JobChange) -> str:
    """`7 → 7; each moves 2 h 30 min earlier`."""
    runs = change.runs
    moved = next((effect.text for effect in change.effects if effect.code is Code.MOVED), None)
    if change.kind in (Kind.ADDED, Kind.REMOVED):
        return next(e.text for e in change.effects if e.code.value == change.kind.value)
    words = [f"{runs.before:,} → {runs.after:,}"]
    if runs.before == runs.after == runs.kept:
        words.append("none moves")
    words += [moved] if moved else []
    words += [f"{count:,} {what}" for count, what in ((runs.added, "new"), (runs.removed, "gone")) if count]
    return "; ".join(words)


def _side(value: str | None, is_whole: bool) -> str:  # noqa: FBT001 - whether to cut it
    text = "(none)" if value is None else visible(value)
    return text if is_whole or len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _footer(plan: ChangePlan) -> Iterator[str]:
    for effect in plan.effects:
        label, text = effect_row(effect)
        yield from wrap(f"{label} {text}", COLUMNS, subsequent_indent="  ")
    yield from wrap(switch_words(plan), COLUMNS, subsequent_indent="  ")
    if (herd := herd_words(plan)) is not None:
        yield from wrap(herd, COLUMNS, subsequent_indent="  ")
    yield from wrap(summary_words(plan), COLUMNS, subsequent_indent="  ")


def unchanged_words(plan: ChangePlan) -> str:
    """How many jobs stay as they are; of two texts that are the same, no job is counted."""
    is_counted = plan.unchanged or plan.jobs
    return f"{counted(plan.unchanged, 'job')} unchanged" if is_counted else "no job changes"


def switch_words(plan: ChangePlan) -> str:
    """What happens at the moment of the change."""
    starts, skips, drops, keeps = (len(part) for part in plan.switch)
    is_are = "is" if drops == 1 else "are"
    return (
        f"At the switch: {counted(starts, 'run')} start at once, {drops:,} {is_are} dropped, "
        f"{counted(skips, 'skip')} recorded, {keeps:,} go on."
    )


def herd_words(plan: ChangePlan) -> str | None:
    """The busiest minute; None if nothing runs."""
    herd = plan.herd
    if not herd.top:
        return None
    at = max(herd.top, key=lambda minute: minute.after).at
    slots = "" if herd.slots is None else f" (slots {herd.slots:,})"
    return f"Herd: busiest minute {moment(at, plan.zone)}, {herd.before:,} → {herd.after:,} starts{slots}."


def summary_words(plan: ChangePlan) -> str:
    """How many jobs are added, changed and removed."""
    counts, warnings = plan.counts, len(plan.warnings)
    renamed = f", {counts[Kind.RENAMED]:,} to rename" if counts[Kind.RENAMED] else ""
    return (
        f"Warnings: {warnings}. Plan: {counts[Kind.ADDED]:,} to add, {counts[Kind.CHANGED]:,} to change, "
        f"{counts[Kind.REMOVED]:,} to remove{renamed}."
    )
