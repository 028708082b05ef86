"""Node's mongodb-cron works on the same collection: each document once, locks respected, next times equal."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pymongo import AsyncMongoClient

from foliot.clock import SystemClock
from foliot.doors.documents import Config, Job, LockLostError, MongoStore, Scheduler
from foliot.doors.documents.job import milliseconds
from foliot.doors.documents.plan import Rules, next_time
from foliot.testing.servers.faketime import ADVICE, environment, find_library
from peers.node_peer import next_times, node_folder, node_worker
from real_mongodb import fresh_database

pytestmark = pytest.mark.req("DOC-13")
SECOND = timedelta(seconds=1)
_EXPRESSIONS = [
    "* * * * *", "*/5 * * * *", "0 * * * *", "30 4 * * *", "0 0 1 * *", "0 0 31 * *", "0 0 29 2 *",
    "15,45 8-17 * * 1-5", "0 9 * * MON", "0 9 * * 0", "0 9 * * 7", "0 22 * JAN,JUL *", "0 0 1,15 * 3",
    "*/10 * * * * *", "30 */15 * * * *", "5 4 3 2 1 *", "0 0 12 1 1 *", "59 59 23 31 12 *", "0 */7 * * *",
    "10-50/20 6 * * *", "0 0 * * 5L", "0 0 * * 1#2", "0 0 L * *", "0 0 0 L 2 *", "0 12 * * 3#5",
    "0 0 1,L * *",
    "0 0 ? * 2", "1 2 3 4 5", "0 0 13 * 5", "*/7 3 */2 * *",
]  # fmt: skip
_MOMENTS = [
    datetime(2030, 1, 31, 23, 59, 59, tzinfo=UTC), datetime(2032, 2, 28, 12, 0, 0, 500_000, tzinfo=UTC),
    datetime(2031, 6, 15, 8, 45, tzinfo=UTC),
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def needs_node() -> None:
    node_folder()


def run(play: Callable[[Any, str], Any], url: str) -> None:
    """Play with a collection of one's own, and the name of its database."""

    async def act() -> None:
        name = fresh_database()
        async with asyncio.timeout(60), AsyncMongoClient[Any](url, tz_aware=True) as client:
            await play(client[name].jobs, name)

    asyncio.run(act())


async def until(is_true: Callable[[], Any], clock: SystemClock | None = None) -> None:
    clock = clock or SystemClock()
    while not await is_true():
        await clock.wait(SECOND / 100)


def test_next_times_are_equal() -> None:
    cases = [
        {"interval": expression, "sleepUntil": moment.isoformat()}
        for expression in _EXPRESSIONS for moment in _MOMENTS
    ]  # fmt: skip
    cases += [
        {**cases[0], "repeatUntil": "2030-02-01T00:00:00Z"},
        {**cases[0], "repeatUntil": "2030-01-31T23:59:59Z"},
    ]
    now = datetime(2026, 1, 1, tzinfo=UTC)  # long before, so that neither answers "now"
    for zone in ("UTC", "Europe/Berlin"):
        theirs = next_times(cases, zone)
        for case, their in zip(cases, theirs, strict=True):
            last = case.get("repeatUntil")
            job = Job(
                id=1, sleep_until=datetime.fromisoformat(case["sleepUntil"]), interval=case["interval"],
                repeat_until=None if last is None else datetime.fromisoformat(last),
            )  # fmt: skip
            ours = next_time(job, now, Rules(timedelta(0), zone))
            assert (None if ours is None else milliseconds(ours)) == their, (zone, case)


def test_two_of_each_process_every_document_once(mongodb_url: str) -> None:
    async def play(jobs: Any, name: str) -> None:
        count = 80
        old = SystemClock().now() - timedelta(hours=1)
        ran: list[str] = []

        async def handle(job: Job) -> None:
            ran.append(str(job.id))
            await asyncio.to_thread(int)

        paths = {"sleepUntilFieldPath": "cron.sleepUntil", "intervalFieldPath": "cron.interval"}
        fields: dict[str, Any] = {"sleep_until_field": "cron.sleepUntil", "interval_field": "cron.interval"}
        with ExitStack() as stack:
            nodes = [stack.enter_context(node_worker(mongodb_url, name, paths=paths)) for _ in range(2)]
            ours = [Scheduler(Config(store=MongoStore(jobs, **fields), on_document=handle)) for _ in range(2)]
            for scheduler in ours:
                await scheduler.start()
            await jobs.insert_many([{"_id": number, "cron": {"sleepUntil": old}} for number in range(count)])
            await until(lambda: is_empty(jobs))
            for scheduler in ours:
                await scheduler.stop()
            said = [event for node in nodes for event in node.kill()]
        theirs = [event["begin"] for event in said if "begin" in event]
        assert not [event for event in said if "error" in event]
        assert Counter(ran + theirs) == {str(number): 1 for number in range(count)}
        assert ran, "ours did something"
        assert theirs, "so did Node"

    async def is_empty(jobs: Any) -> bool:
        return not await jobs.count_documents({"cron.sleepUntil": {"$ne": None}})

    run(play, mongodb_url)


@pytest.mark.prove
def test_node_respects_a_lock_that_we_renew_and_takes_one_that_we_do_not(mongodb_url: str) -> None:
    async def play(jobs: Any, name: str) -> None:
        for renews in (True, False):
            errors: list[Exception] = []
            ended = asyncio.Event()

            async def handle(_: Job, ended: asyncio.Event = ended) -> None:
                await SystemClock().wait(3.5 * SECOND)
                ended.set()

            await jobs.insert_one({"_id": str(renews), "sleepUntil": SystemClock().now() - SECOND})
            config = Config(
                store=MongoStore(jobs), on_document=handle, on_error=errors.append, lock_duration="1s",
                renews=renews,
            )  # fmt: skip
            scheduler = Scheduler(config)
            await scheduler.start()
            await until(partial(_is, scheduler.is_processing))
            with node_worker(mongodb_url, name, handler=600_000) as node:
                await ended.wait()
                await scheduler.stop()
                said = node.kill()
            begun = [event["begin"] for event in said if "begin" in event]
            assert begun == ([] if renews else ["False"])
            assert [type(error) for error in errors] == ([] if renews else [LockLostError])
            document = await jobs.find_one({"_id": str(renews)})
            assert (document["sleepUntil"] is None) == renews, "without renewal, the lock is Node's"

    run(play, mongodb_url)


@pytest.mark.prove
@pytest.mark.parametrize(("lock", "takes_it"), [("60s", False), ("3s", True)])
def test_a_node_whose_clock_is_ahead_takes_what_is_locked_for_a_shorter_time(
    mongodb_url: str, tmp_path: Path, *, lock: str, takes_it: bool
) -> None:
    library, offset = find_library(), tmp_path / "offset"
    if library is None:
        pytest.skip(ADVICE)
    offset.write_text("+15", encoding="ascii")

    async def play(jobs: Any, name: str) -> None:
        errors: list[Exception] = []
        begun, go = asyncio.Event(), asyncio.Event()

        async def handle(_: Job) -> None:
            begun.set()
            await go.wait()

        await jobs.insert_one({"_id": 1, "sleepUntil": SystemClock().now() - SECOND})
        config = Config(
            store=MongoStore(jobs), on_document=handle, on_error=errors.append, lock_duration=lock,
            idle_delay="1h",
        )  # fmt: skip
        async with Scheduler(config) as scheduler:
            await begun.wait()
            clock = environment(library, offset)
            with node_worker(mongodb_url, name, handler=600_000, variables=clock) as node:
                if takes_it:
                    assert await asyncio.to_thread(node.next_event) == {"begin": "1"}
                else:
                    await SystemClock().wait(2 * SECOND)
                    assert not [event for event in node.kill() if "begin" in event]
                go.set()
                await until(partial(_is, lambda: not scheduler.is_processing()))
        assert [type(error) for error in errors] == ([LockLostError] if takes_it else [])
        document = await jobs.find_one()
        assert (document["sleepUntil"] is None) != takes_it, "what Node has taken is Node's"

    run(play, mongodb_url)


async def _is(flag: Callable[[], bool]) -> bool:
    return flag()


def test_we_respect_the_lock_of_node(mongodb_url: str) -> None:
    async def play(jobs: Any, name: str) -> None:
        ran: list[Any] = []
        await jobs.insert_one({"_id": "a", "sleepUntil": SystemClock().now() - SECOND})
        with node_worker(mongodb_url, name, handler=60_000) as node:
            assert node.next_event() == {"begin": "a"}
            store = MongoStore(jobs)
            assert await store.lock_next(await store.now() + SECOND) is None
            node.kill()
        await jobs.update_one(
            {"_id": "a"}, {"$set": {"sleepUntil": SystemClock().now() - SECOND}}
        )  # it ran out
        scheduler = Scheduler(Config(store=store, on_document=ran.append))
        await scheduler.start()
        await until(lambda: _is(lambda: bool(ran)))
        await scheduler.stop()
        assert [job.id for job in ran] == ["a"]

    run(play, mongodb_url)


@pytest.mark.prove
def test_the_blind_write_of_a_late_node_is_noticed(mongodb_url: str) -> None:
    async def play(jobs: Any, name: str) -> None:
        errors: list[Exception] = []
        is_lost = asyncio.Event()

        class WatchedStore(MongoStore):
            async def renew(self, job: Job, held: datetime, until: datetime) -> bool:
                is_ours = await super().renew(job, held, until)
                if not is_ours:
                    is_lost.set()
                return is_ours

        async def handle(_: Job) -> None:
            await is_lost.wait()

        await jobs.insert_one({"_id": "a", "sleepUntil": SystemClock().now() - SECOND})
        # Node's handler outlives Node's lock: we take the document, and Node ends it under our hands.
        with node_worker(mongodb_url, name, handler=2500, lock=300) as node:
            assert node.next_event() == {"begin": "a"}
            scheduler = Scheduler(
                Config(
                    store=WatchedStore(jobs), on_document=handle, on_error=errors.append, lock_duration="6s"
                )
            )
            await scheduler.start()
            await until(lambda: _is(lambda: bool(errors)))
            await scheduler.stop()
        assert [type(error) for error in errors] == [LockLostError]
        assert isinstance(errors[0], LockLostError)
        assert errors[0].why == "changed"

    run(play, mongodb_url)
