"""What `foliot top` shows: jobs by what needs attention, with their own last words. Lines, no screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from foliot.cli.job_report import last_cell, state_cell
from foliot.cli.output import visible
from foliot.cli.short import Names
from foliot.cli.table import Cell, Column, Row, table_lines
from foliot.model.attempt import Attempt
from foliot.model.state import Problem
from foliot.model.view import NodeView, Overview
from foliot.operations import next_at, state_of
from foliot.protocols import JobView
from foliot.shown import relative, span

COLUMNS = (
    Column("JOB", least=30),
    Column("STATE", least=8),
    Column("NEXT"),
    Column("AT", 3),
    Column("LAST", 1),
    Column("LAST RUN", 4),
    Column("SAID", 2, 16),
)
_SOON = timedelta(days=1)
_MOST_WORDS = 200
# What needs attention first: the place of a word is that of its job.
_ORDER = ("damaged", "failing", *(problem.value for problem in Problem), "running", "waiting", "paused")


class Sight(NamedTuple):
    """What was seen at one look. `words`: what jobs wrote last, by key."""

    now: datetime
    store: str
    views: tuple[JobView, ...]
    overview: Overview
    nodes: tuple[NodeView, ...]
    words: dict[str, str]
    names: Names


def attention(view: JobView) -> tuple[int, str, str]:
    """Where a job stands in the list: what needs attention, then what is next."""
    words = state_of(view)
    found = [_ORDER.index(word) for word in words if word in _ORDER]
    following = next_at(view)
    return min(found, default=len(_ORDER)), following.isoformat() if following else "~", view.key


def frame(sight: Sight, columns: int | None, rows: int | None) -> list[str]:
    """The lines of one screen; None: no bound."""
    head = [_head(sight), _counts(sight), _nodes(sight), ""]
    room = None if rows is None else max(1, rows - len(head) - 2)
    shown = sorted(sight.views, key=attention)[:room]
    body = table_lines(COLUMNS, [_row(view, sight) for view in shown], columns) if shown else ["No jobs."]
    more = sight.overview.jobs - len(shown)
    tail = [f"… and {more:,} more: foliot job list shows all"] if more > 0 else []
    return [_cut(line, columns) for line in head] + body + tail


def _head(sight: Sight) -> str:
    local = sight.now.astimezone()
    utc = "" if not local.utcoffset() else f" ({sight.now:%H:%M:%S} UTC)"
    return f"{local:%Y-%m-%d %H:%M:%S} {local.tzname()}{utc}  {visible(sight.store)}"


def _counts(sight: Sight) -> str:
    seen = sight.overview
    parts = [f"{seen.jobs:,} job{'s' * (seen.jobs != 1)}"]
    parts += [
        f"{count:,} {word}"
        for count, word in (
            (seen.damaged, "damaged"),
            (seen.failing, "failing"),
            (seen.open_attempts, "running or waiting"),
            (seen.paused, "paused"),
        )
        if count
    ]
    return ", ".join(parts)


def _nodes(sight: Sight) -> str:
    living = [view for view in sight.nodes if view.until > sight.now]
    if not living:
        return "no Foliot process is running, so nothing will start (try foliot serve)"
    places = [f"{view.node.host or view.node.name} process {view.node.process}" for view in living[:3]]
    others = f" and {len(living) - 3:,} more" if len(living) > 3 else ""  # noqa: PLR2004 - those that are named
    return f"{len(living):,} node{'s' * (len(living) != 1)}: {visible(', '.join(places))}{others}"


def _row(view: JobView, sight: Sight) -> Row:
    name = sight.names.job(view.key)
    if view.record is None:
        return (name, state_cell(view), *[""] * (len(COLUMNS) - 3), view.problem or "")
    due = next_at(view)
    return (
        name,
        _state(view, sight.now),
        "" if due is None else relative(due, sight.now) if due > sight.now else "due",
        "" if due is None else _local(due, sight.now),
        last_cell(view),
        relative(view.record.state.last_attempt_at, sight.now),
        _cut(visible(sight.words.get(view.key, "")), _MOST_WORDS),
    )


def _state(view: JobView, now: datetime) -> Cell:
    """The state; of a run that is open, also for how long it runs."""
    text, colour = state_cell(view)
    running = [a for a in (view.record.attempts if view.record else ()) if a.is_running]
    if running and (since := _began(running)):
        text = text.replace("running", f"running {span(max(now - since, timedelta(0)))}", 1)
    return Cell(text, colour)


def _began(attempts: Iterable[Attempt]) -> datetime | None:
    times = (attempt.started_at or attempt.claimed_at for attempt in attempts)
    return min((at for at in times if at is not None), default=None)


def _local(instant: datetime, now: datetime) -> str:
    local = instant.astimezone()
    return f"{local:%H:%M:%S}" if instant - now < _SOON else f"{local:%a %d %H:%M}"


def last_line(text: str) -> str:
    """The last line of an output that says something."""
    lines: Sequence[str] = text.rstrip().rsplit("\n", 1)
    return lines[-1].strip()


def _cut(text: str, columns: int | None) -> str:
    return text if columns is None or len(text) <= columns else f"{text[: columns - 1]}…"
