"""The same turn of RedBeat, and of Celery's own beat."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import redis
from celery import Celery
from celery.beat import PersistentScheduler
from celery.schedules import schedule as every
from redbeat import RedBeatScheduler, RedBeatSchedulerEntry

from benchmarks.beat.timing import CLOCK, cpu_seconds, each

_AN_HOUR = timedelta(hours=1)
_MOST_TICKS = 500  # of Celery's beat in a turn: each compares all entries, so ten thousand take minutes


class _RedBeat(RedBeatScheduler):  # type: ignore[misc] # it has no types
    """RedBeat, without a broker."""

    def send_task(self, *_: Any, **__: Any) -> None:
        """Take it."""


class _CeleryBeat(PersistentScheduler):  # type: ignore[misc] # as above
    """Celery beat, without a broker."""

    def send_task(self, *_: Any, **__: Any) -> None:
        """Take it."""


def _app(url: str) -> Celery:
    app = Celery("bench", broker="memory://")
    app.conf.update(redbeat_redis_url=url, redbeat_lock_key=None, timezone="UTC")
    app.set_current()
    return app


def measure_redbeat(url: str, count: int, rounds: int = 3) -> dict[str, float]:
    """A turn with none due and with all due."""
    app = _app(url)
    with redis.Redis.from_url(url) as client:
        for key in client.scan_iter("redbeat*"):
            client.delete(key)
    beat = _RedBeat(app=app, lazy=True)
    entries = [_entry(app, number) for number in range(count)]
    for entry in entries:
        entry.save()
    found = {"none_due_us": each(beat.tick, 200)}
    took, cost = [], 0.0
    for _ in range(rounds):
        for entry in entries:
            entry.last_run_at = app.now() - 2 * _AN_HOUR
            entry.save()
        began_at, cpu = CLOCK.monotonic(), cpu_seconds()
        beat.tick()
        took.append((CLOCK.monotonic() - began_at) * 1000)
        cost += cpu_seconds() - cpu
    return found | _told(took, cost, count)


def _entry(app: Celery, number: int) -> Any:
    return RedBeatSchedulerEntry(
        f"s{number}", "work", every(_AN_HOUR, app=app), kwargs={"n": 1}, app=app, last_run_at=app.now()
    )


def measure_celery_beat(url: str, count: int, rounds: int = 3) -> dict[str, float]:
    """The same of Celery's own, which keeps its entries in a file and in memory.

    Of a turn with many due, the first 500 are measured, and the rest is taken to cost the same.
    """
    app = _app(url)
    with TemporaryDirectory() as folder:
        app.conf.beat_schedule = {
            f"s{number}": {"task": "work", "schedule": every(_AN_HOUR, app=app), "kwargs": {"n": 1}}
            for number in range(count)
        }
        beat = _CeleryBeat(app=app, schedule_filename=str(Path(folder) / "beat"), lazy=False)
        _turn(beat, count)
        ticks = min(count, _MOST_TICKS)
        found = {"none_due_us": each(beat.tick, 2_000_000 // max(count, 1000))}
        took, cost = [], 0.0
        for _ in range(rounds):
            for entry in beat.schedule.values():
                entry.last_run_at = app.now() - 2 * _AN_HOUR
            beat._heap = None  # noqa: SLF001 - it has to see that they are due
            began_at, cpu = CLOCK.monotonic(), cpu_seconds()
            _turn(beat, ticks)
            took.append((CLOCK.monotonic() - began_at) * 1000 * count / ticks)
            cost += (cpu_seconds() - cpu) * count / ticks
        beat.close()
    return found | _told(took, cost, count)


def _turn(beat: Any, ticks: int) -> None:
    """A tick sends one task: until none is due, or that many are sent."""
    while ticks and beat.tick() == 0:
        ticks -= 1


def _told(took: list[float], cost: float, count: int) -> dict[str, float]:
    middle = sorted(took)[len(took) // 2]
    return {
        "all_due_ms": round(middle, 1),
        "all_due_us_each": round(middle * 1000 / count, 1),
        "all_due_cpu_us_each": round(cost / len(took) * 1e6 / count, 1),
    }
