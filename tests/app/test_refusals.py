"""What cannot be right is refused where it is written, and nothing is changed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from app.scene import NEVER, play
from foliot import Event, Every, Foliot
from foliot.clock import SystemClock
from foliot.errors import (
    AppStateError,
    CommandRefusedError,
    InvalidJobError,
    InvalidPolicyError,
    InvalidStoreError,
)
from foliot.executors.python import JobRun

# -- what cannot be right --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("store", "reason"),
    [
        ("jobs.db", "has no scheme"),
        ("mysql://u:secret@h/db", "unknown scheme 'mysql'"),
        ("redis://u:secret@h/db", "not supported yet"),
        ("postgresql://u:secret@h/db?schema=No", "a schema is named by"),
        ("postgresql://u:se%zzcret@h/db", "cannot be read"),
        ("sqlite://", "names no file"),
        ("postgresql://u:[secret@h/db", "cannot be read"),
        ("sqlite:///:memory:", "names no file"),
        ("sqlite://host/path", "names no file"),
    ],
)
def test_a_store_that_cannot_be_is_refused_at_once_and_keeps_its_secret(store: str, reason: str) -> None:
    with pytest.raises(InvalidStoreError, match=reason) as caught:
        Foliot(store)
    assert "secret" not in str(caught.value) + str(caught.value.details)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"overlap": "sometimes"}, "overlap"),
        ({"misfire": "ignore"}, "misfire"),
        ({"timeout": "-1s"}, "duration"),
        ({"timeout": 5}, "timeout"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_options_that_cannot_be_are_refused_where_they_are_written(options: Any, what: str) -> None:
    app = Foliot("memory://")
    with pytest.raises((InvalidPolicyError, ValueError), match=what):
        app.job("@hourly", name="x", **options)(lambda: None)


def test_definitions_that_cannot_be_are_refused_and_nothing_is_changed() -> None:
    app = Foliot("memory://")

    @app.action
    async def remind(run: JobRun, user_id: int) -> None: ...

    async def scene() -> None:
        app.job(NEVER, name="taken")(lambda: None)
        with pytest.raises(InvalidJobError, match=r"payload .*does not fit remind"):
            await app.schedule("x", NEVER, remind, payload={"user": 1})
        with pytest.raises(InvalidJobError, match="is not registered"):
            await app.schedule("x", NEVER, scene)
        with pytest.raises(InvalidJobError, match="declared in the code"):
            await app.schedule("taken", NEVER, remind, payload={"user_id": 1})
        with pytest.raises(InvalidJobError, match="another action"):
            app.action(lambda: None, name="remind")
        with pytest.raises(InvalidPolicyError, match="timezone"):
            app.job(Every("1s"), timezone="UTC")
        with pytest.raises(InvalidJobError, match="source"):
            Foliot("memory://", name="a/b")
        async with app:
            with pytest.raises(CommandRefusedError, match="declared in the code"):
                await app.unschedule("taken")
            assert [status.name for status in await app.jobs()] == ["taken"]

    play(scene)
    app.close()


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"drian": "1m"}, "drian"),
        ({"slots": 0}, "slots"),
        ({"slots": "5"}, "slots"),
        ({"slots": {}}, "slots"),
        ({"lease": "0s"}, "lease"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings: Any, what: str) -> None:
    with pytest.raises(InvalidPolicyError, match=what) as caught:
        Foliot("memory://", **settings)
    assert caught.value.hint


def test_a_decorator_without_parentheses_is_refused() -> None:
    app = Foliot("memory://")

    def work() -> None: ...

    with pytest.raises(InvalidJobError, match="is no schedule"):
        app.job(work)  # type: ignore[arg-type] # what people write by mistake


def test_what_cannot_be_stored_is_refused_on_every_store(app: Foliot) -> None:
    async def scene() -> None:
        app.action(lambda at: at, name="noop")
        with pytest.raises(InvalidJobError, match="payload"):
            await app.schedule("x", NEVER, "noop", payload={"at": SystemClock().now()})

    play(scene)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    app = Foliot(f"sqlite:///{tmp_path}/nowhere/jobs.db")

    async def scene() -> None:
        with pytest.raises(InvalidStoreError, match=r"there is no folder .*nowhere"):
            await app.jobs()

    play(scene)
    app.close()


def test_a_listener_that_waits_for_the_engine_is_told_that_it_cannot() -> None:
    app = Foliot("memory://")
    errors: list[AppStateError] = []

    @app.listen
    def listener(_: Event) -> None:
        work = app.trigger("work")
        try:
            app.wait(work)
        except AppStateError as error:
            errors.append(error)
        finally:
            work.close()

    @app.job(NEVER)
    def work() -> None: ...

    async def scene() -> None:
        async with app:
            await app.trigger("work")
            while not errors:
                await SystemClock().wait(timedelta(milliseconds=5))

    play(scene)
    app.close()
    assert "cannot wait for itself" in str(errors[0])
