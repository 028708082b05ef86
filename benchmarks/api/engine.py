"""An engine with the API beside it, and how late its jobs start while clients are at work."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from benchmarks.api.clients import Crowd
from benchmarks.fire.child import REPOSITORY, ChildError
from foliot import Foliot, JobRun, Once
from foliot.access import make_token
from foliot.api.backend import LEASE, AppBackend
from foliot.api.ids import id_of
from foliot.api.server import Listening, serving
from foliot.clock import SystemClock
from foliot.daemon.listen import short_turns
from foliot.model.access import Scope
from foliot.wiring import open_store

_CLOCK = SystemClock()
_AHEAD = timedelta(seconds=3)  # to declare all jobs
_AFTER = timedelta(seconds=2)  # for those that are late
_PATIENCE = 120.0  # seconds for the clients to come, and to go


async def measure(jobs: int, seconds: float, crowd: Crowd) -> dict[str, Any]:
    """How late jobs start, so many a minute, and what the clients got."""
    with TemporaryDirectory(prefix="foliot-api-") as folder:
        url = f"sqlite:///{Path(folder) / 'jobs.db'}"
        tokens = await _add_tokens(url, crowd.tokens_needed)
        lateness: list[float] = []
        app = _make_app(url, lateness)
        where = Listening(host="127.0.0.1", port=0, state=Path(folder))
        with serving(AppBackend(app, _CLOCK), _CLOCK, where, {}) as address, short_turns():
            async with app:
                await app.schedule("by-hand", "0 0 1 1 *", "rest")
                run = await app.trigger("by-hand")
                known = replace(
                    crowd, port=urlsplit(address.url).port or 0, tokens=tokens,
                    job=id_of(run.partition("!")[0]), run=id_of(run),
                )  # fmt: skip
                told: dict[str, Any] = {}
                async with _at_work(known, told):
                    total = await _let_start(app, jobs, seconds, crowd.runs_without_asking)
    return {"jobs": total, "missed": total - len(lateness), **_figures(lateness), **told}


def _make_app(url: str, lateness: list[float]) -> Foliot:
    app = Foliot(url, name="bench")

    @app.action
    async def start(run: JobRun) -> None:
        lateness.append((_CLOCK.now() - run.scheduled_for).total_seconds())

    @app.action
    async def rest() -> None:
        pass

    return app


async def _let_start(app: Foliot, jobs: int, seconds: float, others: float) -> int:
    """Have jobs start, evenly spread; how many. `others`: runs a second that are not measured.

    Those come at any time, as if somebody asked for them: at fixed distances from the jobs they would either
    never meet a start, or always.
    """
    total, times = max(1, round(jobs * seconds / 60)), Random(1)  # noqa: S311 - no secret
    begin, length = _CLOCK.now() + _AHEAD, timedelta(seconds=seconds)
    evenly = [n / total for n in range(total)]
    at_random = [times.random() for _ in range(round(others * seconds))]
    for name, parts, action in (("job", evenly, "start"), ("other", at_random, "rest")):
        await app.schedule_many(
            (f"{name}-{n}", Once(begin + length * part), action, None) for n, part in enumerate(parts)
        )
    await _CLOCK.wait(begin + length + _AFTER - _CLOCK.now())
    return total


async def _add_tokens(url: str, number: int) -> tuple[str, ...]:
    made = [make_token(f"client-{n}", Scope.ADMIN, _CLOCK.now()) for n in range(number)]
    async with open_store(url, _CLOCK, lease=LEASE) as store:
        for one in made:
            await store.add_token(one.token)
    return tuple(one.text for one in made)


@asynccontextmanager
async def _at_work(crowd: Crowd, told: dict[str, Any]) -> AsyncIterator[None]:
    """Clients, from when all are there; afterwards, what they got."""
    if not (crowd.rate or crowd.slow or crowd.streams or crowd.large):
        yield
        return
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.api.clients", json.dumps(asdict(crowd)),
        cwd=REPOSITORY, stdin=PIPE, stdout=PIPE,
    )  # fmt: skip
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    try:
        async with asyncio.timeout(_PATIENCE):
            if await process.stdout.readline() != b"ready\n":
                raise ChildError("the clients did not come")
        yield
        async with asyncio.timeout(_PATIENCE):
            answer, _ = await process.communicate(b"")
        told |= json.loads(answer)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _figures(lateness: list[float]) -> dict[str, float | int]:
    late = sorted(lateness) or [0.0]
    return {
        "starts": len(lateness),
        "late_p50_ms": round(late[len(late) // 2] * 1000, 1),
        "late_p99_ms": round(late[len(late) * 99 // 100] * 1000, 1),
        "late_most_ms": round(late[-1] * 1000, 1),
    }
