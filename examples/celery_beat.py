"""Celery with Foliot as its beat: two beats, one worker, and each greeting once.

python examples/celery_beat.py

The broker is a folder and the store a file, so that nothing need be installed beside celery. In a project of
yours the first part is all that there is, and `celery -A proj beat -S foliot` starts a beat.
"""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

from celery import Celery

app = Celery("greetings", broker="filesystem://")
app.conf.broker_transport_options = {
    "data_folder_in": "queue",
    "data_folder_out": "queue",
    "control_folder": "queue",
}
app.conf.result_expires = None
app.conf.foliot_store = "sqlite:///beat.db"
app.conf.beat_schedule = {
    "greet": {"task": "greet", "schedule": 1.0, "args": ["world"]},
}


@app.task(name="greet", bind=True)  # type: ignore[untyped-decorator] # Celery has no types
def greet(self: Any, whom: str) -> None:
    """Say hello; the header tells which occurrence it is."""
    print(f"hello, {whom}, at {self.request.headers['scheduled_for']}", flush=True)


def main() -> None:
    """Start a worker and two beats, show five greetings, and stop all in order."""
    Path("queue").mkdir(exist_ok=True)
    processes = [start("beat", "-S", "foliot", "--pidfile=") for _ in range(2)]
    processes.append(worker := start("worker", "--pool=solo", "-c1"))
    greetings = (line for line in worker.stdout or () if "hello" in line)
    for line in islice(greetings, 5):
        print(line[line.index("hello") :], end="", flush=True)
    for process in processes:
        process.terminate()
    for process in processes:
        process.communicate()


def start(*words: str) -> subprocess.Popen[str]:
    """A command of Celery, as a process of its own."""
    command = [sys.executable, "-m", "celery", "-A", "celery_beat", *words]
    here = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    return subprocess.Popen(  # noqa: S603 - our own command
        command, env=here, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


if __name__ == "__main__":
    main()
