"""What the real RedBeat has written into a real Redis, taken over: nothing runs again, nothing is lost."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from celery.schedules import crontab, schedule

from doors.celery_beat.beat_stage import NOON, entry, make_app
from foliot.doors.celery_beat.cut_over import Moved, cut_over
from foliot.doors.celery_beat.errors import ImportRefusedError
from foliot.doors.celery_beat.importing import Import, read_import
from foliot.engine.planner import plan_any_due
from foliot.model.state import Node
from foliot.protocols import JobQuery, JobView
from foliot.stores.memory import MemoryStore
from foliot.testing.clock import ManualClock
from real_redis import redis_url_of

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from redbeat import RedBeatSchedulerEntry
    from redbeat.schedulers import ensure_conf, get_redis
    from redbeat.schedules import rrule


@pytest.fixture
def app() -> Iterator[Any]:
    """A project that has used RedBeat: an entry of its code is in Redis, too."""
    url = redis_url_of("redis")
    app = make_app(
        {"of the code": entry(crontab(0), args=["code"])},
        redbeat_redis_url=url,
        redbeat_key_prefix=f"redbeat-{uuid4().hex}:",
        redbeat_redis_options={"socket_timeout": 30},
        timezone="Europe/Berlin",
    )
    ensure_conf(app)
    yield app
    redis = get_redis(app)
    for key in redis.keys(f"{app.conf.redbeat_key_prefix}*"):
        redis.delete(key)
    redis.close()


def save(app: Any, name: str, rule: Any, last_run_at: datetime | None = None, **fields: Any) -> None:
    """Have RedBeat write an entry; and its last run, if it had one."""
    made = RedBeatSchedulerEntry(name, "proj.tasks.add", rule, app=app, **fields)
    made.last_run_at = None
    made.save()
    if last_run_at is not None:
        made._next_instance(last_run_at=last_run_at)


def carry(found: Import, clock: ManualClock) -> tuple[MemoryStore, dict[str, Moved]]:
    store = MemoryStore(clock)
    moved = asyncio.run(cut_over(store, found.moves))
    return store, {one.job.key: one for one in moved}


def stored(store: MemoryStore) -> JobView:
    (view,) = asyncio.run(store.jobs(JobQuery()))
    return view


async def claim(store: MemoryStore, now: datetime) -> list[str]:
    await store.join(Node("n"))
    claimed = await store.claim("n", now, {"default": 10}, plan_any_due, "c")
    return sorted(run.attempt.run_key for run in claimed.runs)


def test_entries_come_over_with_all_that_they_say(app: Any) -> None:
    last = datetime(2026, 11, 16, 11, 55, 0, 20_000, tzinfo=UTC)
    save(app, "dynamic", crontab(0, "9-17", day_of_week="mon-fri"), last, args=[1], kwargs={"a": 2},
         options={"queue": "mail"})  # fmt: skip
    save(app, "interval", schedule(300), enabled=False)

    found = read_import(app, "redbeat", "proj")

    assert found.refusals == []
    dynamic, interval = (move.job for move in found.moves)
    assert dynamic.key == "proj.added/dynamic"
    assert (str(dynamic.schedule), dynamic.schedule.timezone) == ("0 9-17 * * 1-5", "Europe/Berlin")  # type: ignore[attr-defined]
    assert dynamic.action.data["args"] == (1,)
    assert dict(dynamic.action.data["options"]) == {"queue": "mail"}
    assert found.moves[0].served_until == last
    assert (str(interval.schedule), interval.enabled) == ("@every 5m", False)
    assert found.moves[1].served_until is None


def test_nothing_that_was_sent_is_sent_again_and_what_was_missed_is_sent_once(app: Any) -> None:
    sent_at = NOON - timedelta(seconds=59.5)
    save(app, "sent", crontab("*/5"), NOON + timedelta(milliseconds=20))
    save(app, "missed", crontab("*/5"), NOON - timedelta(minutes=14, seconds=59))
    save(app, "of the code", crontab(0), sent_at)
    clock = ManualClock(NOON + timedelta(seconds=30))

    store, moved = carry(read_import(app, "redbeat", "proj"), clock)

    assert moved["proj.added/sent"].next_at == NOON + timedelta(minutes=5)
    assert moved["proj.added/missed"].next_at == NOON - timedelta(minutes=10)
    assert moved["proj/of the code"].next_at == NOON  # the noon that it was stopped before
    assert asyncio.run(claim(store, clock.now())) == [
        "proj.added/missed@2026-11-16T12:00:00Z",
        "proj/of the code@2026-11-16T12:00:00Z",
    ]


def test_an_import_that_is_repeated_changes_nothing(app: Any) -> None:
    save(app, "a", crontab("*/5"), NOON)
    clock = ManualClock(NOON)
    store, _ = carry(read_import(app, "redbeat", "proj"), clock)
    before = stored(store)
    save(app, "a", crontab("*/7"), NOON - timedelta(days=3))

    (moved,) = asyncio.run(cut_over(store, read_import(app, "redbeat", "proj").moves))

    assert moved.is_kept
    assert stored(store).record == before.record


def test_an_entry_that_never_ran_waits_for_its_next_occurrence(app: Any) -> None:
    save(app, "new", crontab("*/5"))

    _, moved = carry(read_import(app, "redbeat", "proj"), ManualClock(NOON + timedelta(seconds=1)))

    assert moved["proj.added/new"].next_at == NOON + timedelta(minutes=5)


def test_what_cannot_be_carried_over_is_refused_by_name(app: Any) -> None:
    save(app, "by a rule", rrule("DAILY", dtstart=NOON, byweekday=[0]))
    save(app, "with bytes", schedule(60), args=[datetime(2026, 1, 1, tzinfo=UTC)])
    redis = get_redis(app)
    redis.hset(f"{app.conf.redbeat_key_prefix}junk", "definition", "{")
    redis.zadd(f"{app.conf.redbeat_key_prefix}:schedule", {f"{app.conf.redbeat_key_prefix}junk": 1})

    found = read_import(app, "redbeat", "proj")

    assert found.moves == []
    refused = {one.entry: one.reason for one in found.refusals}
    assert refused["by a rule"] == "RedBeat's rrule is not supported"
    assert refused["with bytes"] == "args[0] is of the type datetime, which is no JSON"
    assert refused["junk"].startswith("RedBeat's record of it cannot be read")


def test_a_redis_that_does_not_answer_is_told_without_its_password(app: Any) -> None:
    app.conf.redbeat_redis_url = "redis://:hidden@127.0.0.1:1/0"

    with pytest.raises(ImportRefusedError, match="does not answer") as caught:
        read_import(app, "redbeat", "proj")

    assert "hidden" not in str(caught.value)
