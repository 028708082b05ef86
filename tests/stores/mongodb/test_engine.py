"""Programs on one MongoDB: hints reach them, they share the work, and live on when the server does not."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta

import pytest

from foliot import Foliot
from foliot.clock import SystemClock
from foliot.errors import StoreError
from foliot.executors.python import JobRun
from foliot.model.attempt import Outcome
from foliot.testing.servers import MongoServer
from stores.mongodb.playing import inside

pytestmark = pytest.mark.prove

CLOCK = SystemClock()
A_LITTLE = timedelta(seconds=0.02)


def make_app(url: str, seen: list[str], name: str, lease: str = "60s") -> Foliot:
    """One that hardly ever looks by itself."""
    app = Foliot(url, name="shop", poll="1m", lease=lease)

    @app.job("0 0 1 1 *")
    async def report(run: JobRun) -> None:
        seen.append(f"{name} {run.key}")
        run.log("written")

    @app.job("0 0 1 1 *")
    async def endless() -> None:
        seen.append(name)
        await asyncio.Event().wait()

    return app


async def ended(app: Foliot, job: str) -> Outcome:
    async with asyncio.timeout(60):
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
            (attempt,) = await asker.history("report")
            async with asyncio.timeout(60):
                while "written" not in await asker.log(attempt):
                    await CLOCK.wait(A_LITTLE)
            key = await asker.trigger("endless")
            async with asyncio.timeout(60):
                while "runner" not in seen:
                    await CLOCK.wait(A_LITTLE)
            await asker.cancel(key)
            assert await ended(asker, "endless") is Outcome.CANCELLED
        asker.close()
        assert [line.partition(" ")[0] for line in seen] == ["runner", "runner"]

    asyncio.run(act())


async def trigger(app: Foliot, request: str) -> None:
    """Ask until the server answers; one request is one run, however often it is made."""
    async with asyncio.timeout(60):
        while True:
            try:
                await app.trigger("report", request=request)
            except StoreError:
                await CLOCK.wait(A_LITTLE)
            else:
                return


def test_after_a_crash_of_the_server_work_goes_on_and_nothing_runs_twice(server: MongoServer) -> None:
    async def act() -> None:
        seen: list[str] = []
        app = make_app(server.url, seen, "runner", lease="10s")
        async with app:
            await trigger(app, "before")
            assert await ended(app, "report") is Outcome.SUCCEEDED
            await asyncio.to_thread(lambda: server.restart(immediate=True))
            await trigger(app, "after")
            async with asyncio.timeout(90):
                while len(seen) < 2:
                    await CLOCK.wait(A_LITTLE)
        assert sorted(seen) == ["runner shop/report!after", "runner shop/report!before"]

    asyncio.run(act())


def test_jobs_of_a_program_come_back_when_the_database_was_dropped(url: str) -> None:
    async def act() -> None:
        app = make_app(url, [], "runner", lease="6s")
        async with app:
            assert len(await app.jobs()) == 2
            with inside(url) as jobs:
                jobs.database.client.drop_database(jobs.database.name)
            async with asyncio.timeout(90):
                while True:
                    with suppress(StoreError):
                        if len(await app.jobs()) == 2:
                            return
                    await CLOCK.wait(A_LITTLE)

    asyncio.run(act())
