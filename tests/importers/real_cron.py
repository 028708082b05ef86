"""Debian's own cron on a fast clock, in a mount namespace of its own: nothing of the host is touched.

A line `* * * * *` ticks once for each minute that cron goes through; what else starts belongs to the tick
that is nearest in real time. Cron ticks in every real minute, so the n-th tick is the n-th minute.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest

_MINUTE = timedelta(minutes=1)
_PATIENCE = 60


class Night(NamedTuple):
    """A zone, a wall time to start at, how many minutes cron goes through, and how fast."""

    zone: str
    start: datetime
    minutes: int
    speed: int = 60


_SETUP = """
set -e
mount --make-rprivate /
mount -t tmpfs private /var/spool/cron
mount -t tmpfs private /etc/cron.d
mount -t tmpfs private /run
mount --bind /dev/null /etc/crontab
mkdir /var/spool/cron/crontabs
cp "$TABLE" /var/spool/cron/crontabs/root
chmod 600 /var/spool/cron/crontabs/root
exec env TZ="$ZONE" LD_PRELOAD="$LIBRARY" FAKETIME="$START" cron -f
"""


def needs_cron() -> str:
    """The library that fakes time; the test is skipped where cron cannot be run so."""
    if os.geteuid() or not shutil.which("cron") or not shutil.which("unshare"):
        pytest.skip("needs root and Debian's cron")
    if subprocess.run(["unshare", "-m", "true"], check=False).returncode:  # noqa: S607 - the system's own
        pytest.skip("no mount namespaces here")
    found = sorted(
        Path("/usr/lib").glob("*/faketime/libfaketime.so.1")
    )  # only this build lets sleep run fast
    if not found:
        pytest.skip("needs Debian's faketime")
    return str(found[0])


def run_cron(folder: Path, rules: list[str], night: Night) -> dict[str, Counter[datetime]]:
    """When each rule started, as instants (UTC)."""
    library = needs_cron()
    pipe, table = folder / "pipe", folder / "table"
    os.mkfifo(pipe)
    note = "echo {} $(date +\\%s.\\%N) >> " + str(pipe)
    lines = [f"* * * * * {note.format('tick')}"]
    lines += [f"{rule} {note.format(number)}" for number, rule in enumerate(rules)]
    table.write_text("\n".join(lines) + "\n")
    told = {"TABLE": str(table), "ZONE": night.zone, "LIBRARY": library}
    told["START"] = f"@{night.start:%Y-%m-%d %H:%M:%S} x{night.speed}"
    process = subprocess.Popen(  # noqa: S603 - our own script, on our own table
        ["unshare", "-m", "sh", "-c", _SETUP],  # noqa: S607 - the system's own
        env={"PATH": os.environ["PATH"], **told},
        start_new_session=True,
    )
    try:
        written = _listen(pipe, night.minutes)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return _read(written, rules, night.start.replace(tzinfo=ZoneInfo(night.zone)).astimezone(UTC))


def _listen(pipe: Path, minutes: int) -> str:
    """What the jobs write, until so many minutes have ticked."""
    written = b""
    reader = os.open(pipe, os.O_RDWR)
    try:
        while written.count(b"tick") <= minutes:
            assert select.select([reader], [], [], _PATIENCE)[0], "cron does not tick"
            written += os.read(reader, 65_536)
    finally:
        os.close(reader)
    return written.decode()


def _read(text: str, rules: list[str], start: datetime) -> dict[str, Counter[datetime]]:
    rows = [(row.split()[0], float(row.split()[1])) for row in text.splitlines() if len(row.split()) == 2]
    ticks = [at for name, at in rows if name == "tick"]
    found: dict[str, Counter[datetime]] = {rule: Counter() for rule in rules}
    for name, at in rows:
        if name != "tick":
            nearest = min(range(len(ticks)), key=lambda n: abs(ticks[n] - at))
            found[rules[int(name)]][start + _MINUTE * (nearest + 1)] += 1
    return found
