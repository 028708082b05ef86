"""Listeners and monitors are somebody else's code: whatever they raise, the engine goes on."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

import pytest

from engine.stage import MINUTE, SECOND, Stage, Watch, job, staged
from foliot import Foliot
from foliot.doors.declarative import Scheduler
from foliot.engine.engine import Engine
from foliot.engine.listeners import Listeners, check_monitor, safely
from foliot.errors import FoliotError
from foliot.model.decision import Event
from foliot.observability import Metrics
from foliot.observability.log import LogListener
from foliot.protocols import Monitor

FAULTS = [ValueError("no"), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()]


def _names(error: BaseException) -> str:
    return type(error).__name__


@pytest.mark.parametrize("error", FAULTS, ids=_names)
def test_what_a_listener_raises_is_logged_and_stays_there(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def tell(_: str) -> None:
        raise error

    with caplog.at_level(logging.ERROR, "foliot"):
        safely(tell, "something")

    [record] = caplog.records
    assert record.getMessage() == "listener_failed"
    assert record.exc_info is not None
    assert record.exc_info[1] is error


@pytest.mark.parametrize("error", FAULTS, ids=_names)
def test_the_engine_goes_on_whatever_a_listener_raises(error: BaseException) -> None:
    class Quitter(Watch):
        def on_turn(self, *_: object) -> None:
            raise error

    @staged
    async def life(stage: Stage) -> None:
        def quit_it(_: Sequence[Event]) -> None:
            raise error

        stage.told.on_events = quit_it  # type: ignore[method-assign,assignment] # a listener that wants to end the program
        await stage.declare(job())
        await stage.start(monitors=(Quitter(),))
        await stage.clock.advance(3 * MINUTE + SECOND)
        assert len(stage.starts) == 3

    life()


@staged
async def test_an_engine_that_is_cancelled_while_a_listener_fails_is_cancelled(stage: Stage) -> None:
    engine: Engine = await stage.start()

    def cancel_and_fail(_: Sequence[Event]) -> None:
        for _engine, life in stage._lives:
            life.cancel()
        raise asyncio.CancelledError

    stage.told.on_events = cancel_and_fail  # type: ignore[method-assign,assignment] # as above
    await stage.declare(job())
    engine.wake()
    await stage.clock.advance(2 * MINUTE)

    [(_, life)] = stage._lives
    assert life.cancelled()
    stage._lives.clear()


@pytest.mark.parametrize("method", ["on_turn", "on_health", "on_lease_lost", "on_burial"])
def test_a_monitor_that_lacks_a_method_is_refused_where_it_is_given(method: str) -> None:
    monitor = type("Half", (Watch,), {method: None})()
    for give in (
        lambda: Listeners((), (monitor,)),
        lambda: Foliot("memory://", metrics=monitor),
        lambda: Scheduler("memory://", listeners=[monitor]),
    ):
        with pytest.raises(FoliotError, match=f"{method}|told"):
            give()


def test_monitors_of_ours_are_complete() -> None:
    for monitor in (LogListener(), Metrics(), Watch()):
        assert isinstance(monitor, Monitor)
        check_monitor(monitor, "monitors")
