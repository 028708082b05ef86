"""Celery applications for tests, what their queues hold, and workers that are processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from queue import Empty
from typing import Any
from uuid import uuid4

from celery import Celery

from foliot.clock import SystemClock
from foliot.executors.celery.message import Letter
from foliot.executors.celery_action import TaskCall

SECOND = timedelta(seconds=1)
PATIENCE = 60.0


def memory_app(**settings: Any) -> Celery:
    """An application whose broker is this process, with a queue of its own."""
    return celery_app("memory://", **settings)


def celery_app(url: str, backend: str | None = None, **settings: Any) -> Celery:
    """An application with a queue that no other test has."""
    app = Celery("shop", broker=url, backend=backend, set_as_current=False)
    app.conf.update(task_default_queue=f"q{uuid4().hex}", task_track_started=True, **settings)
    return app


def close_backend(app: Any) -> None:
    """Close the connections to the result backend: Celery leaves that to the garbage collector."""
    if (client := getattr(app.backend, "client", None)) is not None and hasattr(client, "connection_pool"):
        client.connection_pool.disconnect()
    app.close()


def letter(number: int = 1, task: str = "shop.note", **options: Any) -> Letter:
    return Letter(f"id-{number}", TaskCall(task, [number], {}, options), {"run_key": f"run-{number}"})


def taken(app: Any, queue: str = "") -> list[Any]:
    """All messages that wait in a queue of an application; they are taken out."""
    messages = []
    with app.connection_for_read() as connection:
        source = connection.SimpleQueue(queue or app.conf.task_default_queue)
        while True:
            try:
                messages.append(source.get(block=False))
            except Empty:
                source.close()
                return messages
            messages[-1].ack()


def ids(messages: list[Any]) -> list[str]:
    return [message.headers["id"] for message in messages]


@contextmanager
def worker(url: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A worker of `shop_tasks`, one task at a time."""
    here = Path(__file__).parent
    command = [sys.executable, "-m", "celery", "-A", "shop_tasks", "worker", "-c1", "--without-gossip",
               "--without-mingle", "-l", "warning", *(arguments or ("--pool=solo",))]  # fmt: skip
    environment = {**os.environ, "SHOP_URL": url, "PYTHONPATH": str(here)}
    process = subprocess.Popen(command, env=environment, cwd=here, start_new_session=True)  # noqa: S603 - ours
    try:
        yield process
    finally:
        process.kill()
        process.wait()


async def until(is_so: Any) -> Any:
    """Wait until something is so, and tell what it is."""
    clock = SystemClock()
    give_up_at = clock.monotonic() + PATIENCE
    while not (found := is_so()):
        assert clock.monotonic() < give_up_at, "it never came"
        await clock.wait(timedelta(milliseconds=20))
    return found
