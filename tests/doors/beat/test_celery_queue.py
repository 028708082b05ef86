"""Celery as the queue of a beat: what a job becomes, and what is refused before anything starts."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import SimpleNamespace
from typing import Any

import pytest

from executors.celery.stage import ids, memory_app, taken
from foliot.doors.beat.celery_queue import CeleryQueue
from foliot.doors.beat.queue import Job
from foliot.errors import InvalidJobError, InvalidPolicyError
from foliot.executors.celery import EnqueueRefusedError
from foliot.observability import Metrics


def job(number: int = 1, payload: bytes = b"", priority: str = "normal", name: str = "shop.note") -> Job:
    return Job(
        f"id-{number}", name, payload, priority, {"schedule_id": "nightly", "run_key": f"run-{number}"}
    )


def schedule(payload: bytes = b"", name: str = "shop.note") -> Any:
    return SimpleNamespace(id="nightly", job=name, payload=payload)


def play(scene: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scene, 60))


@pytest.mark.req("BAN-17")
@pytest.mark.parametrize(
    ("payload", "args", "kwargs"),
    [
        (b'{"b": 1,  "a": [2]}', [], {"b": 1, "a": [2]}),
        (b"[1, {}]", [1, {}], {}),
        (b'"text"', ["text"], {}),
        (b"7", [7], {}),
        (b"null", [None], {}),
        (b"", [], {}),
        (b" \n", [], {}),
    ],
)
def test_a_payload_becomes_arguments(payload: bytes, args: list[Any], kwargs: dict[str, Any]) -> None:
    app = memory_app()
    queue = CeleryQueue(app)
    queue.check(schedule(payload))

    async def scene() -> None:
        await queue.enqueue(job(payload=payload))
        await queue.close()

    play(scene())
    [message] = taken(app)
    assert message.payload[:2] == [args, kwargs]
    assert (message.headers["task"], message.headers["id"]) == ("shop.note", "id-1")
    assert (message.headers["schedule_id"], message.headers["run_key"]) == ("nightly", "run-1")
    assert message.headers["celery_beat_task"] is True


@pytest.mark.parametrize("payload", [b"{", b"name=value", b"\xff", b"NaN", b"{'a': 1}"])
def test_a_payload_that_is_no_json_is_refused_by_the_schedule_s_name(payload: bytes) -> None:
    with pytest.raises(InvalidJobError, match="of schedule nightly is no JSON"):
        CeleryQueue(memory_app()).check(schedule(payload))


def test_a_job_that_can_be_no_task_is_refused() -> None:
    with pytest.raises(InvalidJobError, match=r"action\.data\.task"):
        CeleryQueue(memory_app()).check(schedule(name=""))


def test_priorities_may_have_queues_of_their_own() -> None:
    app = memory_app()
    fast = f"{app.conf.task_default_queue}-fast"
    queue = CeleryQueue(app, queues={"high": fast}, priorities={"high": 2})

    async def scene() -> None:
        await queue.enqueue(job(1, priority="high"))
        await queue.enqueue(job(2, priority="low"))

    play(scene())
    [message] = taken(app, fast)
    assert (message.headers["id"], message.properties["priority"]) == ("id-1", 2)
    assert ids(taken(app)) == ["id-2"]


def test_what_is_not_enqueued_is_raised_and_counted() -> None:
    app = memory_app(task_create_missing_queues=False)
    metrics = Metrics()
    queue = CeleryQueue(app, queues={"high": "nowhere"}, watch=metrics.on_enqueued)

    async def scene() -> None:
        with pytest.raises(EnqueueRefusedError, match=r"not enqueued: shop\.note"):
            await queue.enqueue(job(priority="high"))
        await queue.enqueue(job(2))

    play(scene())
    assert b'foliot_enqueue_failures_total{reason="refused"} 1.0' in metrics.text()
    assert f'seconds_count{{queue="{app.conf.task_default_queue}"}} 1.0'.encode() in metrics.text()


def test_a_queue_serves_one_loop_after_the_other() -> None:
    app = memory_app()
    queue = CeleryQueue(app)
    play(queue.enqueue(job(1)))
    play(queue.enqueue(job(2)))
    assert ids(taken(app)) == ["id-1", "id-2"]


@pytest.mark.parametrize("settings", [{"priorities": {"urgent": 1}}, {"queues": {"urgent": "a"}}])
def test_words_that_are_no_priority_are_refused(settings: Any) -> None:
    with pytest.raises(InvalidPolicyError, match="urgent: is no priority"):
        CeleryQueue(memory_app(), **settings)


def test_what_is_no_celery_application_is_refused() -> None:
    with pytest.raises(InvalidPolicyError, match="is no Celery application"):
        CeleryQueue("proj")
