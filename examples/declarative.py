"""The declarative scheduler: say what should run, and `initialize` makes it so.

python examples/declarative.py

Ctrl-C ends it, when the callbacks that run have ended. Started again it goes on: `declarative.db` holds
when each task was tried last, and a retry that was due meanwhile is made.
"""

from __future__ import annotations

import asyncio
import signal
from datetime import timedelta

from foliot.doors.declarative import Scheduler, SchedulerEvent


async def backup() -> None:
    """Takes a while; never runs beside itself."""
    print("the backup begins", flush=True)
    await asyncio.sleep(1)
    print("the backup is done", flush=True)


async def fetch() -> None:
    """Fails, and is tried again after its delay, unless its next minute comes first."""
    raise ConnectionError("the other side does not answer")


def tell(event: SchedulerEvent) -> None:
    """Say what happens."""
    print(event.name, getattr(event, "task", ""), flush=True)


async def main() -> None:
    """Run until Ctrl-C."""
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    scheduler = Scheduler("sqlite:///declarative.db", listeners=[tell])
    await scheduler.initialize(
        [
            ("backup", "* * * * *", backup, timedelta(minutes=5)),
            ("fetch", "* * * * *", fetch, timedelta(seconds=2)),
            ("report", "0 6 * * 1-5", backup, timedelta(minutes=5)),
        ]
    )
    await stop.wait()
    await scheduler.stop()


if __name__ == "__main__":
    asyncio.run(main())
