"""A request waits for a moment while the engine of the same process starts jobs."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from foliot import Foliot
from foliot.access import token_in_file
from foliot.api.backend import AppBackend, StoreBackend
from foliot.api.courtesy import Courtesy
from foliot.api.server import ApiServer, Listening
from foliot.clock import SystemClock
from foliot.testing.clock import ManualClock

MILLISECOND = timedelta(milliseconds=1)
NOT_LONG = 15 * MILLISECOND
_clock = SystemClock()


def waited(starting_for: timedelta) -> timedelta:
    """How long a request waits if jobs start for so long."""

    async def act() -> timedelta:
        clock = ManualClock()
        began, asked = clock.now(), list[timedelta]()

        def is_starting(within: timedelta) -> bool:
            asked.append(within)
            return clock.now() - began < starting_for

        task = asyncio.ensure_future(Courtesy(is_starting, clock).give_way())
        await clock.settle()
        while not task.done():
            await clock.advance(MILLISECOND)
        assert set(asked) == {5 * MILLISECOND}, "a request that begins now may last as long"
        return clock.now() - began

    return asyncio.run(act())


@pytest.mark.parametrize(
    ("starting_for", "expected"),
    [
        (0 * MILLISECOND, 0 * MILLISECOND),
        (3 * MILLISECOND, 3 * MILLISECOND),
        (timedelta(hours=1), NOT_LONG),
    ],
    ids=["the engine rests", "until jobs have started", "a herd shuts nobody out"],
)
def test_a_request_waits_until_jobs_have_started_but_not_for_long(
    starting_for: timedelta, expected: timedelta
) -> None:
    assert waited(starting_for) == expected


def test_an_engine_with_nothing_due_is_not_starting_and_one_with_something_due_soon_is(
    tmp_path: Path,
) -> None:
    app = Foliot(f"sqlite:///{tmp_path}/jobs.db", name="shop")
    backend = AppBackend(app, _clock)
    assert not backend.is_starting(timedelta(hours=1)), "it has not begun"

    async def act() -> None:
        async with app:
            async with asyncio.timeout(30):
                while backend.is_starting(MILLISECOND):  # it looks for the first time
                    await _clock.wait(MILLISECOND)
            assert backend.is_starting(timedelta(hours=1)), "by then it will have looked again"

    asyncio.run(act())
    assert not backend.is_starting(timedelta(hours=1)), "it has ended"


def test_an_api_without_an_engine_waits_for_nobody() -> None:
    assert not StoreBackend("memory://", _clock).is_starting(timedelta(days=1))


def test_each_request_asks_whether_jobs_start(tmp_path: Path) -> None:
    asked: list[timedelta] = []

    class Busy(StoreBackend):
        def is_starting(self, within: timedelta) -> bool:
            asked.append(within)
            return len(asked) <= 3

    backend = Busy(f"sqlite:///{tmp_path}/jobs.db", _clock)
    server = ApiServer(backend, _clock, Listening(host="127.0.0.1", port=0, state=tmp_path), {})
    address = server.start()
    try:
        assert httpx.get(f"{address.url}/livez").status_code == 200
        assert len(asked) == 4
    finally:
        server.stop()


def test_a_large_body_is_received_in_portions(tmp_path: Path) -> None:
    asked: list[timedelta] = []

    class Watched(StoreBackend):
        def is_starting(self, within: timedelta) -> bool:
            asked.append(within)
            return False

    backend = Watched(f"sqlite:///{tmp_path}/jobs.db", _clock)
    server = ApiServer(backend, _clock, Listening(host="127.0.0.1", port=0, state=tmp_path), {})
    address = server.start()
    try:
        headers = {"Authorization": f"Bearer {token_in_file(address.token_file or tmp_path)}"}
        body = b"[" + b" " * 4_000_000 + b"]"
        url = f"{address.url}/api/v1/jobs/batch"
        json = {**headers, "Content-Type": "application/json"}
        assert httpx.post(url, content=body, headers=json, timeout=60).status_code == 422
        assert 8 <= len(asked) <= 32, "128 kB at least, and what the server had read by then"
    finally:
        server.stop()
