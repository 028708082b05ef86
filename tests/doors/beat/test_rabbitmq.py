"""CeleryQueue over RabbitMQ: priorities, what is known without confirmations, and a broker that hangs."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from celery import Celery
from kombu.entity import Exchange, Queue

from doors.beat.rabbit import Rabbit, rabbit
from foliot.doors.beat import CeleryQueue, Job
from foliot.executors.celery.errors import EnqueueUnknownError
from foliot.testing.servers import MissingServerError

pytestmark = pytest.mark.prove
TIMEOUT = timedelta(seconds=2)


@pytest.fixture(scope="module")
def broker() -> Iterator[Rabbit]:
    try:
        with rabbit() as found:
            yield found
    except MissingServerError as missing:
        pytest.skip(str(missing))


def app_of(broker: Rabbit, **options: Any) -> Any:
    """An application with a queue of its own that knows ten priorities."""
    name = f"queue-{uuid4().hex}"
    app = Celery("tests", broker=broker.url)
    app.conf.update(
        task_queues=[_queue(name)],
        task_default_queue=name,
        task_default_exchange=name,
        task_default_routing_key=name,
        broker_transport_options=options,
    )
    return app


def _queue(name: str) -> Any:
    make_queue: Any = Queue
    make_exchange: Any = Exchange
    return make_queue(name, make_exchange(name), routing_key=name, max_priority=10)


def job(number: int, priority: str = "normal") -> Job:
    metadata = {"schedule_id": "nightly"}
    return Job(f"id-{number}", "tests.task", b'{"n": %d}' % number, priority, metadata)


def taken(app: Any) -> list[Any]:
    """The messages that the broker has, in the order in which a worker gets them."""
    found = []
    with app.connection() as connection, connection.channel() as channel:
        queue = app.conf.task_queues[0](channel)
        while (message := queue.get(no_ack=True)) is not None:
            found.append(message)
    return found


def test_high_comes_before_low_and_messages_carry_what_they_are_of(broker: Rabbit) -> None:
    app = app_of(broker, confirm_publish=True)

    async def send() -> None:
        queue = CeleryQueue(app, timeout=TIMEOUT)
        for number, priority in enumerate(["low", "normal", "high", "low", "high"]):
            await queue.enqueue(job(number, priority))
        await queue.close()

    asyncio.run(send())
    messages = taken(app)
    assert [one.headers["id"] for one in messages] == ["id-2", "id-4", "id-1", "id-0", "id-3"]
    assert {one.headers["schedule_id"] for one in messages} == {"nightly"}
    assert messages[0].decode()[1] == {"n": 2}


def test_without_confirmations_the_start_warns(broker: Rabbit, caplog: pytest.LogCaptureFixture) -> None:
    async def send(app: Any) -> None:
        queue = CeleryQueue(app, timeout=TIMEOUT)
        await queue.enqueue(job(1))
        await queue.close()

    with caplog.at_level(logging.WARNING, "foliot"):
        asyncio.run(send(app_of(broker, confirm_publish=True)))
        assert "broker_unconfirmed" not in caplog.text
        asyncio.run(send(app_of(broker)))
    assert "broker_unconfirmed" in caplog.text


def test_a_broker_that_hangs_is_given_up_and_gets_the_same_message_again(broker: Rabbit) -> None:
    app = app_of(broker, confirm_publish=True)

    async def send() -> None:
        queue = CeleryQueue(app, timeout=TIMEOUT)
        await queue.enqueue(job(1))
        broker.signal(signal.SIGSTOP)
        try:
            async with asyncio.timeout(30):
                with pytest.raises(EnqueueUnknownError, match="unknown whether it is enqueued"):
                    await queue.enqueue(job(2))
        finally:
            broker.signal(signal.SIGCONT)
        async with asyncio.timeout(30):
            await queue.enqueue(job(2))
        await queue.close()

    asyncio.run(send())
    ids = [one.headers["id"] for one in taken(app)]
    assert ids[0] == "id-1"
    assert set(ids[1:]) == {"id-2"}, "at least once, under one id"
