"""Celery tasks on time: Foliot says when, a Celery worker does the work, and the run ends with its task.

python examples/celery_tasks.py

Here the broker and the results are files of this folder; yours are at redis://… or amqp://…
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from celery import Celery

from foliot import Foliot, Retry
from foliot.executors.celery import CeleryTasks, celery_task

here = Path.cwd() / "celery_tasks"
celery = Celery("shop", broker="filesystem://", backend=f"file://{here}/results")
celery.conf.update(
    broker_transport_options={
        "data_folder_in": f"{here}/queue",
        "data_folder_out": f"{here}/queue",
        "control_folder": f"{here}/control",
    },
    task_track_started=True,
    worker_redirect_stdouts=False,  # what a task prints is printed
)


@celery.task(bind=True, name="shop.restock")  # type: ignore[untyped-decorator] # Celery has no types
def restock(self: Any, article: str, amount: int) -> int:
    """Do the work, in a worker."""
    print(f"worker: {amount} × {article}, for schedule {self.request.headers['schedule_id']}", flush=True)
    if article == "unicorns":
        raise ValueError("sold out")
    return amount


async def main() -> None:
    """Schedule two tasks, and run them now."""
    tasks = CeleryTasks(celery, track="result")
    async with Foliot("sqlite:///celery_tasks.db", executors={"celery": tasks}) as app:
        retry = Retry(max=None, delay="1s")  # for as long as the broker is away
        await app.schedule("apples", "0 6 * * *", celery_task(restock, ["apples", 7]), retry=retry)
        unicorns = celery_task(restock, kwargs={"article": "unicorns", "amount": 1})
        await app.schedule("unicorns", "0 7 * * *", unicorns)
        for name in ("apples", "unicorns"):
            attempt = await app.finished(await app.trigger(name))
            print(f"{name}: {attempt.outcome}{f', {attempt.error}' if attempt.error else ''}", flush=True)


if __name__ == "__main__":
    for folder in ("queue", "control", "results"):
        (here / folder).mkdir(parents=True, exist_ok=True)
    program = Path(__file__)
    command = [sys.executable, "-m", "celery", "-q", "-A", program.stem, "worker", "--pool=solo"]
    environment = {**os.environ, "PYTHONPATH": str(program.parent)}
    worker = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)  # noqa: S603 - our own
    try:
        asyncio.run(main())
    finally:
        worker.terminate()
        worker.wait()
