"""Repositories that daemons follow: a bare one that is pushed to, and ways to serve it over a network."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from daemon.harness import PATIENCE
from foliot.testing.servers.process import free_port
from sources.git.scene import git

CONFIG = "rollcron.yaml"


def job(run: str, every: str = "1s", **fields: Any) -> dict[str, Any]:
    """A job that comes often."""
    return {"schedule": {"cron": f"@every {every}"}, "run": run, **fields}


def config(jobs: Mapping[str, Any]) -> str:
    """A rollcron.yaml: JSON is YAML, too."""
    return json.dumps({"jobs": jobs}, indent=1)


class Repository:
    """A person's clone; `remote` is the bare repository that is pushed to, and that daemons follow."""

    def __init__(self, folder: Path, name: str = "ops") -> None:
        self.tree = folder / "people" / name
        self.remote = folder / "remotes" / f"{name}.git"
        for place in (self.tree, self.remote):
            place.mkdir(parents=True)
        git(self.remote, "init", "--quiet", "--bare", "--initial-branch=main")
        git(self.tree, "init", "--quiet", "--initial-branch=main")

    def push(self, files: Mapping[str, str] | None = None, **jobs: Any) -> str:
        """Commit files and, if any are given, jobs; push it; the revision."""
        texts = {**(files or {}), **({CONFIG: config(jobs)} if jobs else {})}
        return self._push(texts, "--message=more")

    def rewrite(self, files: Mapping[str, str]) -> str:
        """Push files with another history in the place of the last commit."""
        return self._push(files, "--amend", "--no-edit")

    def _push(self, texts: Mapping[str, str], *words: str) -> str:
        for name, text in texts.items():
            file = self.tree / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        git(self.tree, "add", "--all")
        git(self.tree, "commit", "--quiet", "--allow-empty", *words)
        git(self.tree, "push", "--quiet", "--force", str(self.remote), "HEAD:main")
        return git(self.tree, "rev-parse", "HEAD")

    def hide(self) -> None:
        """The remote goes away."""
        self.remote.rename(self.remote.with_suffix(".away"))

    def show(self) -> None:
        """The remote is back."""
        self.remote.with_suffix(".away").rename(self.remote)


class GitServer:
    """`git daemon` on loopback, which can be ended and started again at the same port."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def url(self, name: str = "ops") -> str:
        return f"git://127.0.0.1:{self.port}/{name}.git"

    def start(self) -> None:
        words = [
            "daemon",
            "--reuseaddr",
            "--export-all",
            "--base-path=.",
            "--listen=127.0.0.1",
            f"--port={self.port}",
        ]
        self._process = subprocess.Popen(  # noqa: S603 - words of our own
            ["git", *words, "--verbose", "."],  # noqa: S607 - the git that is on the PATH
            cwd=self.folder,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stderr
        assert b"Ready to rumble" in self._process.stderr.readline()

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate(timeout=PATIENCE)


@contextmanager
def git_server(folder: Path) -> Iterator[GitServer]:
    """All repositories of a folder, by git's own protocol."""
    server = GitServer(folder)
    try:
        yield server
    finally:
        server.stop()


class HangingServer:
    """Accepts whoever comes, and never answers."""

    def __init__(self, port: int) -> None:
        self._listener = socket.create_server(("127.0.0.1", port))
        self._guests: list[socket.socket] = []
        self.has_guest = threading.Event()
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                self._guests.append(self._listener.accept()[0])
                self.has_guest.set()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(PATIENCE)
        for guest in self._guests:
            guest.close()


@contextmanager
def hanging_server(port: int = 0) -> Iterator[HangingServer]:
    """A remote that lets everybody in, and hangs."""
    server = HangingServer(port)
    try:
        yield server
    finally:
        server.close()
