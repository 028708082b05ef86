"""Jobs as documents of a MongoDB collection, which Node's mongodb-cron may work on, too.

python examples/documents_mongodb.py mongodb://127.0.0.1:27017

Insert documents from anywhere, such as mongosh: db.mails.insertOne({to: "ann", sleepUntil: new Date()}).
Ctrl-C ends it when the document that is processed is done; start as many as you like.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from datetime import UTC, datetime
from typing import Any

from pymongo import AsyncMongoClient

from foliot.doors.documents import Config, Job, MongoStore, Scheduler


async def send(job: Job) -> None:
    """Work on one document; it is locked meanwhile, and its lock is renewed."""
    print("a mail to", job.data["to"], flush=True)


async def main(url: str) -> None:
    """Run until Ctrl-C."""
    async with AsyncMongoClient[Any](url) as client:
        mails = client.foliot_example.mails
        store = MongoStore(mails, condition={"kind": "mail"})
        await store.create_index()
        await mails.insert_one(
            {"kind": "mail", "to": "ann", "sleepUntil": datetime.now(UTC), "autoRemove": True}
        )
        scheduler = Scheduler(Config(store=store, on_document=send, idle_delay="200ms", lock_duration="1m"))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, lambda: loop.create_task(scheduler.stop()))
        await scheduler.run()
        print("stopped", flush=True)


asyncio.run(main(sys.argv[1]))
