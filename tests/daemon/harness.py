"""A real daemon for tests: a process on a host of its own, whose log is read as it is written."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from foliot.clock import SystemClock
from foliot.model.attempt import Attempt
from foliot.model.state import Skip
from foliot.protocols import JobQuery, JobView, RunQuery, SkipQuery
from foliot.wiring import FullStore, open_store

BIN = Path(sys.executable).parent
PATIENCE = 40.0  # for what comes within a second on a host that is not busy
PAUSE = 0.02
SLACK = 3.0  # seconds: the promise is one, on a host that is not busy with other tests
T = TypeVar("T")
Line = dict[str, Any]
_clock = SystemClock()


def eventually(check: Callable[[], T], what: str = "it") -> T:
    """The first answer that says something."""
    until = _clock.monotonic() + PATIENCE
    while not (answer := check()):
        assert _clock.monotonic() < until, f"{what} did not happen"
        _clock.sleep(PAUSE)
    return answer


def lateness(runs: Iterable[Attempt]) -> list[float]:
    """How many seconds after their occurrences runs were started."""
    return [(run.started_at - run.scheduled_for).total_seconds() for run in runs if run.started_at]


class Host:
    """A user's home on a host: where the daemon keeps its things, and who is at work there."""

    def __init__(self, folder: Path, *, store: str | None = None, witness: Path | None = None) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        self.witness = witness or folder / "witness"
        self.witness.mkdir(exist_ok=True)
        self._store = store
        self.variables: dict[str, str] = {}  # what this host's environment has beside

    @property
    def environment(self) -> dict[str, str]:
        """What a login shell would have, and no more."""
        return {
            "HOME": str(self.home),
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "TZ": "UTC",
            "LANG": "C.UTF-8",
            "PYTHONWARNINGS": "error",
            **{name: value for name, value in os.environ.items() if name.startswith("COVERAGE")},
            **self.variables,
        }

    def cache(self, program: str = "rollcron") -> Path:
        return self.home / ".cache" / program

    @property
    def file(self) -> Path:
        """The store that a daemon uses if it is not told of another."""
        return self.home / ".local" / "state" / "foliot" / "foliot.db"

    @property
    def store(self) -> str:
        """Where commands and tests look for jobs and runs."""
        return self._store or f"sqlite:///{self.file}"

    def processes(self) -> dict[int, str]:
        """All that lives of daemons, wardens, git processes and jobs on this host, by pid."""
        return dict(_processes(f"{self.home}".encode()))

    def nobody_is_left(self) -> bool:
        return eventually(lambda: not self.processes(), f"the end of {self.processes()}")

    def lines(self, name: str) -> list[str]:
        """What jobs have written into a file of this name."""
        with suppress(FileNotFoundError):
            return (self.witness / name).read_text().splitlines()
        return []

    def wait_for_lines(self, name: str, count: int = 1) -> list[str]:
        return eventually(
            lambda: lines if len(lines := self.lines(name)) >= count else None, f"{count} lines in {name}"
        ) or []  # fmt: skip

    # -- the store ---------------------------------------------------------------------------------

    def ask(self, question: Callable[[FullStore], Awaitable[T]]) -> T:
        """Ask the store, as another process does."""

        async def asked() -> T:
            async with open_store(self.store, _clock, lease=timedelta(seconds=30)) as store:
                return await question(store)

        return asyncio.run(asked())

    def runs(self, job: str | None = None) -> list[Attempt]:
        """All attempts, oldest first; of one job, if its name is given."""
        attempts = self.ask(lambda store: store.runs(RunQuery(limit=100_000)))
        return [a for a in reversed(attempts) if job is None or a.job.endswith(f"/{job}")]

    def jobs(self) -> dict[str, JobView]:
        """The jobs that are declared, by name."""
        views = self.ask(lambda store: store.jobs(JobQuery(limit=10_000)))
        return {view.key.partition("/")[2]: view for view in views}

    def skips(self, job: str) -> list[Skip]:
        key = self.jobs()[job].key
        return list(reversed(self.ask(lambda store: store.skips(SkipQuery(key, limit=10_000)))))

    def foliot(self, *words: str, code: int = 0) -> Any:
        """What a command says about the store, as JSON."""
        done = subprocess.run(  # noqa: S603 - our own commands
            [BIN / "foliot", *words, "--store", self.store, "-o", "json"],
            env=self.environment,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == code, (words, done.stdout, done.stderr)
        return json.loads(done.stdout)


def _processes(mark: bytes) -> Iterator[tuple[int, str]]:
    for place in Path("/proc").iterdir():
        if place.name.isdecimal():
            with suppress(OSError):
                command = (place / "cmdline").read_bytes()
                if mark in command or mark in (place / "environ").read_bytes():
                    yield int(place.name), command.replace(b"\0", b" ").decode(errors="replace")[:200]


class Daemon:
    """A daemon's process. Its lines are those of its log, each a JSON object."""

    def __init__(self, host: Host, words: list[str], folder: Path, variables: dict[str, str]) -> None:
        self.host = host
        self.process = subprocess.Popen(  # noqa: S603 - our own commands
            words,
            cwd=folder,
            env=host.environment | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.lines: list[Line] = []
        self.said: list[str] = []  # what is no line of the log
        self._read_until = 0
        self._news = threading.Condition()
        self._has_ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for text in self.process.stderr or ():
            with self._news:
                try:
                    self.lines.append(json.loads(text))
                except ValueError:
                    self.said.append(text.rstrip("\n"))
                self._news.notify_all()
        with self._news:
            self._has_ended = True
            self._news.notify_all()

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait_for(self, event: str, **fields: Any) -> Line:
        """The first such line from here on; a pattern is searched for in a field's text."""
        until = _clock.monotonic() + PATIENCE
        with self._news:
            while True:
                while self._read_until < len(self.lines):
                    self._read_until += 1
                    if _fits(line := self.lines[self._read_until - 1], event, fields):
                        return line
                left = until - _clock.monotonic()
                assert not self._has_ended, f"it ended before {event} {fields}: {self.told}"
                assert left > 0, f"no {event} {fields} came: {self.told}"
                self._news.wait(left)

    def all(self, event: str, **fields: Any) -> list[Line]:
        """All such lines so far."""
        with self._news:
            return [line for line in self.lines if _fits(line, event, fields)]

    def skip_to_now(self) -> None:
        """What was told so far is not waited for any more."""
        with self._news:
            self._read_until = len(self.lines)

    @property
    def told(self) -> str:
        return "\n".join([*map(str, self.lines), *self.said])

    def ready(self) -> Line:
        """Wait until the engine works."""
        return self.wait_for("node_joined")

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def pull(self) -> None:
        """Have it pull now."""
        self.send(signal.SIGHUP)

    def wait(self) -> int:
        """Wait for its end; what it returned."""
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return code

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.send(number)
        return self.wait()

    def send_twice(self) -> None:
        """Ask it to stop, and then to do so at once."""
        self.send(signal.SIGTERM)
        self.wait_for("stop_asked")
        self.send(signal.SIGTERM)

    def kill(self) -> None:
        """As the kernel does it to a process that takes too much memory: without a word."""
        self.process.kill()
        self.wait()

    def close(self) -> None:
        """In order if it can be: who is killed does not tell which of its lines were run."""
        for patience in (0.5, 7):
            if self.process.poll() is None:
                self.send(signal.SIGTERM)
                with suppress(subprocess.TimeoutExpired):
                    self.process.wait(patience)
        self.process.kill()
        self.wait()
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()


def _fits(line: Line, event: str, fields: dict[str, Any]) -> bool:
    return line.get("event") == event and all(_is(line.get(n), value) for n, value in fields.items())


def _is(found: object, wanted: object) -> bool:
    if isinstance(wanted, re.Pattern):
        return isinstance(found, str) and wanted.search(found) is not None
    return found == wanted


class Daemons:
    """Starts daemons, and leaves none behind."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.started: list[Daemon] = []

    def start(self, command: str, *words: str | Path, folder: Path | None = None, **variables: str) -> Daemon:
        program, *first = command.split()
        daemon = Daemon(
            self.host, [str(BIN / program), *first, *map(str, words)], folder or self.host.home, variables
        )
        self.started.append(daemon)
        return daemon

    def rollcron(self, *words: str | Path, folder: Path | None = None, **variables: str) -> Daemon:
        """`rollcron`, when its engine works."""
        daemon = self.start("rollcron", *words, folder=folder, **variables)
        daemon.ready()
        return daemon

    def serve(self, *words: str | Path, folder: Path | None = None, **variables: str) -> Daemon:
        """`foliot serve`, when its engine works."""
        daemon = self.start("foliot serve", *words, folder=folder, **variables)
        daemon.ready()
        return daemon


@contextmanager
def daemons_on(host: Host) -> Iterator[Daemons]:
    """For as long as a test needs them. What they leave behind is the test's failure."""
    daemons = Daemons(host)
    try:
        yield daemons
        for daemon in daemons.started:
            daemon.close()
        host.nobody_is_left()
    finally:
        for daemon in daemons.started:
            daemon.close()
        for pid in host.processes():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
