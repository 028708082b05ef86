"""Sending, on a real Redis: what is known after each fault, and that none of them hangs."""

from __future__ import annotations

import asyncio
import logging
import re
import sys
from collections.abc import Callable, Coroutine, Iterator
from datetime import timedelta
from typing import Any

import pytest
from celery.signals import before_task_publish

from executors.celery.stage import SECOND, celery_app, ids, letter, memory_app, taken, until
from foliot.clock import SystemClock
from foliot.executors.celery.errors import EnqueueError, EnqueueRefusedError, EnqueueUnknownError
from foliot.executors.celery.line import Batch, Line
from foliot.executors.celery.message import Letter
from foliot.executors.celery.publisher import Publisher
from foliot.model.view import EnqueueHealth
from foliot.testing.servers import RedisServer, redis_server

LIMIT = 60


@pytest.fixture(scope="module")
def server() -> Iterator[RedisServer]:
    """A broker that may be stopped; each test leaves it as it was."""
    with redis_server(fsync="off") as server:
        yield server


class Post:
    """A publisher, and what it has told of each letter."""

    def __init__(self, app: Any, timeout: timedelta = 30 * SECOND, **settings: Any) -> None:
        self.told: dict[str, EnqueueError | None] = {}
        self.health: list[EnqueueHealth] = []
        self.publisher = Publisher(app, SystemClock(), timeout=timeout, watch=self.health.append, **settings)

    async def send(self, *letters: Letter) -> None:
        self.publisher.send(letters, lambda one, error: self.told.__setitem__(one.id, error))
        await until(lambda: all(one.id in self.told for one in letters))

    def error(self, number: int) -> EnqueueError | None:
        return self.told[f"id-{number}"]


def play(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(scene(), LIMIT))


def test_what_the_broker_has_taken_is_told_and_is_there(server: RedisServer) -> None:
    app = celery_app(server.url)

    async def scene() -> None:
        post = Post(app)
        await post.send(letter(1))
        await post.send(*(letter(number) for number in range(2, 251)))
        assert set(post.told.values()) == {None}
        assert len(post.told) == 250
        queues = {queue for health in post.health for queue, _ in health.enqueued}
        assert queues == {app.conf.task_default_queue}
        assert sum(len(health.enqueued) for health in post.health) == 250
        await post.publisher.close()

    play(scene)
    assert ids(taken(app)) == [f"id-{number}" for number in range(1, 251)]


def test_a_hundred_letters_are_one_message_to_the_server(server: RedisServer) -> None:
    app = celery_app(server.url)

    async def scene() -> None:
        post = Post(app)
        await post.send(letter(1))  # the connection is there, and its queue declared
        server.ask("CONFIG", "RESETSTAT")
        await post.send(*(letter(number) for number in range(2, 102)))
        found = re.search(rb"total_reads_processed:(\d+)", server.ask("INFO", "stats"))
        assert found is not None
        assert int(found[1]) < 20
        await post.publisher.close()

    play(scene)
    assert len(taken(app)) == 101


def test_a_broker_that_is_down_is_a_refusal_told_once_and_again_when_it_is_over(
    server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "foliot")
    app = celery_app(server.url)

    async def scene() -> None:
        post = Post(app)
        await post.send(letter(1))
        server.stop()
        try:
            await post.send(letter(2))
            await post.send(letter(3), letter(4))
        finally:
            server.start()
        for number in (2, 3, 4):  # of the 2nd it may be unknown: it went into a connection that was being cut
            assert isinstance(post.error(number), EnqueueRefusedError) or number == 2
            assert "refused" in str(post.error(number)) or number == 2
            assert not post.told[f"id-{number}"].is_final  # type: ignore[union-attr] # it is an error
        await post.send(letter(5))
        assert post.error(5) is None
        assert [reason for health in post.health for reason in health.failures][1:] == ["refused"] * 2
        await post.publisher.close()

    play(scene)
    assert ids(taken(app)) == ["id-5"]
    lines = [record.getMessage() for record in caplog.records]
    assert [line.split()[0] for line in lines] == ["broker_trouble", "broker_recovered"]
    assert server.url not in "".join(lines)


def test_a_broker_that_hangs_costs_one_deadline_and_nobody_knows_what_it_has(server: RedisServer) -> None:
    app = celery_app(server.url)

    async def scene() -> None:
        post = Post(app, SECOND)
        await post.send(letter(1))
        server.pause()
        try:
            # The first is on its way when the second comes: that one is never handed to the driver.
            await asyncio.gather(post.send(letter(2)), _later(post.send(letter(3))))
        finally:
            server.resume()
        assert isinstance(post.error(2), EnqueueUnknownError)
        assert isinstance(post.error(3), EnqueueRefusedError)
        assert [reason for health in post.health for reason in health.failures] == ["timeout", "refused"]
        await post.send(letter(4))
        assert post.error(4) is None
        await post.publisher.close()

    play(scene)
    found = ids(taken(app))
    assert set(found) - {"id-2"} == {"id-1", "id-4"}, "the second may have come, the third must not"
    assert found.count("id-2") <= 1, "kombu has not repeated it"


async def _later(work: Coroutine[Any, Any, None]) -> None:
    await SystemClock().wait(timedelta(milliseconds=50))
    await work


def test_a_broker_that_hangs_when_one_connects_has_nothing(server: RedisServer) -> None:
    app = celery_app(server.url)

    async def scene() -> None:
        post = Post(app, SECOND)
        server.pause()
        try:
            await post.send(letter(1), letter(2))
        finally:
            server.resume()
        assert isinstance(post.error(1), EnqueueRefusedError)
        assert isinstance(post.error(2), EnqueueRefusedError)
        await post.publisher.close()

    play(scene)
    assert taken(app) == []


def test_a_broker_that_is_full_refuses(server: RedisServer) -> None:
    app = celery_app(server.url)

    async def scene() -> None:
        post = Post(app)
        await post.send(letter(1))
        server.ask("CONFIG", "SET", "maxmemory", "1")
        try:
            await post.send(letter(2))
        finally:
            server.ask("CONFIG", "SET", "maxmemory", "0")
        assert isinstance(post.error(2), EnqueueRefusedError)
        assert "maxmemory" in str(post.error(2))
        await post.send(letter(3))
        assert post.error(3) is None
        await post.publisher.close()

    play(scene)
    assert ids(taken(app)) == ["id-1", "id-3"]


def test_a_broker_that_was_restarted_meanwhile_is_found_again(server: RedisServer) -> None:
    app = celery_app(server.url)

    async def scene() -> None:
        post = Post(app)
        await post.send(letter(1))
        server.restart(immediate=True)
        await post.send(letter(2))
        assert post.error(2) is None
        await post.publisher.close()

    play(scene)
    assert ids(taken(app)) == ["id-2"]


@pytest.mark.parametrize("broker", ["redis", "memory"])
def test_a_letter_that_cannot_be_written_is_refused_for_good_and_harms_no_other(
    server: RedisServer, broker: str
) -> None:
    app = celery_app(server.url) if broker == "redis" else memory_app()

    async def scene() -> None:
        post = Post(app)
        await post.send(letter(1), letter(2, serializer="runes"), letter(3))
        assert (post.error(1), post.error(3)) == (None, None)
        assert isinstance(post.error(2), EnqueueRefusedError)
        assert post.error(2).is_final  # type: ignore[union-attr] # it is an error
        assert "runes" in str(post.error(2))
        await post.publisher.close()

    play(scene)
    assert ids(taken(app)) == ["id-1", "id-3"]


def test_a_queue_that_must_be_there_and_is_not_is_refused_for_good() -> None:
    app = memory_app(task_create_missing_queues=False)

    async def scene() -> None:
        post = Post(app)
        await post.send(letter(1, queue="nowhere"), letter(2))
        assert post.error(1) is not None
        assert post.error(1).is_final  # type: ignore[union-attr] # as above
        assert post.error(2) is None

    play(scene)
    assert ids(taken(app)) == ["id-2"]


def test_a_letter_that_waits_can_be_taken_back(server: RedisServer) -> None:
    app = celery_app(server.url)

    async def scene() -> None:
        post = Post(app)
        post.publisher.send([letter(1)], lambda *_: None)
        assert post.publisher.take_back("id-1")
        assert not post.publisher.take_back("id-1")
        await post.send(letter(2))
        await post.publisher.close()

    play(scene)
    assert ids(taken(app)) == ["id-2"]


def test_what_is_stopped_in_time_is_never_handed_to_the_driver() -> None:
    batch = Batch([letter(1), letter(2), letter(3), letter(4)])
    assert batch.begin([0, 1])
    batch.end(0, None)
    batch.end(3, EnqueueRefusedError("shop.note", "no", is_final=True))
    taken, unknown, refused, final = batch.outcomes()
    assert taken is None
    assert isinstance(unknown, EnqueueUnknownError)
    assert isinstance(refused, EnqueueRefusedError)
    assert isinstance(final, EnqueueRefusedError)
    assert (refused.is_final, final.is_final) == (False, True)
    assert not batch.begin([2])
    batch.end(1, None)
    assert isinstance(batch.outcomes()[1], EnqueueUnknownError), "it was told, and stays so"


def test_a_thread_that_is_late_sends_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    app = memory_app()
    made, outcomes = Line._prepared, list[Any]()

    def prepared(line: Line, batch: Batch) -> Any:
        messages = list(made(line, batch))
        outcomes.extend(batch.outcomes())  # the deadline passes now
        return messages

    monkeypatch.setattr(Line, "_prepared", prepared)
    Line(app, SECOND).send(Batch([letter(1), letter(2)]))
    assert [type(error) for error in outcomes] == [EnqueueRefusedError] * 2
    assert taken(app) == []


def test_handlers_of_signals_and_listeners_that_fail_hang_nobody(caplog: pytest.LogCaptureFixture) -> None:
    app = memory_app()

    def leave(**_: object) -> None:
        sys.exit("no")

    def complain(health: EnqueueHealth) -> None:
        raise ValueError(health)

    async def scene() -> None:
        publisher = Publisher(app, SystemClock(), watch=complain)
        before_task_publish.connect(leave)
        try:
            with pytest.raises(EnqueueUnknownError):
                await publisher.publish(letter(1))
        finally:
            before_task_publish.disconnect(leave)
        await publisher.publish(letter(2))

    play(scene)
    assert ids(taken(app)) == ["id-2"]
    assert "listener_failed" in caplog.text


def test_words_for_priorities_are_numbers_of_the_transport_or_of_the_user(server: RedisServer) -> None:
    app = celery_app(server.url)

    async def scene() -> None:
        await Post(app).send(letter(1, priority="low"), letter(2, priority="high"), letter(3, priority=6))
        await Post(app, priorities={"low": 4}).send(letter(4, priority="low"))

    play(scene)
    found = {message.headers["id"]: message.properties["priority"] for message in taken(app)}
    assert found == {"id-1": 9, "id-2": 0, "id-3": 6, "id-4": 4}
