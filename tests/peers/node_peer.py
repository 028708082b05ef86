"""Node and its package mongodb-cron for tests. A machine without them skips, with the reason; CI fails."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn

import pytest

_PROGRAMS = Path(__file__).parent / "node"
_FILES = ("package.json", "package-lock.json", "worker.js", "next_times.js")


def node_folder() -> Path:
    """A folder with the packages of the lock file: made once, and kept for the next session."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        _do_without("there is no Node here: install nodejs and npm")
    texts = b"".join((_PROGRAMS / name).read_bytes() for name in _FILES)
    folder = Path(
        tempfile.gettempdir(), f"foliot-node-{os.geteuid()}-{hashlib.sha256(texts).hexdigest()[:16]}"
    )
    with Path(f"{folder}.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            folder.mkdir(exist_ok=True)
            for name in _FILES:
                shutil.copy(_PROGRAMS / name, folder)
            command = [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-timeout=60000"]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - npm, as found
            if done.returncode:
                _do_without(f"npm could not install mongodb-cron: {done.stderr[-300:]}")
            (folder / "complete").touch()
    return folder


def next_times(cases: list[dict[str, Any]], timezone: str = "UTC") -> list[int | None]:
    """What mongodb-cron answers for each case: milliseconds since 1970, or None."""
    done = subprocess.run(  # noqa: S603 - our own program
        [shutil.which("node") or "node", "next_times.js"], cwd=node_folder(), input=json.dumps(cases),
        capture_output=True, text=True, check=True, env={**os.environ, "TZ": timezone},
    )  # fmt: skip
    answers: list[int | None] = json.loads(done.stdout)
    return answers


class NodeWorker:
    """A process of Node that works on a collection; `events` reads what it says, line by line."""

    def __init__(self, process: subprocess.Popen[str], out: IO[str]) -> None:
        self.process = process
        self._out = out

    def next_event(self) -> dict[str, Any]:
        """What it says next; waits for it."""
        line = self._out.readline()
        assert line, "the Node process has ended"
        event: dict[str, Any] = json.loads(line)
        return event

    def kill(self) -> list[dict[str, Any]]:
        """End it at once; what it has said and nobody has read."""
        self.process.kill()
        rest = self._out.read()
        self.process.wait()
        return [json.loads(line) for line in rest.splitlines()]


@contextmanager
def node_worker(
    url: str, database: str, *, variables: Mapping[str, str] | None = None, **options: Any
) -> Iterator[NodeWorker]:
    """A worker of mongodb-cron: `lock`, `idle` and `handler` are milliseconds, `paths` its field paths.

    `variables` are added to its environment.
    """
    facts = {
        "lock": 600_000,
        "idle": 10,
        "handler": 0,
        "paths": {},
        **options,
        "url": url,
        "database": database,
    }
    process = subprocess.Popen(  # noqa: S603 - our own program
        [shutil.which("node") or "node", "worker.js", json.dumps(facts)], cwd=node_folder(),
        stdout=subprocess.PIPE, text=True, env={**os.environ, **(variables or {})},
    )  # fmt: skip
    assert process.stdout is not None
    worker = NodeWorker(process, process.stdout)
    try:
        assert worker.next_event() == {"ready": True}
        yield worker
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _do_without(reason: str) -> NoReturn:
    if os.environ.get("CI"):
        raise RuntimeError(reason)
    pytest.skip(reason)
