"""APScheduler 4 (an alpha), with its SQLAlchemy data store on aiosqlite, on the same SQLite settings."""

from __future__ import annotations

import asyncio
import logging
from importlib.metadata import version
from typing import Any

from apscheduler import AsyncScheduler, JobReleased
from apscheduler.datastores.sqlalchemy import SQLAlchemyDataStore
from apscheduler.triggers.date import DateTrigger
from sqlalchemy import event
from sqlalchemy.ext.asyncio import create_async_engine

from benchmarks.fire.contenders.race import Race, do_nothing_async, until_over


def main() -> None:
    """Schedule, run, tell."""
    race = Race()
    logging.disable(logging.CRITICAL)
    engine = create_async_engine(f"sqlite+aiosqlite:///{race.path}")
    event.listen(engine.sync_engine, "connect", _be_durable)
    asyncio.run(_run(race, SQLAlchemyDataStore(engine)))
    race.tell(version("apscheduler"))


def _be_durable(connection: Any, _: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")
    cursor.close()


async def _run(race: Race, store: Any) -> None:
    async with AsyncScheduler(store, max_concurrent_jobs=1000) as scheduler:
        await scheduler.configure_task("do_nothing", func=do_nothing_async, max_running_jobs=None)
        scheduler.subscribe(race.note_end, {JobReleased})
        for number in range(race.jobs):
            await scheduler.add_schedule(
                "do_nothing",
                DateTrigger(race.due),  # a trigger remembers: one that was shared would fire once for all
                id=f"user-{number}",
                kwargs={"user": number},
                misfire_grace_time=None,
            )
        race.check_in()
        await scheduler.start_in_background()
        await until_over(race)
        await scheduler.stop()


if __name__ == "__main__":
    main()
