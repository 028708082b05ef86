"""A job that outlives its program: a worker is started, killed with -9, and started again.

    python examples/survives_kill.py

The worker writes a report of four pages. It dies after the second. The next worker sees, by a lock file
that nobody holds any more, that the first is dead, and starts the run again at once, under the same key.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from tempfile import TemporaryDirectory

from foliot import Foliot
from foliot.executors.python import JobRun

PAGES = 4
app = Foliot(os.environ.get("STORE", "sqlite:///report.db"))


@app.job("@hourly", first_seen="now")  # the first program that knows of it runs it at once
async def report(run: JobRun) -> None:
    """Write a page every half second."""
    print("attempt", run.attempt, flush=True)
    for page in range(1, PAGES + 1):
        print(f"  page {page} of {PAGES}", flush=True)
        await asyncio.sleep(0.5)


def work(until: str, ending: signal.Signals, environment: Mapping[str, str]) -> None:
    """Run the job in a process of its own, until it prints this text; then send it a signal."""
    words = [sys.executable, __file__, "work"]
    with subprocess.Popen(  # noqa: S603 - this very file
        words, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        for line in process.stdout or ():
            print(line, end="")
            if until in line:
                process.send_signal(ending)
                break


def main() -> None:
    """Start, kill, start again; then ask for the history."""
    with TemporaryDirectory() as folder:
        store = f"sqlite:///{folder}/jobs.db"
        environment = os.environ | {"STORE": store}
        work("page 2", signal.SIGKILL, environment)
        print("killed with -9; started again")
        work("page 4", signal.SIGTERM, environment)
        observer = Foliot(store)
        for attempt in reversed(observer.wait(observer.history("report"))):
            print("history: attempt", attempt.number, attempt.outcome)
        observer.close()


if __name__ == "__main__":
    logging.basicConfig(level=logging.ERROR)  # Foliot would warn of the loss, with a time that differs
    if sys.argv[1:] == ["work"]:
        asyncio.run(app.run())
    else:
        main()
