"""An engine that cannot go on: whoever runs it is told, and whoever asks is told."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from app.scene import NEVER, PATIENCE, play
from foliot import Foliot
from foliot.clock import SystemClock
from foliot.engine.engine import Engine

pytestmark = pytest.mark.usefixtures("defect")


class DefectError(Exception):
    """What nobody expected."""


@pytest.fixture
def shows() -> threading.Event:
    """Whether the defect shows."""
    return threading.Event()


@pytest.fixture
def defect(monkeypatch: pytest.MonkeyPatch, shows: threading.Event) -> None:
    """The engine has a defect, which shows when it looks for work."""
    real: Callable[[Engine], Awaitable[timedelta]] = Engine._work

    async def work(engine: Engine) -> timedelta:
        if shows.is_set():
            raise DefectError("it cannot go on")
        return await real(engine)

    monkeypatch.setattr(Engine, "_work", work)


async def _live_until_it_fails(app: Foliot, shows: threading.Event, then: Exception | None = None) -> None:
    async with app:
        shows.set()
        while app.failure is None:
            await SystemClock().wait(timedelta(milliseconds=5))
        assert await app.jobs() == [], "the store can still be asked"
        if then is not None:
            raise then


def test_a_block_can_ask_whether_the_engine_has_failed_and_its_end_raises_it(
    app: Foliot, shows: threading.Event
) -> None:
    async def scene() -> None:
        assert app.failure is None
        with pytest.raises(DefectError):
            await _live_until_it_fails(app, shows)
        assert isinstance(app.failure, DefectError), "and it can be asked for afterwards, too"

    play(scene)


def test_an_error_of_the_block_itself_is_not_hidden(app: Foliot, shows: threading.Event) -> None:
    async def scene() -> None:
        with pytest.raises(ZeroDivisionError):
            await _live_until_it_fails(app, shows, ZeroDivisionError())

    play(scene)


def test_a_new_start_forgets_the_failure_of_the_last(app: Foliot, shows: threading.Event) -> None:
    async def scene() -> None:
        with pytest.raises(DefectError):
            await _live_until_it_fails(app, shows)
        shows.clear()
        async with app:
            assert app.failure is None
        assert app.failure is None

    play(scene)


def test_run_raises_it(app: Foliot, shows: threading.Event) -> None:
    async def scene() -> None:
        running = asyncio.ensure_future(app.run())
        shows.set()
        with pytest.raises(DefectError):
            await running
        assert isinstance(app.failure, DefectError)

    play(scene)


def test_stop_raises_it(app: Foliot, shows: threading.Event) -> None:
    @app.job(NEVER)
    async def work() -> None:
        """Nothing."""

    app.start()
    shows.set()
    give_up_at = SystemClock().monotonic() + PATIENCE
    while app.failure is None and SystemClock().monotonic() < give_up_at:
        SystemClock().sleep(0.005)
    with pytest.raises(DefectError):
        app.stop()
    assert isinstance(app.failure, DefectError)
    before = threading.active_count()
    app.stop()
    assert threading.active_count() <= before
