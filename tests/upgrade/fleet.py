"""Nodes of several versions on one store: the versions come from git, the nodes are processes."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from foliot.clock import SystemClock

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("program.py")
PATIENCE = 60  # seconds, on a machine that is busy
_CLOCK = SystemClock()


def source_of(commit: str, folder: Path) -> Path:
    """The code as it was, where Python finds it; skips where the repository does not go back so far."""
    made = subprocess.run(  # noqa: S603 - git, and constants
        ["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=False, timeout=60  # noqa: S607 - whichever there is
    )  # fmt: skip
    if made.returncode != 0:
        pytest.skip(f"the repository has no commit {commit}: a shallow clone, or none")
    with tarfile.open(fileobj=io.BytesIO(made.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


class Fleet:
    """Nodes on one store, and what they have witnessed."""

    def __init__(self, store: str, folder: Path) -> None:
        self.store = store
        self._witness = folder / "witness"
        self._folder = folder
        self._nodes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, label: str, source: Path, future: int | None = None) -> None:
        """A node of a version, which is called by its label."""
        arguments = [self.store, str(self._witness), label, *([str(future)] if future else [])]
        with (self._folder / f"{label}.log").open("wb") as log:
            self._nodes[label] = subprocess.Popen(  # noqa: S603 - our own program
                [sys.executable, PROGRAM, *arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self._folder,
                env=os.environ | {"PYTHONPATH": str(source)},
            )  # fmt: skip

    def stop(self, label: str) -> None:
        """Ask a node to stop, and wait for it."""
        node = self._nodes.pop(label)
        node.send_signal(signal.SIGTERM)
        assert node.wait(PATIENCE) == 0, self.log(label)

    def ended(self, label: str) -> int:
        """Wait until a node has ended by itself; its exit code."""
        return self._nodes.pop(label).wait(PATIENCE)

    def log(self, label: str) -> str:
        """What a node has said."""
        return (self._folder / f"{label}.log").read_text()

    def kill_all(self) -> None:
        for node in self._nodes.values():
            node.kill()
            node.wait()

    # -- what was witnessed ------------------------------------------------------------------------

    def lines(self) -> list[tuple[str, str]]:
        """The runs, and who has run them, in their order."""
        if not self._witness.exists():
            return []
        text = self._witness.read_text()
        return [(key, label) for key, label in (line.split(" ") for line in text.splitlines())]

    def count(self, *labels: str) -> int:
        """How many runs some nodes have had."""
        return sum(label in labels for _, label in self.lines())

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        give_up_at = _CLOCK.monotonic() + PATIENCE
        while not is_so():
            dead = [label for label, node in self._nodes.items() if node.poll() not in (None, 0)]
            assert not dead, self.log(dead[0])
            assert _CLOCK.monotonic() < give_up_at, self.lines()[-20:]
            _CLOCK.sleep(0.02)

    def wait_for(self, label: str, count: int = 2) -> None:
        """Wait until a node has had some more runs from now on."""
        before = self.count(label)
        self.wait_until(lambda: self.count(label) >= before + count)

    def duplicates(self) -> list[str]:
        keys = [key for key, _ in self.lines()]
        return sorted({key for key in keys if keys.count(key) > 1})

    def gaps(self) -> list[str]:
        """Seconds between a job's first run and its last that had none."""
        by_job: dict[str, list[datetime]] = {}
        for key, _ in self.lines():
            job, _, at = key.partition("@")
            by_job.setdefault(job, []).append(datetime.fromisoformat(at))
        missing = []
        for job, times in by_job.items():
            span = (max(times) - min(times)) // timedelta(seconds=1)
            wanted = {min(times) + timedelta(seconds=number) for number in range(span)}
            missing += [f"{job}@{at}" for at in sorted(wanted - set(times))]
        return missing
