"""The host's clock and zone: the only module that reads real time.

Everything else takes the time as an argument or takes a clock, so that a test can hold time still.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import TZPATH, ZoneInfo

from foliot.errors import InvalidTimezoneError

LOCALTIME = Path("/etc/localtime")
DEBIAN_NAME = Path("/etc/timezone")
_POSIX_RULE = re.compile(r"(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)[+-]?[0-9]")
_POSIX_UTC = re.compile(r"(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]{3,}>)[+-]?00?(?::00){0,2}")  # and no summer time
_SLEEPLESS: int | None = getattr(time, "CLOCK_BOOTTIME", None)  # on Linux: it goes on while the host sleeps
_LOOK = timedelta(seconds=1)  # how often a wait looks whether the host has slept meanwhile


class SystemClock:
    """The wall clock of this host."""

    def now(self) -> datetime:
        """The present instant, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that only ever grow, whatever happens to the wall clock, also while the host sleeps."""
        # Without such a clock, time may stand still while the host sleeps. A node that wakes there trusts its
        # lease until it next asks the store: the fence holds, but a run may begin on two nodes.
        return time.monotonic() if _SLEEPLESS is None else time.clock_gettime(_SLEEPLESS)

    async def wait(self, duration: timedelta, until: asyncio.Event | None = None) -> None:
        """Let others have their turn for that long, or until the event is set.

        The event loop's own time stands still while the host sleeps. So a wait that an event can end, such as
        those of an engine's services, looks at the clock each second: it is over soon after the host wakes.
        """
        if until is None:
            await wait_on_loop(duration, until)
            return
        over_at = self.monotonic() + duration.total_seconds()
        await wait_on_loop(min(duration, _LOOK), until)
        while not until.is_set() and (left := over_at - self.monotonic()) > 0:
            await wait_on_loop(min(timedelta(seconds=left), _LOOK), until)

    def sleep(self, seconds: float) -> None:
        """Wait; for programs without an event loop."""
        time.sleep(seconds)


async def wait_on_loop(duration: timedelta, until: asyncio.Event | None) -> None:
    """Wait by the event loop's own time; others have at least one turn."""
    seconds = duration.total_seconds()
    if until is None or seconds <= 0 or until.is_set():
        await asyncio.sleep(0 if until is not None else seconds)
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await until.wait()


def host_timezone() -> str:
    """The IANA name of this host's zone: what `timezone="local"` means.

    `TZ` decides if it is set, as it does for every C program; otherwise `/etc/localtime`, by the
    name it links to, or, if it is a copy, by the zone file it is a copy of. A host with neither is
    on UTC, as libc has it. Where no name can be found the answer is an error, never a guess: a
    guess would be right until the next change of the clocks.
    """
    variable = os.environ.get("TZ")
    if variable is not None:
        return _from_variable(variable)
    if not LOCALTIME.exists():
        return "UTC"
    return _from_link(LOCALTIME) or _from_copy(LOCALTIME)


def _from_variable(variable: str) -> str:
    name = variable.removeprefix(":")
    if name.startswith("/"):
        return _from_link(Path(name)) or _from_copy(Path(name))
    if name and not _is_zone(name):
        if _POSIX_UTC.fullmatch(name):
            return "UTC"
        rule = ": a rule such as CET-1CEST tells no history" if _POSIX_RULE.match(name) else ""
        raise InvalidTimezoneError(
            variable,
            f"the environment's TZ is not the name of an IANA time zone{rule}",
            hint="set TZ to a name such as Europe/Berlin, or give the schedule a timezone",
        )
    return name or "UTC"


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True


def _from_link(path: Path) -> str | None:
    """The name below a zone database's folder, at the first step of the links that has one."""
    seen: set[Path] = set()
    while path not in seen:
        seen.add(path)
        _, found, name = path.as_posix().rpartition("/zoneinfo/")
        if found and _is_zone(name):
            return name.removeprefix("posix/")
        if path.is_symlink():
            path = Path(os.path.normpath(path.parent / path.readlink()))
    return None


def _from_copy(path: Path) -> str:
    """The zone whose file has the same bytes: the same clocks, so any of several names is right."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidTimezoneError(str(path), f"the zone file cannot be read ({error})") from error
    for root in (Path(root) for root in TZPATH):
        for file in _candidates(root):
            if file.is_file() and file.read_bytes() == content:
                return file.relative_to(root).as_posix()
    raise InvalidTimezoneError(
        str(path),
        "the zone file is a copy of no known zone",
        hint="link /etc/localtime into the zone database, set TZ, or give the schedule a timezone",
    )


def _candidates(root: Path) -> Iterator[Path]:
    """Zone files, those first whose name people use: what Debian noted, then one zone for each place."""
    if DEBIAN_NAME.is_file():
        yield root / DEBIAN_NAME.read_text().strip()
    places = root / "zone1970.tab"
    if places.is_file():
        rows = (line.split("\t") for line in places.read_text().splitlines() if not line.startswith("#"))
        yield from (root / row[2] for row in rows)
    yield from sorted(file for file in root.rglob("[A-Z]*") if file.is_file())
