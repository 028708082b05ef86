"""The smallest program: one job, every two seconds.

python examples/hello.py

Ctrl-C ends it. Started again it goes on: `hello.db` holds what ran, and what is next.
"""

from __future__ import annotations

import asyncio

from foliot import Foliot
from foliot.executors.python import JobRun

app = Foliot("sqlite:///hello.db")


@app.job("@every 2s")
async def hello(run: JobRun) -> None:
    """Say so."""
    print("hello, it is", run.scheduled_for, flush=True)


if __name__ == "__main__":
    asyncio.run(app.run())
