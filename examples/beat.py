"""A beat: schedules whose jobs go into a queue, by any number of nodes on one Redis.

python examples/beat.py redis://localhost:6379/0      (start it twice: each job is enqueued once)
"""

from __future__ import annotations

import asyncio
import signal
import sys

from foliot.doors.beat import CronScheduler, Job, Registry, Schedule


class PrintQueue:
    """A queue has one method. A real one hands the job to a broker, and returns when the broker has it."""

    async def enqueue(self, job: Job) -> None:
        """Take a job."""
        print(f"{job.name} {job.payload.decode()} {job.priority} {job.metadata['scheduled_for']}", flush=True)


registry = Registry()
registry.must_register(Schedule("tick", cron="@every 2s", job="say_hello", payload=b'{"to": "you"}'))
registry.must_register(
    Schedule(
        "weekly_report",
        cron="0 9 * * MON",
        job="generate_weekly_report",
        priority="high",
        timezone="America/New_York",
    )
)


async def main(url: str) -> None:
    """Run until Ctrl-C; an enqueue that is under way may end."""
    scheduler = CronScheduler(registry, PrintQueue(), url)
    running = asyncio.ensure_future(scheduler.start())
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, running.cancel)
    await asyncio.wait([running])
    if not running.cancelled():
        running.result()
    print("stopped", flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
