"""huey on SQLite, with `fsync=True`, which is SQLite's synchronous=FULL; two worker threads."""

from __future__ import annotations

import logging
from importlib.metadata import version

from huey import SqliteHuey
from huey.signals import SIGNAL_COMPLETE

from benchmarks.fire.contenders.race import Race, do_nothing


def main() -> None:
    """Schedule, run, tell."""
    race = Race()
    logging.disable(logging.CRITICAL)
    huey = SqliteHuey("bench", filename=str(race.path), fsync=True, journal_mode="wal", timeout=60)
    huey.signal(SIGNAL_COMPLETE)(lambda *_: race.note_end())
    task = huey.task()(do_nothing)
    for number in range(race.jobs):
        task.schedule(kwargs={"user": number}, eta=race.due)
    race.check_in()
    consumer = huey.create_consumer(workers=2, periodic=False, scheduler_interval=1)
    consumer.start()
    race.wait()
    consumer.stop(graceful=True)
    race.tell(version("huey"))


if __name__ == "__main__":
    main()
