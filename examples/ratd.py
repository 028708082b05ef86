"""ratd: schedules for pipelines, over an API.

export FOLIOT_API_TOKEN=$(openssl rand -hex 20)
python examples/ratd.py [PORT]

Then, in another shell, with `curl -H "Authorization: Bearer $FOLIOT_API_TOKEN" --json …`:

/api/v1/pipelines   {"namespace": "shop", "layer": "gold", "name": "sales", "action": {"kind": "sql"}}
/api/v1/schedules   {"namespace": "shop", "layer": "gold", "pipeline": "sales", "cron": "*/5 * * * *"}
/api/v1/runs        {"namespace": "shop", "layer": "gold", "pipeline": "sales"}
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from foliot.doors.ratd import Ratd
from foliot.executors.python import JobRun
from foliot.model.pipeline import Pipeline


async def execute(pipeline: Pipeline, run: JobRun) -> None:
    """Run a pipeline. What it raises fails the run; the schedule goes on."""
    print(f"{pipeline.full_name}: {run.trigger}", flush=True)
    run.log(f"a {pipeline.action.kind} pipeline, {dict(pipeline.action.data)}")


ratd = Ratd("sqlite:///ratd.db", executor=execute)


@asynccontextmanager
async def life(_: Starlette) -> AsyncIterator[None]:
    """The scheduler runs for as long as the server does; what runs then may end."""
    await ratd.start()
    yield
    await ratd.stop()


app = Starlette(routes=[Mount("/", ratd.asgi())], lifespan=life)

if __name__ == "__main__":
    uvicorn.run(app, port=int(sys.argv[1]) if len(sys.argv) > 1 else 8080, log_level="warning")
