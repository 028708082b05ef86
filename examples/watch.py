"""A small application whose jobs can be watched: what `make run` starts.

    python examples/watch.py [FOLDER]       a live table; without a terminal, one line for each event

Ctrl-C lets what runs end; a second one ends it at once. Kill it with -9 and start it again: it goes on.
The folder (`.run` if none is given) keeps the jobs, their history, and a log.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from foliot import Cron, Foliot, Once, Retry
from foliot.app.status import JobStatus
from foliot.errors import CronExpressionInvalidError
from foliot.executors.python import JobRun
from foliot.model.attempt import Attempt
from foliot.model.decision import Event, Happening
from foliot.schedules.explain import explain

FOLDER = Path(sys.argv[1] if sys.argv[1:] else ".run").absolute()
FOLDER.mkdir(parents=True, exist_ok=True)

app = Foliot(f"sqlite:///{FOLDER}/watch.db", name="watch")

# -- the jobs ------------------------------------------------------------------------------------------


@app.job("@every 3s")
async def tick() -> None:
    """Nothing but a sign of life."""


@app.job("@every 5s", retry=Retry(max=2, delay="1s"))
async def fetch(run: JobRun) -> None:
    """Every second time the other side does not answer at first; the retry goes well."""
    await asyncio.sleep(0.5)
    if run.attempt == 1 and run.scheduled_for.second % 10:
        raise ConnectionError("no answer")


@app.job("@every 10s", timeout="30s")
def crunch(run: JobRun) -> None:
    """A plain function that takes seconds: it has a thread to itself, and looks whether it should end."""
    for _ in range(60):
        if run.is_asked_to_end:
            return
        time.sleep(0.1)


@app.job("@every 20s")
async def invite(run: JobRun) -> None:
    """Schedules another job while the program runs, with a payload; it goes when it has run."""
    at, guest = run.scheduled_for + timedelta(seconds=8), f"{run.scheduled_for:%H%M%S}"
    await app.schedule(f"greet-{guest}", Once(at), greet, payload={"guest": guest}, auto_remove=True)


@app.action
async def greet(run: JobRun, guest: str) -> None:
    """What `invite` schedules."""
    run.log("welcome,", guest)


# -- watching ------------------------------------------------------------------------------------------

STYLES = {"succeeded": "green", "failed": "red", "timed_out": "red", "lost": "yellow", "running": "cyan"}
HELP = "Ctrl-C lets what runs end; another ends it at once.\nKill it with -9 and start it again: it goes on."
NEWS = frozenset({Happening.STARTED, Happening.ENDED, Happening.RETRY_PLANNED, Happening.RESTART_PLANNED})

ended: Counter[str] = Counter()  # by job, since this start
latest: deque[str] = deque(maxlen=6)


@app.listen
def note(event: Event) -> None:
    """Called on the engine's thread for all that happens."""
    ended[event.job.partition("/")[2]] += event.what is Happening.ENDED
    if event.what in NEWS:
        line = f"{event.at:%H:%M:%S}  {event.what:<15}  {event.run_key} #{event.number}  {event.reason}"
        latest.append(line)
        if not sys.stdout.isatty():
            print(line, flush=True)


def draw(jobs: Iterable[JobStatus], history: Iterable[Attempt], now: datetime) -> Group:
    """The screen: a table of jobs, and what happened last."""
    table = Table(
        "job", "rule", "next", "now", "last", "runs", "failing", title="Foliot: jobs that run", box=None
    )
    last = {a.job.partition("/")[2]: str(a.outcome) for a in reversed(list(history)) if a.outcome}
    for job in jobs:
        outcome = last.get(job.name, "")
        table.add_row(
            Text(job.name, "bold"),
            in_words(job.schedule),
            f"in {max(0, round((job.next_at - now).total_seconds()))} s" if job.next_at else "",
            Text("running", STYLES["running"]) if job.is_running else "",
            Text(outcome, STYLES.get(outcome, "")),
            str(ended[job.name]),
            str(job.failures_in_row or ""),
        )
    news = Text("\n".join(["", *latest, ""]), "dim", overflow="ellipsis", no_wrap=True)
    return Group(table, news, HELP)


def in_words(rule: str) -> str:
    """A rule as a person says it."""
    try:
        return explain(Cron(rule))
    except CronExpressionInvalidError:
        return "once"


async def watch() -> None:
    """Redraw the screen, until cancelled."""
    with Live(auto_refresh=False) as live:
        while True:
            screen = draw(await app.jobs(), await app.history(limit=100), datetime.now(UTC))
            live.update(screen, refresh=True)
            await asyncio.sleep(0.25)


async def main() -> None:
    """Run the jobs, with a screen beside them if there is a terminal."""
    screen = asyncio.create_task(watch()) if sys.stdout.isatty() else None
    await app.run()
    if screen is not None:
        screen.cancel()


if __name__ == "__main__":
    logging.basicConfig(filename=FOLDER / "watch.log", format="%(asctime)s %(levelname)s %(message)s")
    asyncio.run(main())
