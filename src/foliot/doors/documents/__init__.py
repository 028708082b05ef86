"""Jobs as documents: the jobs are the documents of your own collection, or the rows of your table.

    collection.insert_one({"sleepUntil": datetime.now(UTC), "interval": "0 9 * * *", "to": "ann"})

    scheduler = Scheduler(Config(store=MongoStore(collection), on_document=send_mail))
    await scheduler.run()

Words: a document is *due* when its `sleepUntil` is past. A worker *locks* it: it sets `sleepUntil` to the
time at which the lock ends. When the handler has ended, the worker *settles* it: `sleepUntil` becomes the
next time of its `interval`, or null; or the document is removed (`autoRemove`). All four fields are those of
the Node package mongodb-cron, which may work on the same collection.

Invariants: `lock_next` is one atomic step, so no two workers get one job; a worker that dies leaves a lock
that ends; the value of a lock is the fence (docs/adr/0042), so a worker that was late writes nothing; nothing
but the four fields is ever written. This door does not use the engine: documents are not its records
(docs/adr/0043).

Read in this order: `job` (words and protocols), `plan` (what becomes of a job), `loop`, `keeper`,
`scheduler`; then `stores`. The stores are imported when they are asked for: each needs its driver.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from foliot.doors.documents.config import Config
from foliot.doors.documents.errors import BadDocumentError, InvalidConfigError, LockLostError
from foliot.doors.documents.fields import Fields
from foliot.doors.documents.job import LEAVE, FencedStore, Job, JobStore, JobUpdate, Settled, TimedStore
from foliot.doors.documents.scheduler import Scheduler
from foliot.doors.documents.stores.table import Columns
from foliot.errors import JobNotFoundError, StoreUnavailableError

if TYPE_CHECKING:
    from foliot.doors.documents.stores.memory import MemoryStore
    from foliot.doors.documents.stores.mongodb import MongoStore
    from foliot.doors.documents.stores.postgres import PostgresStore
    from foliot.doors.documents.stores.redis import RedisStore
    from foliot.doors.documents.stores.sqlite import SqliteStore

_STORES = {
    "MemoryStore": "memory",
    "MongoStore": "mongodb",
    "PostgresStore": "postgres",
    "RedisStore": "redis",
    "SqliteStore": "sqlite",
}

__all__ = [  # noqa: RUF022 - grouped by what they are for
    # what users call
    "Config",
    "Scheduler",
    # words
    "Job",
    "JobUpdate",
    "LEAVE",
    "Settled",
    "Fields",
    # what stores do
    "JobStore",
    "FencedStore",
    "TimedStore",
    # stores
    "MemoryStore",
    "MongoStore",
    "PostgresStore",
    "SqliteStore",
    "RedisStore",
    "Columns",
    # errors
    "BadDocumentError",
    "InvalidConfigError",
    "JobNotFoundError",
    "LockLostError",
    "StoreUnavailableError",
]


def __getattr__(name: str) -> Any:
    if name in _STORES:
        return getattr(import_module(f"{__name__}.stores.{_STORES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
