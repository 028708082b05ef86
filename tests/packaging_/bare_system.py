"""A bare Debian in a folder, made by mmdebstrap, and systemd as process 1 in it, in namespaces of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from foliot.clock import SystemClock

PACKAGES = "python3,python3-venv,git,ca-certificates,systemd,dbus"
_CLOCK = SystemClock()
_LOOK = timedelta(milliseconds=200)
_BOOT = """
set -e
mount --make-rprivate /
mount --bind "$1" "$1"
mount -t proc proc "$1/proc"
mount -t sysfs sysfs "$1/sys"
mount -t tmpfs tmpfs "$1/run"
mount -t tmpfs tmpfs "$1/tmp"
mount --rbind /dev "$1/dev"
mount -t tmpfs tmpfs "$1/sys/fs/cgroup"
mkdir "$1/sys/fs/cgroup/systemd" "$1/sys/fs/cgroup/unified"
mount -t cgroup2 cgroup2 "$1/sys/fs/cgroup/unified"
mount -t cgroup -o none,name=systemd cgroup "$1/sys/fs/cgroup/systemd"
exec chroot "$1" /usr/bin/env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \\
    /lib/systemd/systemd --system --show-status=0 --unit=basic.target
"""


def why_not() -> str | None:
    """Why no bare system can be made here; None if one can."""
    if os.geteuid() != 0:
        return "only root can make a bare system"
    missing = [name for name in ("mmdebstrap", "unshare", "nsenter") if shutil.which(name) is None]
    return f"there is no {' and no '.join(missing)} here" if missing else None


def make_archive(place: Path) -> Path:
    """The files of a bare Debian, as a tar."""
    archive = place / "debian.tar"
    _call("mmdebstrap", "--quiet", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(archive))
    return archive


def unpack(archive: Path, place: Path) -> Path:
    """A fresh copy of the files."""
    place.mkdir()
    _call("tar", "-xf", str(archive), "-C", str(place))
    return place


@dataclass(frozen=True, slots=True)
class Machine:
    """A system that runs: its files, and the number of its process 1 as this host sees it."""

    root: Path
    first: int

    def run(self, script: str, *, check: bool = True) -> str:
        """What a shell in it writes, errors included."""
        where = ("nsenter", f"--target={self.first}", "--mount", "--pid", "--uts", "--ipc")
        done = subprocess.run(  # noqa: S603 - our own words
            [*where, "chroot", str(self.root), "sh", "-c", script],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "COLUMNS": "200"},
            text=True,
            check=False,
            timeout=120,
        )
        assert not check or done.returncode == 0, f"{script}\n{done.stdout}"
        return done.stdout

    async def until(self, script: str, word: str, seconds: float = 60) -> str:
        """What a shell in it writes, as soon as it has a word in it."""
        end = _CLOCK.monotonic() + seconds
        while word not in (said := self.run(script, check=False)):
            assert _CLOCK.monotonic() < end, f"{script}\n{said}\n{self.run('journalctl -n 40 --no-pager')}"
            await _CLOCK.wait(_LOOK)
        return said


@contextmanager
def booted(root: Path) -> Iterator[Machine]:
    """Start systemd in these files, and end all that it has started."""
    command = ["unshare", "--mount", "--pid", "--fork", "--uts", "--ipc", "--kill-child=SIGKILL"]
    with subprocess.Popen(  # noqa: S603 - our own words
        [*command, "sh", "-c", _BOOT, "boot", str(root)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            yield Machine(root, _first_of(process))
        finally:
            process.send_signal(signal.SIGKILL)


def _first_of(process: subprocess.Popen[bytes]) -> int:
    """The child of unshare: process 1 of its own namespace."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while not (found := children.read_text().split()):
        assert process.poll() is None, "systemd did not start"
    return int(found[0])


def _call(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own words
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr[-3000:]}"
