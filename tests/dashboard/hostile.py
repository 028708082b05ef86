"""Names and texts that try to be more than text."""

from __future__ import annotations

from dataclasses import replace

from api.stage import BACKUP, Stage
from foliot.model.attempt import Outcome
from foliot.model.job import Action, Job
from foliot.model.state import Node
from foliot.operations import Operations
from foliot.schedules import Cron

MARK = "alert(7714)"
TEXTS = (
    f"<script>{MARK}</script>",
    f"<img src=x onerror={MARK}>",
    f'" onmouseover="{MARK}" x="',
    f"javascript:{MARK}",
    f"'-{MARK}-'",
    f"</title><script>{MARK}</script>",
    "{{ 7*7 }}{% raw %}",
    "../../etc/passwd",
    "a/b?c#d%2e~2F",
    "\U0001f600 שלום",
)


def job_of(text: str, number: int) -> Job:
    """A job whose every field is hostile."""
    return replace(
        BACKUP,
        name=f"{number} {text}",
        schedule=Cron("0 3 * * *"),
        queue=text,
        action=Action(kind="k", data={"text": text, text: [text]}),
        revision=text,
    )


def plant(stage: Stage) -> None:
    """Put hostile texts into every field that a store has."""
    jobs = [job_of(text, number) for number, text in enumerate(TEXTS)]
    stage.declare(*jobs)
    queues = ("default", *TEXTS)
    whole = " ".join(TEXTS)

    async def more(ops: Operations) -> None:
        node = Node("n1", name=TEXTS[0], queues=queues, kinds=None, host=TEXTS[1], version=TEXTS[2])
        await ops.store.join(node)
        await ops.store.join(Node("n2", name=TEXTS[1], queues=queues, kinds=(TEXTS[2],), host=TEXTS[0]))
        await ops.store.write_source_status("ops", '{"error": "<script>alert(7714)</script>"}')
        await ops.store.write_source_status("<b>x", "<img src=x onerror=alert(7714)>")
        for job in jobs:
            await ops.trigger(job.key, request=f"r {job.queue}"[:100], payload={"text": job.queue})
            await ops.pause(job.key, reason=job.queue)

    stage.act(more)
    stage.run_due(Outcome.FAILED, f"\x1b[31m{whole}\x1b[0m\x1b]8;;javascript:{MARK}\x07link")
    for text in TEXTS:
        stage.post("/tokens", {"name": text, "scope": "read"}, code=201)
    action = {"kind": f"python:{TEXTS[0]}"}
    stage.post("/jobs", {"name": TEXTS[1], "schedule": "0 7 * * *", "action": action}, code=201)
    stage.post(
        "/pipelines",
        {
            "namespace": "a",
            "layer": "b",
            "name": "c",
            "type": TEXTS[0],
            "description": whole,
            "action": action,
        },
        code=201,
    )
