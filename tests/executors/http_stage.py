"""What the tests of the HTTP executor share: a run of an `http` job, carried out once."""

from __future__ import annotations

import asyncio
import base64
from datetime import UTC, datetime
from typing import Any

from foliot.executors.http import HttpExecutor
from foliot.model.attempt import Attempt, AttemptState, Trigger
from foliot.model.job import Action, Job
from foliot.model.policy import Policy, Retry
from foliot.network.guard import Guard
from foliot.protocols import Result, Run
from foliot.schedules import Every
from foliot.testing.clock import ManualClock
from web_server import WebServer

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
LOCALHOST = Guard.allowing(["localhost"])
KEY, OLD_KEY = bytes(range(32)), bytes(range(100, 132))


def as_secret(key: bytes) -> str:
    return f"whsec_{base64.b64encode(key).decode()}"


def run_of(
    data: dict[str, Any], *, source: str = "app", name: str = "reindex", kind: str = "http", **facts: Any
) -> Run:
    policy = Policy(retry=Retry(max=3, longest="10m"))
    job = Job(
        source=source, name=name, schedule=Every("1h"), action=Action(kind=kind, data=data), policy=policy
    )
    attempt = Attempt(job.key, 2, Trigger.RETRY, AttemptState.RUNNING, NOON, node="n", token=7)
    return Run(job, attempt._replace(**facts))


def execute(run: Run, guard: Guard = LOCALHOST, **options: Any) -> Result:
    executor = HttpExecutor(guard, ManualClock(NOON), **options)
    return asyncio.run(executor.execute(run))


def call(server: WebServer, guard: Guard = LOCALHOST, **data: Any) -> Result:
    return execute(run_of({"url": server.url, **data}), guard)
