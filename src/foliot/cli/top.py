"""`foliot top`: a live table of jobs, those first that need attention."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import click

from foliot.cli.group import epilog
from foliot.cli.instants import read_duration
from foliot.cli.output import is_styled, write
from foliot.cli.session import Session, takes_store
from foliot.cli.short import names_of
from foliot.cli.table import room_of_terminal
from foliot.cli.top_view import Sight, attention, frame, last_line
from foliot.clock import SystemClock
from foliot.errors import StoreUnavailableError, without_password
from foliot.model.query import JobOrder, JobState
from foliot.protocols import JobQuery, JobView

_MOST = 200  # jobs of each kind that are looked at
_MOST_WORDS = 60  # jobs whose output is looked at
_SHORTEST = timedelta(milliseconds=200)


@click.command(
    name="top",
    short_help="Watch jobs: a live table.",
    epilog=epilog("foliot top\nfoliot top --every 5s\nfoliot top --once"),
)
@click.option(
    "--every", callback=read_duration, default="1s", show_default=True, metavar="DURATION",
    help="How often to look.",
)  # fmt: skip
@click.option("--once", is_flag=True, help="Print the table once, as without a terminal.")
@click.option("--inline", is_flag=True, help="Draw below what the terminal shows, and not in its place.")
@takes_store
async def top(session: Session, *, every: timedelta, once: bool, inline: bool, as_json: bool) -> None:
    """Watch jobs: which fail, which run and for how long, what is next, and what each has said last.

    Those that need attention come first. AT is the time of this computer's zone. The key q ends it.
    """
    if as_json:
        raise click.UsageError("foliot top is for people: see foliot job list -o json")
    watcher = _Watcher(session)
    if once or not (sys.stdout.isatty() and sys.stdin.isatty()):
        write("\n".join(frame(await watcher.look(), room_of_terminal(), None)), sys.stdout)
        return
    await _live(watcher, max(every, _SHORTEST), is_screen=not inline)


class _Watcher:
    """Looks at a store again and again. What a run wrote is asked for until it has ended."""

    def __init__(self, session: Session) -> None:
        self._store, self._ops = session.store, session.ops
        context = click.get_current_context()
        self._url = without_password(str(context.params.get("store")))
        self._words: dict[str, tuple[str, str]] = {}  # by job: the run that has ended, and its last line

    async def look(self) -> Sight:
        """What there is to see now."""
        found: dict[str, JobView] = {}
        queries = [JobQuery(state=state, limit=_MOST) for state in JobState]
        for query in (*queries, JobQuery(order=JobOrder.SOONEST, limit=_MOST), JobQuery(limit=_MOST)):
            found |= {view.key: view for view in await self._ops.list_jobs(query)}
        views = tuple(sorted(found.values(), key=attention))
        words = {view.key: await self._said(view) for view in views[:_MOST_WORDS]}
        return Sight(
            await self._store.now(), self._url, views, await self._ops.overview(),
            await self._store.nodes(), words, await names_of(self._store),
        )  # fmt: skip

    async def _said(self, view: JobView) -> str:
        run = view.record.state.last_run if view.record else None
        if run is None:
            return ""
        known = self._words.get(view.key)
        if known is not None and known[0] == run:
            return known[1]
        attempt = await self._ops.last(view.key, run)
        if attempt is None:
            return ""
        output = await self._store.output(*attempt.key)
        said = last_line(output.text) if output else ""
        if not said and attempt.error and not attempt.is_open:
            said = attempt.error.partition("\n")[0]
        if not attempt.is_open:
            self._words[view.key] = run, said
        return said


async def _live(watcher: _Watcher, every: timedelta, *, is_screen: bool) -> None:
    from rich.console import Console  # noqa: PLC0415 - see the package's docstring
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(
        file=sys.stdout, highlight=False, color_system="auto" if is_styled(sys.stdout) else None
    )
    clock, done = SystemClock(), asyncio.Event()
    with _keys(done), Live(console=console, screen=is_screen, auto_refresh=False) as live:
        while not done.is_set():
            columns, rows = os.get_terminal_size(sys.stdout.fileno())
            try:
                lines = frame(await watcher.look(), columns, rows)
            except StoreUnavailableError as error:
                lines = [f"the store does not answer: {error.message}", "it is asked again"]
            live.update(Text.from_ansi("\n".join([*lines, "", "q quits"])), refresh=True)
            await clock.wait(every, done)


@contextmanager
def _keys(done: asyncio.Event) -> Iterator[None]:
    """Take keys as they are pressed: q ends the program. The terminal is afterwards as it was."""
    stdin, loop = sys.stdin.fileno(), asyncio.get_running_loop()
    before = termios.tcgetattr(stdin)

    def read() -> None:
        if os.read(stdin, 64)[:1] in (b"q", b"Q", b""):
            done.set()

    tty.setcbreak(stdin)
    loop.add_reader(stdin, read)
    try:
        yield
    finally:
        loop.remove_reader(stdin)
        termios.tcsetattr(stdin, termios.TCSADRAIN, before)
