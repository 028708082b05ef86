"""The Celery application of a worker that tests start as a process of its own, and its tasks."""

from __future__ import annotations

import json
import os
from typing import Any

from celery import Celery

from foliot.executors.celery import once_per_run

app = Celery("shop", broker=os.environ["SHOP_URL"], backend=os.environ["SHOP_URL"])
app.conf.update(
    task_track_started=True,
    worker_prefetch_multiplier=1,
    broker_connection_retry_on_startup=True,
    worker_redirect_stdouts=False,
)


def note(text: str) -> None:
    app.backend.client.rpush("noted", text)


@app.task(bind=True, name="shop.note", typing=False)  # type: ignore[untyped-decorator] # Celery has no types
def note_call(self: Any, *args: Any, **kwargs: Any) -> str:
    """Write down with what it was called."""
    note(json.dumps([list(args), kwargs, self.request.headers]))
    return "noted"


@app.task(name="shop.fail")  # type: ignore[untyped-decorator] # Celery has no types
def fail() -> None:
    """Fail."""
    raise ValueError("sold out")


@app.task(name="shop.wait")  # type: ignore[untyped-decorator] # Celery has no types
def wait() -> None:
    """Go on until somebody puts something into the list `go`."""
    note("begun")
    app.backend.client.blpop("go", 60)
    note("ended")


@app.task(name="shop.charge")  # type: ignore[untyped-decorator] # Celery has no types
@once_per_run
def charge(amount: int) -> int:
    """Write down that it was done."""
    note(f"charged {amount}")
    return amount
