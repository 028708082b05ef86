"""A power cut, as far as a test can have one: the kernel's calls are written down (strace) and done again.

What was written and not yet synchronised may be lost, all of it, and here it is.
Directories are taken to be kept, and a page is never torn: that is the file system's part.

    python power_cut.py FILE FULL    commits one revision after another, and says so after each
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from foliot.access.audit import Actor, Auditor
from foliot.clock import SystemClock
from foliot.engine.reconciler import reconcile
from foliot.model.job import Action, Job
from foliot.protocols import Snapshot
from foliot.schedules import Every
from foliot.stores.sqlite import SqliteStore

SOURCE = "s"
REVISIONS = 6
_CALLS = "write,pwrite64,ftruncate,unlink,fsync,fdatasync"
_LINE = re.compile(
    r'(?P<at>[\d.]+) (?P<call>\w+)\((?:\d+<(?P<file>.*?)>|"(?P<path>.*?)")(?P<rest>.*)\) += \d+$'
)
_DATA = re.compile(r', "(?P<data>(?:\\x..)*)", \d+(?:, (?P<place>\d+))?$')


class _Step(NamedTuple):
    at: float
    call: str
    file: str
    data: bytes = b""
    place: int = 0


class Cut(NamedTuple):
    """What was confirmed, and what the disk has if the power fails right after."""

    confirmed: str
    disk: dict[str, bytes]


def cuts(path: Path, synchronous: str, log: Path) -> Iterator[Cut]:
    """Let a program commit to a store; after each answer that it got, cut the power."""
    program = [sys.executable, __file__, str(path), synchronous]
    options = ["-ff", "-ttt", "-y", "-xx", "-s", "1000000", "-e", f"trace={_CALLS}", "-o", str(log)]
    command = [str(shutil.which("strace")), *options, *program]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, timeout=60)  # noqa: S603 - our own program
    steps = [step for file in log.parent.glob(f"{log.name}.*") for step in _read(file)]
    durable: dict[str, bytes] = {}
    written: dict[str, list[_Step]] = defaultdict(list)
    for step in sorted(steps):
        if step.data.startswith(b"confirmed "):
            yield Cut(step.data.decode().split()[1], dict(durable))
        elif step.call == "unlink":
            durable.pop(step.file, None)
            written.pop(step.file, None)
        elif step.call in ("fsync", "fdatasync"):
            for done in written.pop(step.file, ()):
                durable[step.file] = _do(durable.get(step.file, b""), done)
        else:
            written[step.file].append(step)


def _read(file: Path) -> Iterator[_Step]:
    for line in file.read_text().splitlines():
        if found := _LINE.match(line):
            name = _bytes(found["file"] or found["path"]).decode(errors="replace")
            step = _Step(float(found["at"]), found["call"], name)
            if written := _DATA.match(found["rest"]):
                step = step._replace(data=_bytes(written["data"]), place=int(written["place"] or 0))
            elif step.call == "ftruncate":
                step = step._replace(place=int(found["rest"].removeprefix(", ")))
            yield step


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


def _do(content: bytes, step: _Step) -> bytes:
    if step.call == "ftruncate":
        return content[: step.place].ljust(step.place, b"\0")
    return content[: step.place].ljust(step.place, b"\0") + step.data + content[step.place + len(step.data) :]


async def commit(path: str, synchronous: str) -> None:
    """Commit, tell, and so on; then die without a word."""
    clock = SystemClock()
    async with SqliteStore(path, clock, synchronous=synchronous) as store:
        for number in range(REVISIONS):
            job = Job(
                source=SOURCE, name=f"job-{number}", schedule=Every("1h"), action=Action(kind="python:n")
            )
            async with Auditor(store, clock, Actor("somebody")).change("put", f"source:r{number}"):
                await reconcile(store, SOURCE, Snapshot(f"r{number}", (job,)), clock.now())
            os.write(1, f"confirmed r{number}\n".encode())
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(commit(sys.argv[1], sys.argv[2]))
