"""The class behind `celery beat -S foliot`, asked as Celery asks it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from celery.beat import Service
from celery.bin.base import CeleryCommandException

from doors.celery_beat.beat_stage import entry, make_app
from foliot.doors.celery_beat.errors import BeatStoppedError
from foliot.doors.celery_beat.scheduler import FoliotScheduler

PATIENCE = 60.0


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "beat.db"


@pytest.fixture
def app(store: Path) -> Any:
    """An application whose only entry is due each second, on a queue of its own."""
    options = {"queue": f"beat-{uuid4().hex}", "expires": 3600}
    given = entry(1.0, args=["tick"], kwargs={"n": 1}, options=options)
    return make_app({"each second": given}, foliot_store=f"sqlite:///{store}")


@pytest.fixture
def scheduler(app: Any) -> Iterator[FoliotScheduler]:
    scheduler = FoliotScheduler(app)
    yield scheduler
    scheduler.close()


def first_message(app: Any) -> Any:
    queue = app.conf.beat_schedule["each second"]["options"]["queue"]
    with app.connection_for_read() as connection, connection.SimpleQueue(queue) as waiting:
        message = waiting.get(timeout=PATIENCE)
        message.ack()
        return message


def test_celery_finds_it_by_the_name_foliot(app: Any, store: Path) -> None:
    found = Service(app, scheduler_cls="foliot").get_scheduler(lazy=True)

    assert type(found) is FoliotScheduler
    assert not store.exists()


def test_lazy_it_starts_nothing_and_tells_store_and_namespace(app: Any, store: Path) -> None:
    app.conf.foliot_store = "postgresql://me:secret@db.example/jobs"

    info = FoliotScheduler(app, lazy=True).info

    assert "store -> postgresql://db.example/jobs" in info.replace("me@", "")
    assert "namespace -> proj" in info
    assert "secret" not in info
    assert not store.exists()


def test_a_due_entry_becomes_a_message_for_a_worker(scheduler: FoliotScheduler, app: Any) -> None:
    message = first_message(app)

    args, kwargs, _ = message.payload
    assert (args, kwargs) == (["tick"], {"n": 1})
    assert message.headers["task"] == "proj.tasks.add"
    assert message.headers["celery_beat_task"] is True
    assert message.headers["run_key"].startswith("proj/each second@")
    assert scheduler.tick() <= 1


def test_a_tick_takes_at_most_a_second_and_less_if_celery_wants_so(scheduler: FoliotScheduler) -> None:
    assert scheduler.tick() == 1.0
    scheduler.max_interval = 0.25
    assert scheduler.tick() == 0.25
    assert not scheduler.should_sync()


def test_a_tick_raises_when_the_engine_has_ended(scheduler: FoliotScheduler) -> None:
    assert scheduler._beat is not None
    scheduler._beat._core.failure = RuntimeError("the disk is gone")

    with pytest.raises(BeatStoppedError, match="the engine of proj has ended: the disk is gone"):
        scheduler.tick()


def test_it_can_be_closed_twice_and_ticks_no_more(app: Any) -> None:
    scheduler = FoliotScheduler(app)

    scheduler.close()
    scheduler.close()

    with pytest.raises(BeatStoppedError, match="it was closed"):
        scheduler.tick()


def test_refused_entries_stop_it_with_their_names(app: Any, store: Path) -> None:
    app.conf.beat_schedule["too quick"] = entry(0.1)

    with pytest.raises(CeleryCommandException, match="too quick: an interval of") as caught:
        FoliotScheduler(app)

    assert caught.value.exit_code == 3
    assert not store.exists()


def test_refused_entries_are_skipped_and_told_if_the_configuration_says_so(
    app: Any, caplog: pytest.LogCaptureFixture
) -> None:
    app.conf.beat_schedule["too quick"] = entry(0.1)
    app.conf.foliot_skip_refused = True

    with caplog.at_level(logging.WARNING, "foliot"):
        scheduler = FoliotScheduler(app)
    try:
        assert first_message(app).headers["task"] == "proj.tasks.add"
    finally:
        scheduler.close()

    assert [record.getMessage() for record in caplog.records if "too quick" in record.getMessage()]


def test_without_a_store_it_says_what_to_write(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FOLIOT_STORE", raising=False)
    app.conf.foliot_store = None

    with pytest.raises(CeleryCommandException, match="foliot_store is not set"):
        FoliotScheduler(app, lazy=True)
