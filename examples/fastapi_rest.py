"""The REST API of an application, mounted in FastAPI: programs in any language declare jobs.

    export FOLIOT_API_TOKEN=$(openssl rand -hex 32)
    python examples/fastapi_rest.py 8000            the API is at http://127.0.0.1:8000/cron/api/v1
    BASE=http://127.0.0.1:8000/cron sh examples/rest_curl.sh

The jobs run in the same process. Their functions are here; the API selects among them by their names.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from fastapi import FastAPI

from foliot import Foliot
from foliot.executors.python import JobRun

jobs = Foliot("sqlite:///rest.db", name="shop")


@jobs.action
async def greet(run: JobRun, who: str = "world") -> None:
    """An action of the kind `python:greet`."""
    run.log(f"hello, {who}")


api = jobs.asgi()


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    """The engine and the API's own store live as long as the server does."""
    async with jobs, api:
        yield


web = FastAPI(lifespan=lifespan)
web.mount("/cron", api)

if __name__ == "__main__":
    uvicorn.run(web, port=int(sys.argv[1]) if sys.argv[1:] else 8000)
