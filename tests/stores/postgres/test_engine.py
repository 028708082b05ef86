"""Programs on one database: hints reach them, and they share the work without a leader."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest

from foliot import Foliot
from foliot.clock import SystemClock
from foliot.executors.python import JobRun
from foliot.model.attempt import Outcome
from foliot.testing.servers import PostgresServer, postgres_server

pytestmark = pytest.mark.prove

CLOCK = SystemClock()
A_LITTLE = timedelta(seconds=0.02)


def make_app(url: str, seen: list[str], name: str) -> Foliot:
    """One that hardly ever looks by itself."""
    app = Foliot(url, name="shop", poll="1m", lease="60s")

    @app.job("0 0 1 1 *")
    async def report(run: JobRun) -> None:
        seen.append(f"{name} {run.key}")

    @app.job("0 0 1 1 *")
    async def endless() -> None:
        seen.append(name)
        await asyncio.Event().wait()

    return app


async def ended(app: Foliot, job: str) -> Outcome:
    async with asyncio.timeout(20):
        while True:
            for attempt in await app.history(job):
                if attempt.outcome is not None:
                    return attempt.outcome


def test_what_another_program_asks_for_starts_and_ends_at_once(url: str) -> None:
    async def act() -> None:
        seen: list[str] = []
        runner, asker = make_app(url, seen, "runner"), make_app(url, seen, "asker")
        async with runner:
            await asker.trigger("report")
            assert await ended(asker, "report") is Outcome.SUCCEEDED
            key = await asker.trigger("endless")
            async with asyncio.timeout(20):
                while "runner" not in seen:
                    await CLOCK.wait(A_LITTLE)
            await asker.cancel(key)
            assert await ended(asker, "endless") is Outcome.CANCELLED
        asker.close()
        assert [line.partition(" ")[0] for line in seen] == ["runner", "runner"]

    asyncio.run(act())


def crash(server: PostgresServer) -> None:
    server.restart(immediate=True)


def hang(server: PostgresServer) -> None:
    server.pause()
    asyncio.run(CLOCK.wait(timedelta(seconds=4)))
    server.resume()


@pytest.mark.usefixtures("server_url")
@pytest.mark.parametrize("fault", [crash, hang])
def test_after_a_fault_of_the_server_work_goes_on_by_itself_and_nothing_runs_twice(
    fault: Callable[[PostgresServer], None],
) -> None:
    async def act(server: PostgresServer) -> None:
        seen: list[str] = []
        app = Foliot(server.url, name="shop", lease="6s")

        @app.job("@every 1s")
        async def tick(run: JobRun) -> None:
            seen.append(run.key)

        async def wait_for(count: int, seconds: float) -> None:
            async with asyncio.timeout(seconds):
                while len(seen) < count:
                    await CLOCK.wait(A_LITTLE)

        async with app:
            await wait_for(2, 20)
            await asyncio.to_thread(fault, server)
            await wait_for(len(seen) + 1, 5)
            await wait_for(len(seen) + 2, 10)
        assert len(seen) == len(set(seen))

    with postgres_server() as server:
        asyncio.run(act(server))
