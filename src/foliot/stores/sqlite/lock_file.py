"""Proof of death on the same host: a file beside the database that a node keeps locked while it lives.

The operating system lets go of a lock when its process ends, however it ends. So a process that can
take the lock of a node knows that the node is dead, before its lease has run out. A file that is not there,
or a file system without locks, proves nothing.

Such a lock belongs to the opened file, which a forked child shares: a job that uses `multiprocessing` would
keep the lock of a dead node. So a child closes it as soon as it is forked; a program that is started (`exec`,
`spawn`, `forkserver`) never gets it. A fork by a library written in C, of which Python does not know, keeps
the lock until it ends: there only the lease proves the death. (A child does not share locks of `fcntl.lockf`.
But two stores of one process would not see each other's locks, and closing any copy of the file would lose
the lock.)
"""

from __future__ import annotations

import fcntl
import os
import platform
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import NamedTuple
from weakref import WeakSet

_MACHINE = Path("/etc/machine-id")
_BOOT = Path("/proc/sys/kernel/random/boot_id")


class Host(NamedTuple):
    """Which host this is: the machine's own id, and that of its running kernel, which containers share."""

    machine: str
    boot: str

    def is_same(self, other: Host) -> bool:
        """Whether a lock of the one is seen by the other."""
        return any(mine and mine == theirs for mine, theirs in zip(self, other, strict=True))


def this_host() -> Host:
    """The host that this process is on."""
    return Host(_first_line(_MACHINE) or platform.node(), _first_line(_BOOT))


def _first_line(file: Path) -> str:
    with suppress(OSError):
        return file.read_text(encoding="ascii", errors="replace").strip()
    return ""


class LockFiles:
    """The locks of the nodes that joined by this store, and a look at those of others."""

    def __init__(self, database: Path) -> None:
        self.host = this_host()
        self._database = database
        self._held: dict[str, int] = {}
        _all.add(self)

    def path(self, node: str) -> Path:
        """Where the lock of a node is; ids are any text (or damaged), so the name is a hash."""
        digest = sha256(str(node).encode(errors="surrogatepass")).hexdigest()[:32]
        return self._database.with_name(f"{self._database.name}-node-{digest}")

    def hold(self, node: str) -> bool:
        """Lock the file of a node, for as long as this process lives; whether that could be done."""
        if node in self._held:
            return True
        for _ in range(3):  # another process may delete the file between its creation and its lock
            with _opening, suppress(OSError):
                file = _locked(self.path(node), os.O_CREAT | os.O_RDWR)
                if file is not None:
                    self._held[node] = file
                    return True
        return False

    def holds(self, node: str) -> bool:
        """Whether the lock of a node is held here."""
        return node in self._held

    def is_dead(self, node: str) -> bool:
        """Whether the process of a node has ended, by proof."""
        if node in self._held:
            return False
        with _opening, suppress(OSError):
            file = _locked(self.path(node), os.O_RDWR)
            if file is not None:
                os.close(file)
                return True
        return False

    def remove(self, node: str) -> None:
        """Delete the lock file of a node that is known to be dead."""
        file = self._held.pop(node, None)
        with suppress(OSError):
            self.path(node).unlink()
        if file is not None:
            os.close(file)

    def release_all(self) -> None:
        """Let go of all locks, as the end of the process would; the files are for others to find."""
        for file in self._held.values():
            os.close(file)
        self._held.clear()

    def sweep(self, known: set[str]) -> None:
        """Delete files without a node and without a lock: their process ended before it joined."""
        kept = {self.path(node).name for node in known}
        prefix = f"{self._database.name}-node-"
        with suppress(OSError):
            found = [p for p in self._database.parent.iterdir() if p.name.startswith(prefix)]
            for path in found:
                if path.name not in kept:
                    _remove_unheld(path)


_all: WeakSet[LockFiles] = WeakSet()
_opening = RLock()  # no fork while a file is open that no LockFiles knows yet


def _let_go_in_child() -> None:
    _opening.release()
    for locks in list(_all):
        locks.release_all()


os.register_at_fork(
    before=_opening.acquire, after_in_parent=_opening.release, after_in_child=_let_go_in_child
)


def _remove_unheld(path: Path) -> None:
    with _opening, suppress(OSError):
        file = _locked(path, os.O_RDWR)
        if file is not None:
            path.unlink()
            os.close(file)


def _locked(path: Path, flags: int) -> int | None:
    """The opened and locked file, if no other process holds it, and it is still the one at that path."""
    file = os.open(path, flags, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(file).st_ino == path.stat().st_ino:
            return file
    except OSError:
        os.close(file)
        return None
    os.close(file)
    return None
