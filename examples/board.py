"""A live board of schedules: what each means, when it comes next, and how often it has come.

    python examples/board.py                              a handful of rules, in many zones
    python examples/board.py "*/2 * * * *" "@every 7s"    your own, in UTC

Ctrl-C ends it. Without a terminal it prints the board once, and then a line for each occurrence.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from foliot import Cron
from foliot.clock import SystemClock
from foliot.errors import FoliotError
from foliot.schedules.explain import explain

RULES = (
    Cron("@every 10s"),
    Cron("*/15 * * * * *", dialect="seconds", timezone="Asia/Tokyo"),
    Cron("* * * * *"),
    Cron("0,30 * * * *", dialect="posix", timezone="Asia/Kolkata"),
    Cron("*/5 9-17 * * MON-FRI", timezone="Europe/Berlin"),
    Cron("30 2 * * *", timezone="America/New_York"),
    Cron("@weekly", timezone="Australia/Sydney"),
    Cron("0 0 29 2 *", timezone="Europe/London"),
)
SECOND = timedelta(seconds=1)
FLASH = timedelta(seconds=2)
LONGEST_NAP = timedelta(minutes=1)  # a sleep does not count the time that the host itself is asleep
UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


class Clock(Protocol):
    """What the board needs of a clock."""

    def now(self) -> datetime: ...
    def sleep(self, seconds: float) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One rule on the board: its next occurrence, its latest since the start, and how many there were."""

    rule: Cron
    words: str
    next_at: datetime | None
    latest_at: datetime | None = None
    count: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What the board shows of an entry at one moment."""

    expression: str
    words: str
    zone: str
    next_at: str
    wait: str
    count: str
    is_flashing: bool


def set_up(rules: Sequence[Cron], now: datetime) -> list[Entry]:
    """The board at its start."""
    return [Entry(rule=rule, words=explain(rule), next_at=rule.next_after(now)) for rule in rules]


def move_on(entries: Sequence[Entry], now: datetime) -> tuple[list[Entry], list[Entry]]:
    """The board at a later moment, and each occurrence since, in order, as its entry just after it."""
    stages = [list(stages_of(entry, now)) for entry in entries]
    arrivals = [entry for first, *later in stages for entry in later]
    return [last for *_, last in stages], sorted(arrivals, key=lambda entry: (entry.latest_at or now) - now)


def stages_of(entry: Entry, now: datetime) -> Iterator[Entry]:
    """The entry as it is, and after each occurrence up to a moment."""
    yield entry
    while entry.next_at is not None and entry.next_at <= now:
        following = entry.rule.next_after(entry.next_at)
        entry = replace(entry, next_at=following, latest_at=entry.next_at, count=entry.count + 1)
        yield entry


def to_row(entry: Entry, now: datetime) -> Row:
    """An entry as it looks at a moment."""
    is_flashing = entry.latest_at is not None and now - entry.latest_at < FLASH
    return Row(
        expression=entry.rule.expression,
        words=entry.words,
        zone=entry.rule.timezone,
        next_at=f"{entry.next_at:%Y-%m-%d %H:%M:%S}" if entry.next_at else "never again",
        wait=in_words(entry.next_at - now) if entry.next_at else "",
        count=f"* {entry.count}" if is_flashing else str(entry.count),
        is_flashing=is_flashing,
    )


def in_words(wait: timedelta) -> str:
    """A wait as a person tells it: `in 1 min 12 s`. A second that has begun counts in full."""
    rest = -(-wait // SECOND)
    parts: list[str] = []
    for unit, size in UNITS:
        count, rest = divmod(rest, size)
        if count or parts or unit == "s":
            parts.append(f"{count} {unit}")
    return "in " + " ".join(parts[:2])


def draw(rows: Sequence[Row]) -> Table:
    """The board for a terminal of 80 columns: two lines for each rule."""
    table = Table(
        title="Foliot: what comes next", expand=False, pad_edge=False, box=None, padding=(0, 2, 0, 0)
    )
    table.add_column("expression", max_width=22, overflow="fold")
    table.add_column("in words", max_width=40)
    table.add_column("next", min_width=19)
    table.add_column("so far", justify="right", min_width=6)
    for row in rows:
        style = "bold green" if row.is_flashing else ""
        table.add_row(
            Text.assemble((row.expression, style or "bold"), "\n", (row.zone, "dim")),
            Text(row.words),
            Text.assemble(row.next_at, "\n", (row.wait, "cyan")),
            Text(row.count, style),
        )
    return table


def tell(entry: Entry, now: datetime) -> str:
    """One line for an occurrence that has just come."""
    following = entry.next_at.isoformat() if entry.next_at else "never again"
    came = entry.latest_at.isoformat() if entry.latest_at else "-"
    return f"{now:%H:%M:%S} UTC  {entry.rule.expression}  occurrence {came}; next {following}"


def run_live(rules: Sequence[Cron], clock: Clock, console: Console) -> None:
    """Redraw the board each time the second changes."""
    now = clock.now()
    entries = set_up(rules, now)
    with Live(console=console, auto_refresh=False) as live:
        while True:
            board = draw([to_row(entry, now) for entry in entries])
            live.update(Group(board, Text("Ctrl-C ends it", "dim")), refresh=True)
            clock.sleep(1 - now.microsecond / 1_000_000)
            now = clock.now()
            entries, _ = move_on(entries, now)


def run_plain(rules: Sequence[Cron], clock: Clock, console: Console) -> None:
    """Print the board once, then a line for each occurrence, until none is left."""
    now = clock.now()
    entries = set_up(rules, now)
    console.print(draw([to_row(entry, now) for entry in entries]))
    while waits := [entry.next_at - now for entry in entries if entry.next_at]:
        clock.sleep(min(*waits, LONGEST_NAP).total_seconds())
        now = clock.now()
        entries, arrivals = move_on(entries, now)
        for entry in arrivals:
            print(tell(entry, now), flush=True)


def main(expressions: Sequence[str]) -> int:
    """Watch rules until interrupted."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does
    try:
        rules = [Cron(expression) for expression in expressions] or RULES
        run = run_live if sys.stdout.isatty() else run_plain
        run(rules, SystemClock(), Console())
    except FoliotError as error:
        hint = f"\nhint: {error.hint}" if error.hint else ""
        print(f"error: {error}{hint}", file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        return 0
    except BrokenPipeError:  # the reader has seen enough; let the last flush lead nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
