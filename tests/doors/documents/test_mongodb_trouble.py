"""Odd documents, edits, clocks, and a collection to which something is done while a scheduler works on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import bson
import pytest
from bson.raw_bson import RawBSONDocument
from pymongo import AsyncMongoClient

from doors.documents.recording import until
from foliot.clock import SystemClock
from foliot.doors.documents import (
    BadDocumentError,
    Config,
    Job,
    JobUpdate,
    LockLostError,
    MongoStore,
    Scheduler,
    Settled,
)
from foliot.errors import StoreError
from real_mongodb import fresh_database

HOUR = timedelta(hours=1)
OLD = datetime(2026, 1, 1, 9, tzinfo=UTC)


class Work:
    """A scheduler on a collection of one's own, and what it did."""

    def __init__(self, jobs: Any, **options: Any) -> None:
        self.jobs = jobs
        self.ran: list[Any] = []
        self.errors: list[Exception] = []
        self.begun, self.go = asyncio.Event(), asyncio.Event()
        facts: dict[str, Any] = {"store": MongoStore(jobs), "idle_delay": "5ms", "timezone": "UTC"}
        config = Config(on_document=self.handle, on_error=self.errors.append, **{**facts, **options})
        self.scheduler = Scheduler(config)

    async def handle(self, job: Job) -> None:
        self.ran.append(job.id)
        self.begun.set()
        if job.data.get("waits"):
            await self.go.wait()

    async def process(self, id_: Any) -> None:
        """Put a document that is due, and wait until it was processed."""
        await self.jobs.insert_one({"_id": id_, "sleepUntil": OLD})
        await until(lambda: id_ in self.ran and not self.scheduler.is_processing())


def play(url: str, act: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        async with asyncio.timeout(60), AsyncMongoClient[Any](url, tz_aware=True) as client:
            await act(client[fresh_database()].jobs)

    asyncio.run(run())


class AheadClock(SystemClock):
    """The clock of a host that is two hours ahead."""

    def now(self) -> datetime:
        return super().now() + 2 * HOUR


def test_the_clock_of_the_host_decides_nothing(mongodb_url: str) -> None:
    async def act(jobs: Any) -> None:
        server = SystemClock().now()
        await jobs.insert_many([
            {"_id": "later", "sleepUntil": server + HOUR},
            {"_id": "due", "sleepUntil": server - HOUR, "waits": True},
        ])  # fmt: skip
        clock = AheadClock()
        work = Work(jobs, store=MongoStore(jobs, clock=clock), clock=clock, lock_duration="10m")
        async with work.scheduler:
            await work.begun.wait()
            lock = (await jobs.find_one({"_id": "due"}))["sleepUntil"]
            assert abs(lock - server) < HOUR / 2, "the lock ends by the server's clock"
            work.go.set()
            await until(work.scheduler.is_idle)
        assert work.ran == ["due"]

    play(mongodb_url, act)


@pytest.mark.parametrize("micros", [999_500, 999_999, 1, 500])
def test_times_that_are_finer_than_a_millisecond_are_never_too_early(mongodb_url: str, micros: int) -> None:
    async def act(jobs: Any) -> None:
        await jobs.insert_one({"_id": 1, "sleepUntil": OLD})
        store = MongoStore(jobs)
        held = (await store.now() + HOUR).replace(microsecond=micros)
        job = await store.lock_next(held)
        assert job is not None
        assert await store.renew(job, held, held + HOUR)
        at = datetime(2030, 1, 1, 0, 0, 59, micros, tzinfo=UTC)
        for _ in range(2):
            assert await store.settle(job, held + HOUR, JobUpdate(sleep_until=at)) is Settled.DONE
        found = (await jobs.find_one())["sleepUntil"]
        assert timedelta(0) <= found - at < timedelta(milliseconds=1)
        await store.update(1, JobUpdate(sleep_until=at))
        assert (await jobs.find_one())["sleepUntil"] == found

    play(mongodb_url, act)


EDITS: dict[str, tuple[dict[str, Any], Any]] = {
    "another interval": ({"$set": {"interval": "0 0 1 7 *"}}, datetime(2031, 7, 1, tzinfo=UTC)),
    "no interval": ({"$unset": {"interval": ""}}, None),
    "an end": ({"$set": {"repeatUntil": OLD}}, None),
    "a time": ({"$set": {"sleepUntil": datetime(2031, 3, 3, tzinfo=UTC)}}, datetime(2031, 3, 3, tzinfo=UTC)),
    "no time": ({"$set": {"sleepUntil": None}}, None),
    "a note": ({"$set": {"note": "x"}}, datetime(2032, 1, 1, tzinfo=UTC)),
}


@pytest.mark.parametrize("edit", EDITS)
def test_what_a_person_edits_while_a_document_is_processed_counts(mongodb_url: str, edit: str) -> None:
    change, expected = EDITS[edit]

    async def act(jobs: Any) -> None:
        await jobs.insert_one({"_id": 1, "sleepUntil": OLD, "interval": "0 0 1 1 *", "waits": True})
        work = Work(jobs, catch_up="next", lock_duration="1h")
        async with work.scheduler:
            await work.begun.wait()
            await jobs.update_one({"_id": 1}, change)
            work.go.set()
            await until(lambda: not work.scheduler.is_processing())
            found = await jobs.find_one()
        got = found["sleepUntil"]
        if edit in {"another interval", "a note"}:
            assert (got.month, got.day) == (expected.month, expected.day)
        else:
            assert got == expected
        is_time = edit in {"a time", "no time"}
        assert [type(error) for error in work.errors] == ([LockLostError] if is_time else [])
        assert found.get("note") == change.get("$set", {}).get("note")

    play(mongodb_url, act)


def test_a_document_that_is_deleted_while_it_is_processed_stays_deleted(mongodb_url: str) -> None:
    async def act(jobs: Any) -> None:
        await jobs.insert_one({"_id": 1, "sleepUntil": OLD, "interval": "@daily", "waits": True})
        work = Work(jobs)
        async with work.scheduler:
            await work.begun.wait()
            await jobs.delete_one({"_id": 1})
            work.go.set()
            await until(lambda: not work.scheduler.is_processing())
        assert await jobs.count_documents({}) == 0
        assert [error.why for error in work.errors if isinstance(error, LockLostError)] == ["gone"]

    play(mongodb_url, act)


def test_a_document_that_cannot_be_read_is_told_by_its_id_and_the_others_go_on(mongodb_url: str) -> None:
    async def act(jobs: Any) -> None:
        odd = bson.encode({"_id": "odd", "sleepUntil": OLD, "text": "AAAA"}).replace(
            b"AAAA", b"\xff\xfe\xed\xa0"
        )
        raw = jobs.with_options(jobs.codec_options.with_options(document_class=RawBSONDocument))
        await raw.insert_one(RawBSONDocument(odd))
        await jobs.insert_one({"_id": "large", "sleepUntil": OLD, "bytes": b"x" * 16_777_000})
        work = Work(jobs)
        async with work.scheduler:
            await work.process("good")
            await until(lambda: "large" in work.ran and bool(work.errors) and work.scheduler.is_idle())
        assert sorted(work.ran) == ["good", "large"]
        (error,) = work.errors
        assert isinstance(error, BadDocumentError)
        assert "odd" in str(error)
        after = await raw.find_one({"_id": "odd"})
        assert bytes(after.raw).count(b"\xff\xfe\xed\xa0") == 1, "it is as it was, but locked"

    play(mongodb_url, act)


@pytest.mark.parametrize("interval", ["\0", "* * * * * * * *", "a" * 100_000, ["* * * * *"], {}, 5, True])
def test_an_interval_of_any_kind_is_told_before_the_document_ends(mongodb_url: str, interval: Any) -> None:
    async def act(jobs: Any) -> None:
        await jobs.insert_one({"_id": 1, "sleepUntil": OLD, "interval": interval})
        work = Work(jobs)
        async with work.scheduler:
            await until(lambda: bool(work.ran) and work.scheduler.is_idle())
        assert [type(error) for error in work.errors] == [BadDocumentError]
        assert await jobs.find_one() == {"_id": 1, "sleepUntil": None, "interval": interval}

    play(mongodb_url, act)


# -- what is done to the collection ----------------------------------------------------------------


def test_a_collection_that_is_dropped_or_renamed_is_worked_on_when_it_is_there_again(
    mongodb_url: str,
) -> None:
    async def act(jobs: Any) -> None:
        work = Work(jobs)
        async with work.scheduler:
            await work.process(1)
            await jobs.drop()
            await work.process(2)
            await jobs.rename("elsewhere")
            await work.process(3)
        assert (work.ran, work.errors) == ([1, 2, 3], [])

    play(mongodb_url, act)


def test_a_validator_that_comes_later_is_told_and_the_others_go_on(mongodb_url: str) -> None:
    async def act(jobs: Any) -> None:
        work = Work(jobs)
        async with work.scheduler:
            await work.process(1)
            rule = {"$jsonSchema": {"properties": {"sleepUntil": {"bsonType": "date"}}}}
            await jobs.database.command("collMod", jobs.name, validator=rule)
            await work.process(2)
            await jobs.database.command("collMod", jobs.name, validator={})
            await work.process(3)
        (error,) = work.errors
        assert isinstance(error, StoreError)
        assert error.hint is not None
        assert "validator" in error.hint

    play(mongodb_url, act)


def test_rights_that_are_withdrawn_are_told_once_and_work_goes_on_when_they_are_back(
    mongodb_url: str,
) -> None:
    async def act(jobs: Any) -> None:
        database, roles = jobs.database, [{"role": "readWrite", "db": jobs.database.name}]
        await database.command("createUser", "worker", pwd="hush", roles=roles)  # noqa: S106 - of this test
        parts = urlsplit(mongodb_url)
        url = f"mongodb://worker:hush@{parts.netloc.rpartition('@')[2]}/{database.name}?directConnection=true"
        async with AsyncMongoClient[Any](url, tz_aware=True) as client:
            work = Work(client[database.name].jobs)
            work.jobs = jobs
            async with work.scheduler:
                await work.process(1)
                await database.command("revokeRolesFromUser", "worker", roles=roles)
                await until(lambda: bool(work.errors))
                await database.command("grantRolesToUser", "worker", roles=roles)
                await work.process(2)
        await database.command("dropUser", "worker")
        (error,) = work.errors
        assert isinstance(error, StoreError)
        assert error.hint == "the user needs the role readWrite on the database"
        assert "hush" not in str(error)

    play(mongodb_url, act)
