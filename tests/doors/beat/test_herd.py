"""Many schedules that are due at one instant: they go together, and each stands for itself."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pytest
import redis

from doors.beat.scene import Place, Recorder, eventually, running, yearly
from foliot.doors.beat import CronScheduler, Job, Registry
from foliot.doors.beat.state import job_id_of, token_of
from foliot.testing.servers import RedisServer

HERD = [f"s{number}" for number in range(100)]
REFUSED, UNREADABLE, WRONG, LOCKED = "s7", "s42", "s43", "s99"
ODD = {REFUSED, UNREADABLE, WRONG, LOCKED}


class Choosy(Recorder):
    """A queue that refuses the jobs of one schedule, while it is asked to."""

    refused: str | None = REFUSED

    async def enqueue(self, job: Job) -> None:
        self.calls.append(job)
        if job.metadata["schedule_id"] == self.refused:
            raise ConnectionError("the broker is full")
        self.jobs.append(job)


class Plain(Choosy):
    """The same, called in threads."""

    def enqueue(self, job: Job) -> None:  # type: ignore[override] # a queue may be plain
        self.calls.append(job)
        if job.metadata["schedule_id"] == self.refused:
            raise ConnectionError("the broker is full")
        self.jobs.append(job)


@pytest.mark.req("BAN-08", "BAN-10", "BAN-19")
@pytest.mark.parametrize("make", [Choosy, Plain])
def test_a_schedule_that_fails_leaves_the_others_of_its_herd_alone(place: Place, make: type[Choosy]) -> None:
    queue = make()
    place.client.set(place.state_key(WRONG), "junk")
    place.client.hset(place.state_key(UNREADABLE), "last_run", "yesterday")
    place.client.set(place.lock_key(LOCKED), "a stranger's")
    well = set(HERD) - ODD

    def done() -> set[str]:
        return {one for one in HERD if one != WRONG and place.state(one).get("run_count") == "1"}

    async def act() -> None:
        async with running(place.scheduler(queue, *map(yearly, HERD))):
            await eventually(lambda: done() == well and place.state(REFUSED).get("last_error"))
            assert sorted(job.metadata["schedule_id"] for job in queue.jobs) == sorted(well)
            assert place.client.exists(*(place.lock_key(one) for one in well)) == 0
            assert place.client.get(place.lock_key(LOCKED)) == "a stranger's"
            queue.refused = None
            place.client.delete(place.state_key(WRONG), place.state_key(UNREADABLE), place.lock_key(LOCKED))
            await eventually(lambda: len(queue.jobs) == len(HERD))
            await eventually(lambda: done() == set(HERD) - {WRONG} and place.state(WRONG))

    asyncio.run(act())

    assert sorted(job.metadata["schedule_id"] for job in queue.jobs) == sorted(HERD)
    assert place.state(REFUSED).get("last_error") is None


@pytest.mark.req("BAN-18")
def test_a_hundred_due_schedules_cost_few_round_trips(server: RedisServer, queue: Recorder) -> None:
    registry = Registry()
    scheduler = CronScheduler(registry, queue, server.url, "30s", prefix="trips", lease="300s")
    states = [f"trips:schedules:{one}" for one in HERD]
    looks = 0

    async def act(client: redis.Redis) -> int:
        def all_are_written() -> bool:
            nonlocal looks
            looks += 1
            return bool(client.exists(*states) == len(states))

        registry.must_register(yearly("first"))
        async with running(scheduler):
            await eventually(lambda: client.exists("trips:schedules:first"))
            before = _reads(client)
            for one in HERD:
                registry.must_register(yearly(one))
            await eventually(lambda: len(queue.jobs) > len(HERD))
            await eventually(all_are_written)
            return _reads(client) - before - looks

    with redis.Redis.from_url(server.url) as client:
        trips = asyncio.run(act(client))

    assert len(queue.jobs) == len(HERD) + 1
    # They are declared, claimed, locked, written and reported: each at once. One by one it were over 200.
    assert trips <= 100


def _reads(client: redis.Redis) -> int:
    """How often the server has read from its connections; a pipeline is read at once, or in few parts."""
    found: Any = client.info("stats")
    return int(found["total_reads_processed"])


def test_ids_and_tokens_are_uuids_of_the_run() -> None:
    for run_key in ("bananas/a@2026-01-01T00:00:00Z", "é/ü@2026-01-01T00:00:00Z!7"):
        assert job_id_of(run_key) == str(uuid5(NAMESPACE_URL, run_key))
        assert token_of(run_key, 12) == str(uuid5(NAMESPACE_URL, f"{run_key}#12"))
