"""APScheduler 3 with its SQLAlchemy job store, on the same SQLite settings as ours.

Without `misfire_grace_time=None` it would drop every job that it comes to more than a second late.
"""

from __future__ import annotations

import asyncio
from importlib.metadata import version
from typing import Any

from apscheduler.events import EVENT_JOB_EXECUTED
from apscheduler.executors.asyncio import AsyncIOExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.date import DateTrigger
from sqlalchemy import create_engine, event

from benchmarks.fire.contenders.race import Race, do_nothing_async, until_over


def main() -> None:
    """Schedule, run, tell."""
    race = Race()
    engine = create_engine(f"sqlite:///{race.path}")
    event.listen(engine, "connect", _be_durable)
    asyncio.run(_run(race, SQLAlchemyJobStore(engine=engine)))
    race.tell(version("apscheduler"))


def _be_durable(connection: Any, _: object) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")


async def _run(race: Race, store: Any) -> None:
    scheduler = AsyncIOScheduler(
        jobstores={"default": store}, executors={"default": AsyncIOExecutor()}, timezone="UTC"
    )
    scheduler.add_listener(race.note_end, EVENT_JOB_EXECUTED)
    scheduler.start()
    trigger = DateTrigger(race.due)
    for number in range(race.jobs):
        scheduler.add_job(
            do_nothing_async,
            trigger,
            id=f"user-{number}",
            kwargs={"user": number},
            misfire_grace_time=None,
        )
    race.check_in()
    await until_over(race)
    scheduler.shutdown()


if __name__ == "__main__":
    main()
