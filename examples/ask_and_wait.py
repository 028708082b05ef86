"""Ask for a run from anywhere, and wait for its end.

python examples/ask_and_wait.py

A worker runs jobs; a web handler, a script, or another process asks for a run and learns how it ended. Here
both are in one program, as two applications on one file.
"""

from __future__ import annotations

import asyncio

from foliot import Foliot, JobRun, Retry
from foliot.errors import WaitTimeoutError

STORE = "sqlite:///ask_and_wait.db"
worker = Foliot(STORE, name="shop", poll="100ms")
asker = Foliot(STORE, name="shop")  # declares nothing, runs nothing


@worker.job("@yearly", retry=Retry(max=2, delay="1s"))
async def report(run: JobRun) -> None:
    """Succeeds at the second try."""
    run.log("try", run.attempt)
    if run.attempt == 1:
        raise ValueError("no figures yet")


async def main() -> None:
    """Ask, be impatient once, then wait for the end."""
    async with worker:
        key = await asker.trigger("report")
        try:
            await asker.finished(key, timeout="100ms")
        except WaitTimeoutError:
            print("not yet", flush=True)
        last = await asker.finished(key)
        print(f"attempt {last.number} {last.outcome}: {(await asker.log(last)).strip()}", flush=True)
    asker.close()


if __name__ == "__main__":
    asyncio.run(main())
