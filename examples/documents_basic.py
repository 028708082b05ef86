"""Jobs as documents, without a database: a list of dictionaries is the list of jobs.

python examples/documents_basic.py

Four kinds of jobs: at once, later, again and again, and one that is gone when it is done. It ends by itself.
"""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from foliot.doors.documents import Config, Job, MemoryStore, Scheduler

NOW = datetime.now(UTC)
SECOND = timedelta(seconds=1)
DOCUMENTS = [
    {"_id": "now", "sleepUntil": NOW},
    {"_id": "later", "sleepUntil": NOW + SECOND},
    {"_id": "each second", "sleepUntil": NOW, "interval": "* * * * * *", "repeatUntil": NOW + 3 * SECOND},
    {"_id": "gone", "sleepUntil": NOW, "autoRemove": True},
]


async def handle(job: Job) -> None:
    """Work on one document."""
    print("processing", job.id, flush=True)


async def main() -> None:
    """Run until nothing is left to come."""
    store = MemoryStore(list(DOCUMENTS))

    async def stop_if_done() -> None:
        if not any(document["sleepUntil"] for document in store.documents):
            await scheduler.stop()

    scheduler = Scheduler(Config(store=store, on_document=handle, on_idle=stop_if_done))
    await scheduler.run()
    print("left:", ", ".join(str(document["_id"]) for document in store.documents), flush=True)


asyncio.run(main())
