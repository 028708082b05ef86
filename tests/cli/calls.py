"""Ways to call a command: in this process, as a process of its own, and on a terminal."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foliot.cli.main import main

BIN = Path(sys.executable).parent
PATIENCE = 30


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    def json(self) -> Any:
        return json.loads(self.out)


def call(*arguments: str, encoding: str = "utf-8") -> Result:
    """Call `foliot` in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        code = main(arguments)
    return Result(code, _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


def environment(**variables: str) -> dict[str, str]:
    """Our environment without what would change how commands look."""
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "TZ")}
    return {**kept, "TERM": "xterm-256color", **variables}


def command(name: str, *arguments: str) -> list[str]:
    return [str(BIN / name), *arguments]


def start(words: list[str], **variables: str) -> subprocess.Popen[str]:
    """Start a process whose output we read while it runs."""
    return subprocess.Popen(  # noqa: S603 - our own commands
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(**variables), text=True
    )


def run(words: list[str], **variables: str) -> Result:
    """Run a process to its end."""
    with start(words, **variables) as process:
        out, err = process.communicate(timeout=PATIENCE)
    return Result(process.returncode, out, err)


class Screen:
    """A process on a terminal, and what it has written there."""

    def __init__(self, process: subprocess.Popen[bytes], terminal: int) -> None:
        self.process = process
        self.terminal = terminal
        self.written = ""

    def read_until(self, text: str) -> None:
        while text not in self.written:
            assert self._read(), f"ended without {text!r}: {self.written}"

    def read_to_end(self) -> int:
        while self._read():
            pass
        return self.process.wait(PATIENCE)

    def _read(self) -> bool:
        ready, _, _ = select.select([self.terminal], [], [], PATIENCE)
        assert ready, f"nothing more came: {self.written}"
        try:
            chunk = os.read(self.terminal, 65536)
        except OSError:  # how Linux says that the last writer has gone
            return False
        self.written += chunk.decode()
        return bool(chunk)

    @property
    def lines(self) -> list[str]:
        """The lines as a person sees them."""
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.written).replace("\r", "").splitlines()


@contextmanager
def on_a_terminal(words: list[str], columns: int = 80, /, **variables: str) -> Iterator[Screen]:
    terminal, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    process = subprocess.Popen(  # noqa: S603 - our own commands
        words, stdin=theirs, stdout=theirs, stderr=theirs, env=environment(**variables)
    )
    os.close(theirs)
    try:
        yield Screen(process, terminal)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
