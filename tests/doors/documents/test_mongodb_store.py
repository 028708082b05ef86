"""What is MongoDB's own: field paths, conditions, types, options, and a server that goes away."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

import bson
import pytest
from bson import Binary, Decimal128, Int64, ObjectId
from bson.datetime_ms import DatetimeMS
from bson.raw_bson import RawBSONDocument
from pymongo import AsyncMongoClient, MongoClient, ReadPreference, WriteConcern

from foliot.clock import SystemClock
from foliot.doors.documents import Config, InvalidConfigError, Job, JobUpdate, MongoStore, Scheduler, Settled
from foliot.errors import StoreError
from foliot.testing.servers import mongodb_server
from real_mongodb import fresh_database

HOUR = timedelta(hours=1)
OLD = datetime(2026, 1, 1, 9, tzinfo=UTC)


def play(url: str, act: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        async with asyncio.timeout(60), AsyncMongoClient[Any](url, tz_aware=True) as client:
            await act(client[fresh_database()].jobs)

    asyncio.run(run())


async def process_all(store: MongoStore, **options: Any) -> tuple[list[Job], list[Exception]]:
    jobs: list[Job] = []
    errors: list[Exception] = []

    async def stop() -> None:
        await scheduler.stop()

    async def handle(job: Job) -> None:
        jobs.append(job)

    config = Config(store=store, on_document=handle, on_idle=stop, on_error=errors.append, **options)
    scheduler = Scheduler(config)
    await scheduler.run()
    return jobs, errors


@pytest.mark.req("DOC-02")
def test_all_that_is_the_users_comes_through_and_stays_as_it_was(mongodb_url: str) -> None:
    async def act(jobs: Any) -> None:
        mine = {
            "nested": {"list": [1, {"deep": None}], "big": Int64(2**60)}, "id": ObjectId(),
            "money": Decimal128("1.10"), "bytes": Binary(b"\0\xff", 5), "text": "a\0ü",
            "far": DatetimeMS(2**52),
        }  # fmt: skip
        await jobs.insert_one({"_id": 1, "sleepUntil": OLD, **mine})
        raw = jobs.with_options(jobs.codec_options.with_options(document_class=RawBSONDocument))
        ran, errors = await process_all(MongoStore(jobs))
        assert errors == []
        assert ran[0].data["nested"] == mine["nested"]
        assert ran[0].data["money"] == Decimal128("1.10")
        assert ran[0].sleep_until == ran[0].data["sleepUntil"] == OLD
        after = await raw.find_one({"_id": 1})
        assert after.raw == bson.encode({"_id": 1, "sleepUntil": None, **mine})

    play(mongodb_url, act)


@pytest.mark.req("DOC-10", "DOC-16")
def test_paths_with_dots_and_a_condition(mongodb_url: str) -> None:
    async def act(jobs: Any) -> None:
        paths: dict[str, Any] = {
            "sleep_until_field": "cron.sleepUntil", "interval_field": "cron.interval",
            "repeat_until_field": "cron.until", "auto_remove_field": "cron.once",
        }  # fmt: skip
        store = MongoStore(jobs, **paths, condition={"kind": "mail"})
        cron = {"sleepUntil": OLD, "other": 7}
        await jobs.insert_many([
            {"_id": "mail", "kind": "mail", "cron": cron},
            {"_id": "fax", "kind": "fax", "cron": cron},
            {"_id": "top", "kind": "mail", "sleepUntil": OLD},
            {"_id": "array", "kind": "mail", "cron": [cron]},
            {"_id": "once", "kind": "mail", "cron": {**cron, "once": True}},
            {"_id": "again", "kind": "mail", "cron": {**cron, "interval": "@yearly"}},
        ])  # fmt: skip
        ran, errors = await process_all(store, timezone="UTC", catch_up="next")
        assert errors == []
        assert sorted(job.id for job in ran) == ["again", "mail", "once"]
        found = {document["_id"]: document async for document in jobs.find()}
        assert found["mail"]["cron"] == {"sleepUntil": None, "other": 7}
        assert found["fax"]["cron"] == cron
        assert found["array"]["cron"] == [cron]
        assert "once" not in found
        following = found["again"]["cron"]["sleepUntil"]
        assert (following.month, following.day, following > OLD + HOUR) == (1, 1, True)
        await store.create_index()
        assert (await jobs.index_information())["kind_1_cron.sleepUntil_1"]["sparse"]
        assert await store.warnings() == []

    play(mongodb_url, act)


@pytest.mark.req("DOC-17")
def test_what_is_no_date_is_never_picked_and_never_touched(mongodb_url: str) -> None:
    values: list[Any] = [
        None, "2020-01-01", 0, 1.5, True, [OLD], [], {}, ObjectId(), bson.Timestamp(1, 1), bson.MinKey(),
    ]  # fmt: skip

    async def act(jobs: Any) -> None:
        await jobs.insert_many([{"_id": number, "sleepUntil": value} for number, value in enumerate(values)])
        await jobs.insert_one({"_id": "missing"})
        await jobs.insert_many([{"_id": f"due {number}", "sleepUntil": OLD} for number in range(3)])
        before = [document async for document in jobs.find({"_id": {"$type": "int"}})]
        store = MongoStore(jobs)
        ran, errors = await process_all(store)
        assert errors == []
        assert sorted(job.id for job in ran) == ["due 0", "due 1", "due 2"]
        assert [document async for document in jobs.find({"_id": {"$type": "int"}})] == before
        assert await jobs.find_one({"_id": "missing"}) == {"_id": "missing"}
        first, second = await store.warnings()
        assert "no index" in first
        assert "sleepUntil is no date" in second

    play(mongodb_url, act)


def test_a_date_that_python_cannot_show_is_brought_to_the_end_of_its_calendar(mongodb_url: str) -> None:
    async def act(jobs: Any) -> None:
        await jobs.insert_one(
            {"_id": "early", "sleepUntil": DatetimeMS(-(2**50)), "repeatUntil": DatetimeMS(2**52)}
        )
        ran, errors = await process_all(MongoStore(jobs))
        assert errors == []
        assert ran[0].sleep_until == datetime.min.replace(tzinfo=UTC)
        assert ran[0].repeat_until == datetime.max.replace(tzinfo=UTC)

    play(mongodb_url, act)


def test_many_waiting_documents_cost_nothing(mongodb_url: str) -> None:
    async def act(jobs: Any) -> None:
        later = SystemClock().now() + HOUR
        await jobs.insert_many([{"sleepUntil": later} for _ in range(2000)])
        store = MongoStore(jobs)
        await store.create_index()
        filter_ = {"sleepUntil": {"$lte": SystemClock().now(), "$not": {"$type": "array"}}}
        plan = await jobs.find(filter_).sort("sleepUntil", 1).explain()
        assert plan["executionStats"]["totalDocsExamined"] == 0
        assert plan["executionStats"]["totalKeysExamined"] <= 1

    play(mongodb_url, act)


def test_a_token_field_grows_with_each_lock(mongodb_url: str) -> None:
    async def act(jobs: Any) -> None:
        await jobs.insert_one({"_id": 1, "sleepUntil": OLD})
        store = MongoStore(jobs, token_field="foliot.token")  # noqa: S106 - no password
        for expected in (1, 2):
            job = await store.lock_next(OLD + expected * HOUR)
            assert job is not None
            assert job.token == expected

    play(mongodb_url, act)


def test_a_validator_that_forbids_null_is_told_with_a_hint(mongodb_url: str) -> None:
    async def act(jobs: Any) -> None:
        rule = {"$jsonSchema": {"properties": {"sleepUntil": {"bsonType": "date"}}}}
        await jobs.database.create_collection(jobs.name, validator=rule)
        await jobs.insert_one({"_id": 1, "sleepUntil": OLD})
        _, (error,) = await process_all(MongoStore(jobs))
        assert isinstance(error, StoreError)
        assert error.hint is not None
        assert "autoRemove" in error.hint
        assert (await jobs.find_one())["sleepUntil"] > OLD, "it waits for its lock's end"

    play(mongodb_url, act)


@pytest.mark.req("DOC-16")
def test_options_are_checked_and_writes_are_made_safe(mongodb_url: str) -> None:
    with MongoClient[Any](mongodb_url) as client:
        jobs = client.test.jobs
        store = MongoStore(jobs)
        names = (store.fields.sleep_until, store.fields.interval, store.fields.repeat_until)
        assert (*names, store.fields.auto_remove) == ("sleepUntil", "interval", "repeatUntil", "autoRemove")
        assert store.condition is None
        assert store._collection().write_concern == WriteConcern(w="majority", j=True)
        explicit = jobs.with_options(write_concern=WriteConcern(w=1))
        assert MongoStore(explicit)._collection().write_concern == WriteConcern(w=1)
        refused: list[tuple[Any, dict[str, Any], str]] = [
            (jobs.with_options(write_concern=WriteConcern(w=0)), {}, "write concern 0"),
            (jobs.with_options(read_preference=ReadPreference.SECONDARY), {}, "primary"),
            (client, {}, "collection of PyMongo"),
            (jobs, {"sleep_until_field": ""}, "sleep_until_field"),
            (jobs, {"interval_field": "$x"}, "no path"),
            (jobs, {"interval_field": "a..b"}, "no path"),
            (jobs, {"auto_remove_field": "_id"}, "the document's id"),
            (jobs, {"interval_field": "sleepUntil.x"}, "each other's way"),
            (jobs, {"condition": "kind = mail"}, "must be a filter"),
        ]
        for collection, options, message in refused:
            with pytest.raises(InvalidConfigError, match=message):
                MongoStore(collection, **options)


def test_an_edit_of_another_field_does_not_disturb(mongodb_url: str) -> None:
    async def act(jobs: Any) -> None:
        await jobs.insert_one({"_id": 1, "sleepUntil": OLD, "interval": "@daily"})
        store = MongoStore(jobs)
        held = await store.now() + HOUR
        held = held.replace(microsecond=0)
        job = await store.lock_next(held)
        assert job is not None
        await jobs.update_one({"_id": 1}, {"$set": {"note": "written meanwhile"}})
        assert await store.settle(job, held, JobUpdate(sleep_until=None)) is Settled.DONE
        found = await jobs.find_one()
        assert (found["note"], found["sleepUntil"]) == ("written meanwhile", None)

    play(mongodb_url, act)


@pytest.mark.prove
@pytest.mark.req("DOC-05", "DOC-21")
def test_a_server_that_is_killed_is_told_once_and_work_goes_on() -> None:
    async def act(url: str, restart: Callable[[], None]) -> None:
        errors: list[Exception] = []
        begun, go = asyncio.Event(), asyncio.Event()

        async def handle(_: Job) -> None:
            begun.set()
            await go.wait()

        async with AsyncMongoClient[Any](url, timeoutMS=2000, tz_aware=True) as client:
            jobs = client.test.jobs
            await MongoStore(jobs).put({"_id": 1, "sleepUntil": OLD, "interval": "@yearly"})
            config = Config(
                store=MongoStore(jobs), on_document=handle, on_error=errors.append, catch_up="next"
            )
            async with asyncio.timeout(120), Scheduler(config) as scheduler:
                await begun.wait()
                stopped = asyncio.create_task(asyncio.to_thread(restart))
                await SystemClock().wait(timedelta(milliseconds=100))
                go.set()
                await stopped
                while scheduler.is_processing():
                    await SystemClock().wait(timedelta(milliseconds=50))
                found: Any = await jobs.find_one()
        assert found["sleepUntil"] > datetime(2026, 6, 1, tzinfo=UTC)
        assert (found["sleepUntil"].day, found["sleepUntil"].month) == (1, 1)

    with mongodb_server() as server:
        asyncio.run(act(server.url, lambda: server.restart(immediate=True)))
