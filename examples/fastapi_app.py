"""Jobs inside a FastAPI application: they live as long as the server does.

    uvicorn fastapi_app:web                 from this folder; or python examples/fastapi_app.py [PORT]
    curl -X POST 'localhost:8000/reminders?user=ada&seconds=5'
    curl localhost:8000/runs

Coroutine jobs share the server's event loop. Several workers may share the file: each run is one worker's.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import uvicorn
from fastapi import FastAPI

from foliot import Foliot, Once, Retry
from foliot.executors.python import JobRun

jobs = Foliot("sqlite:///web.db")


@jobs.job("@every 1m")
async def clean_up(run: JobRun) -> None:
    """A job of the code: it is there as long as the code declares it."""
    run.log("nothing to clean up")


@jobs.action
async def remind(run: JobRun, user: str) -> None:
    """What jobs are scheduled for, with a payload, while the server runs."""
    run.log("remember,", user)


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    """The engine starts before the first request, and drains after the last one."""
    async with jobs:
        yield


web = FastAPI(lifespan=lifespan)


@web.post("/reminders", status_code=201)
async def add_reminder(user: str, seconds: float) -> dict[str, str]:
    """When this has answered, the reminder is on disk."""
    at = datetime.now(UTC) + timedelta(seconds=seconds)
    name = f"remind-{user}"
    await jobs.schedule(name, Once(at), remind, payload={"user": user}, retry=Retry(max=3), auto_remove=True)
    return {"job": name, "at": at.isoformat()}


@web.get("/runs")
async def list_runs() -> list[dict[str, str]]:
    """The latest runs, and what they told their log."""
    return [
        {"run": a.run_key, "state": a.outcome or a.state, "log": await jobs.log(a)}
        for a in await jobs.history()
    ]


if __name__ == "__main__":
    uvicorn.run(web, port=int(sys.argv[1]) if sys.argv[1:] else 8000)
