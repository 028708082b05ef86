"""A lock is renewed while its handler runs; a worker that has lost it writes nothing."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

from doors.documents.recording import MINUTE, SECOND, RecordingStore, scheduler_on, until
from foliot.doors.documents import Job, LockLostError, StoreUnavailableError
from foliot.testing.clock import ManualClock


class Play:
    """One job in a handler that waits, under a lock of a minute."""

    def __init__(self, **fields: Any) -> None:
        self.clock = ManualClock()
        self.begun_at = self.clock.now()
        self.store = RecordingStore(
            self.clock, {"_id": "a", "sleepUntil": self.clock.now() - SECOND, **fields}
        )
        self.go, self.is_begun = asyncio.Event(), asyncio.Event()
        self.jobs: list[Job] = []
        self.was_cancelled = False
        self.scheduler, self.errors = scheduler_on(
            self.store, on_document=self.handle, lock_duration="1m", idle_delay="1h"
        )

    async def handle(self, job: Job) -> None:
        self.jobs.append(job)
        self.is_begun.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.was_cancelled = True
            raise

    async def begin(self) -> None:
        await self.scheduler.start()
        await self.is_begun.wait()

    async def pass_time(self, duration: timedelta) -> None:
        for _ in range(int(duration / SECOND)):
            await self.clock.advance(SECOND)

    def why(self) -> list[str]:
        return [error.why for error in self.errors if isinstance(error, LockLostError)]


def test_the_lock_is_renewed_each_third_of_its_duration() -> None:
    async def play() -> None:
        play = Play(interval="0 0 1 1 *")
        await play.begin()
        await play.pass_time(5 * MINUTE)
        assert play.store.told.count("renew") == 15
        assert play.store.at("a") == play.clock.now() + MINUTE
        play.go.set()
        await until(play.scheduler.is_idle)
        assert play.store.at("a").isoformat() == "2027-01-01T00:00:00+00:00"
        assert play.errors == []
        await play.scheduler.stop()

    asyncio.run(play())


def test_a_token_grows_from_worker_to_worker() -> None:
    async def play() -> None:
        first, second = Play(), Play()
        await first.begin()
        second.clock.set_by(MINUTE)
        await second.begin()
        (one,), (two,) = first.jobs, second.jobs
        assert one.token is not None
        assert two.token is not None
        assert one.token < two.token
        for play in (first, second):
            play.go.set()
            await play.scheduler.stop()

    asyncio.run(play())


def test_a_worker_whose_lock_another_has_taken_is_cancelled_and_writes_nothing() -> None:
    async def play() -> None:
        play = Play()
        await play.begin()
        await play.clock.settle()
        play.clock._now += 2 * MINUTE  # the process stood still, for longer than its lock
        taken = await play.store.lock_next(play.clock.now() + MINUTE)
        assert taken is not None
        await play.clock.advance(SECOND)
        await until(lambda: play.was_cancelled)
        await until(play.scheduler.is_idle)
        assert play.why() == ["expired"]
        assert play.store.at("a") == play.clock.now() + MINUTE - SECOND, "the other worker's lock"
        await play.scheduler.stop()

    asyncio.run(play())


def test_a_store_that_is_away_for_longer_than_the_lock_cancels_the_handler() -> None:
    async def play() -> None:
        play = Play()
        await play.begin()
        play.store.failing["renew"] = [StoreUnavailableError("renew", "no answer")] * 1000
        await play.pass_time(70 * SECOND)
        await until(lambda: play.was_cancelled)
        await until(lambda: len(play.jobs) == 2)
        assert [str(error) for error in play.errors if not isinstance(error, LockLostError)] == [
            "renew: no answer"
        ]
        assert play.why() == ["expired"]
        assert play.jobs[1].sleep_until == play.begun_at + MINUTE, "it runs again, as its lock has ended"
        play.go.set()
        await play.scheduler.stop()

    asyncio.run(play())


def test_a_store_that_comes_back_in_time_costs_nothing() -> None:
    async def play() -> None:
        play = Play()
        await play.begin()
        play.store.failing["renew"] = [StoreUnavailableError("renew", "no answer")] * 10
        await play.pass_time(2 * MINUTE)
        play.go.set()
        await until(play.scheduler.is_idle)
        assert not play.was_cancelled
        assert len(play.errors) == 1
        assert play.store.at("a") is None
        await play.scheduler.stop()

    asyncio.run(play())


def test_a_time_that_somebody_writes_under_a_live_lock_is_left_alone() -> None:
    async def play() -> None:
        play = Play()
        await play.begin()
        theirs = play.clock.now() + timedelta(hours=7)
        await play.store.put({"_id": "a", "sleepUntil": theirs})
        await play.pass_time(30 * SECOND)
        assert not play.was_cancelled, "it may end"
        play.go.set()
        await until(play.scheduler.is_idle)
        assert play.why() == ["changed"]
        assert play.store.at("a") == theirs
        await play.scheduler.stop()

    asyncio.run(play())


def test_an_interval_that_is_edited_while_the_job_runs_counts() -> None:
    async def play() -> None:
        play = Play(interval="0 0 1 1 *")
        await play.begin()
        await play.store.put({"_id": "a", "sleepUntil": play.store.at("a"), "interval": "0 0 1 6 *"})
        play.go.set()
        await until(play.scheduler.is_idle)
        assert play.errors == []
        assert play.store.at("a").isoformat() == "2026-06-01T00:00:00+00:00"
        await play.scheduler.stop()

    asyncio.run(play())


def test_a_renewal_whose_answer_is_lost_is_repeated_with_the_same_value() -> None:
    class Forgetful(RecordingStore):
        async def renew(self, job: Job, held: Any, until: Any) -> bool:
            done = await super().renew(job, held, until)
            if self.told.count("renew") == 1:
                raise StoreUnavailableError("renew", "the answer was lost")
            return done

    async def play() -> None:
        play = Play(interval="0 0 1 1 *")
        play.store.__class__ = Forgetful
        await play.begin()
        await play.pass_time(25 * SECOND)
        play.go.set()
        await until(play.scheduler.is_idle)
        assert [str(error) for error in play.errors] == ["renew: the answer was lost"]
        assert play.store.at("a").isoformat() == "2027-01-01T00:00:00+00:00"
        await play.scheduler.stop()

    asyncio.run(play())
