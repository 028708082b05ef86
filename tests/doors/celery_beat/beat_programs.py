"""A small Celery project on a real Redis, with a real worker, and any number of beats: each is a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from foliot.clock import SystemClock

BIN = Path(sys.executable).parent
PATIENCE = 180.0  # seconds, on a machine that is busy
PROJECT = """
import os
from celery import Celery

app = Celery("proj", broker=os.environ["BROKER"])
app.conf.result_expires = None
app.conf.foliot_store = os.environ["STORE"]
app.conf.beat_schedule = {
    "each second": {"task": "proj.note", "schedule": 1.0, "args": ["tick"], "options": {"queue": "ticks"}},
}

@app.task(bind=True)
def note(self, text):
    headers = self.request.headers
    with open("notes.txt", "a") as notes:
        notes.write(f"{headers['run_key']} {headers['attempt']} {self.request.id} {text}\\n")
"""


class Programs:
    """The processes of one test. All of them end with it."""

    def __init__(self, folder: Path, broker: str, store: str) -> None:
        self.folder = folder
        self._environment = {**os.environ, "BROKER": broker, "STORE": store, "C_FORCE_ROOT": "1"}
        self._all: list[subprocess.Popen[bytes]] = []
        (folder / "proj.py").write_text(PROJECT)

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Start a command; what it says is in a file of its number."""
        log = (self.folder / f"{len(self._all)}-{words[0]}.log").open("wb")
        with log:
            process = subprocess.Popen(  # noqa: S603 - our own commands
                [str(BIN / words[0]), *words[1:]],
                cwd=self.folder,
                env=self._environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # a worker has its beat in a process of its own
            )
        self._all.append(process)
        return process

    def worker(self, *more: str) -> subprocess.Popen[bytes]:
        """A worker in one process, with one task at a time."""
        return self.start("celery", "-A", "proj", "worker", "--pool=solo", "-c1", "-Q", "ticks", *more)

    def beat(self) -> subprocess.Popen[bytes]:
        """Celery's own command, with Foliot inside."""
        return self.start("celery", "-A", "proj", "beat", "-S", "foliot", "-l", "info", "--pidfile=")

    def notes(self) -> list[list[str]]:
        """What tasks have written: run key, attempt, task id, text."""
        file = self.folder / "notes.txt"
        lines = file.read_text().splitlines() if file.exists() else []
        return [line.rsplit(" ", 3) for line in lines]

    def wait_for(self, count: int) -> list[list[str]]:
        """Wait until tasks have written so many lines."""
        clock = SystemClock()
        give_up_at = clock.monotonic() + PATIENCE
        while len(notes := self.notes()) < count:
            assert clock.monotonic() < give_up_at, self.logs()
            for process in self._all:
                assert process.returncode in (None, 0, -signal.SIGKILL), self.logs()
                try:
                    process.wait(0.1)
                except subprocess.TimeoutExpired:
                    continue
        return notes

    def logs(self) -> str:
        """What all have said."""
        files = sorted(self.folder.glob("*.log"))
        return "\n".join(f"--- {file.name}\n{file.read_text(errors='replace')[-3000:]}" for file in files)

    def end(self) -> None:
        """End all that still run."""
        for process in self._all:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def programs(folder: Path, broker: str, store: str) -> Iterator[Programs]:
    """Processes for one test."""
    made = Programs(folder, broker, store)
    try:
        yield made
    finally:
        made.end()
