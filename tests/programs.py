"""Examples as their users start them: processes of their own, in a folder of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from queue import Empty, Queue
from typing import Any, Self, TypeVar

from foliot import Foliot
from foliot.clock import SystemClock
from foliot.model.attempt import Attempt

EXAMPLES = Path(__file__).parent.parent / "examples"
BIN = Path(sys.executable).parent
PATIENCE = 30.0
T = TypeVar("T")


class Program:
    """A process whose lines are read as they come."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.process = subprocess.Popen(  # noqa: S603 - our own examples
            words,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "PYTHONUNBUFFERED": "1"},
            start_new_session=True,
        )
        self.lines: list[str] = []
        self._coming: Queue[str | None] = Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self._coming.put(line.rstrip("\n"))
        self._coming.put(None)

    def read_until(self, text: str) -> str:
        """The first line from here on that has this text."""
        until = SystemClock().monotonic() + PATIENCE
        while text not in (line := self._next(until - SystemClock().monotonic())):
            pass
        return line

    def _next(self, patience: float) -> str:
        try:
            line = self._coming.get(timeout=max(0, patience))
        except Empty:
            raise AssertionError(f"nothing more came after {self.lines}") from None
        assert line is not None, f"it ended with {self.process.wait()} after {self.lines}"
        self.lines.append(line)
        return line

    def read_to_end(self) -> list[str]:
        """All its lines, when it has ended."""
        while (line := self._coming.get(timeout=PATIENCE)) is not None:
            self.lines.append(line)
        return self.lines

    def write(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def end(self, number: signal.Signals) -> int:
        """Send a signal, and wait for the end; what it returned."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)  # with all that it started: the session is its own
        self.process.wait()
        self._reader.join(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                stream.close()


def example(folder: Path, name: str, *arguments: str) -> Program:
    return Program(folder, sys.executable, str(EXAMPLES / name), *arguments)


def ask(port: int, path: str, method: str = "GET") -> tuple[int, Any]:
    """An HTTP request to a server that may still be starting; the status, and the document."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", method=method)
    for _ in range(200):
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310 - as above
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)
        except OSError:
            SystemClock().sleep(0.1)
    raise AssertionError(f"nobody listens at {port}")


def history(file: Path, job: str | None = None) -> list[Attempt]:
    """What is stored in a file, oldest first, as another process sees it."""
    observer = Foliot(f"sqlite:///{file}")
    try:
        return list(observer.wait(observer.history(job)))[::-1]
    finally:
        observer.close()


def ordered(file: Path, name: str, job: str) -> Attempt:
    """A run that another process has ordered from a program, when it has ended."""
    observer = Foliot(f"sqlite:///{file}", name=name)
    try:
        eventually(lambda: file.exists() and observer.wait(observer.jobs()))
        observer.wait(observer.trigger(job))
        return eventually(lambda: [a for a in observer.wait(observer.history(job)) if not a.is_open])[0]
    finally:
        observer.close()


def eventually(check: Callable[[], T]) -> T:
    """The first answer that says something."""
    for _ in range(int(PATIENCE / 0.05)):
        if answer := check():
            return answer
        SystemClock().sleep(0.05)
    raise AssertionError("it did not happen")
