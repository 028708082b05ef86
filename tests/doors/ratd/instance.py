"""One instance of ratd as a process: python instance.py STORE. It tells where it serves."""

from __future__ import annotations

import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from foliot.doors.ratd import Ratd
from foliot.executors.python import JobRun
from foliot.protocols_access import Pipeline


async def execute(pipeline: Pipeline, run: JobRun) -> None:
    run.log(str(pipeline.full_name))


ratd = Ratd(sys.argv[1], executor=execute, interval="1s", lease="2s", drain="20s")


@asynccontextmanager
async def life(_: Starlette) -> AsyncIterator[None]:
    await ratd.start()
    print(f"serves on {listener.getsockname()[1]}", flush=True)  # noqa: T201 - for the test
    yield
    await ratd.stop()
    print("stopped", flush=True)  # noqa: T201 - for the test


with socket.create_server(("127.0.0.1", 0)) as listener:
    app = Starlette(routes=[Mount("/", ratd.asgi())], lifespan=life)
    uvicorn.Server(uvicorn.Config(app, ws="none", log_level="warning")).run(sockets=[listener])
