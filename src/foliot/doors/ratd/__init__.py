"""ratd: schedules for pipelines, over an API.

    ratd = Ratd("postgresql://…", executor=run_pipeline)     async def run_pipeline(pipeline, run): …
    await ratd.start()                                        the scheduler; the API is `ratd.asgi()`
    await ratd.stop()

    POST /api/v1/pipelines   what can run      `foliot.api.pipelines`, `foliot.model.pipeline`
    POST /api/v1/schedules   when it runs      `foliot.api.schedules`: jobs of the source `api`
    POST /api/v1/runs        run it now        `foliot.api.runs`

How pipelines and schedules become jobs is said in `foliot.operations.pipelines`, how they are carried out in
`foliot.app.pipelines`. The door itself only puts the two together.

Invariants: without an executor no scheduler runs, so no run waits for ever; however many instances share a
store, an occurrence runs once; a pipeline that is gone costs its own run, and its schedule goes on.
"""

from foliot.doors.ratd.door import Ratd

__all__ = ["Ratd"]
