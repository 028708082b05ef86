"""A file that is to be compared with what was declared: what `local` means is then another question.

A daemon reads `local` as the zone of its host. A plan may be made elsewhere, in UTC, so it asks the store: a
daemon has one zone, the one that most of the jobs without a zone have there. A job that has another there had
it written out before; what it gets now is a guess, and told as one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from foliot.clock import host_timezone
from foliot.doors.rollcron.config import FILE, Config, read_file
from foliot.engine.change import Code, PlanEffect, warning
from foliot.model.job import Job
from foliot.model.state import Record
from foliot.sources.git.beside import Files, no_files

_MOST_NAMED = 5


class Planned(NamedTuple):
    """The jobs of a file, and what had to be guessed for them."""

    jobs: tuple[Job, ...] = ()
    effects: tuple[PlanEffect, ...] = ()


def read_planned(  # noqa: PLR0913 - each has a default
    data: bytes,
    *,
    source: str,
    file: str = FILE,
    files: Files = no_files,
    stored: Mapping[str, Record] | None = None,
    local: str | None = None,
) -> Planned:
    """The jobs of a file, by the zone that the daemon has. ConfigInvalidError tells all that is wrong.

    `stored`: what was declared before, by name. `local` is what the zone is, if the store does not tell.
    """

    def read(zones: Mapping[str, str], usual: str) -> Config:
        return read_file(
            data, source=source, file=file, files=files, local=lambda name: zones.get(name, usual)
        )

    zones = {name: getattr(record.job.schedule, "timezone", None) for name, record in (stored or {}).items()}
    first = _most_common(zone for zone in zones.values() if zone) or local or host_timezone()
    config = read({}, first)
    known = {name: zone for name in config.local if (zone := zones.get(name))}
    usual = _most_common(known.values())
    if usual is None:
        config = config if not local or local == first else read({}, local)
        return Planned(config.jobs, () if local else _guessed(config.local, first))
    odd = {name: local or usual for name, zone in known.items() if zone != usual}
    if odd or usual != first:
        config = read(odd, usual)
    return Planned(config.jobs, () if local else _guessed(odd, usual))


def _most_common(zones: Iterable[str]) -> str | None:
    found = Counter(zones).most_common(1)
    return found[0][0] if found else None


def _guessed(names: Iterable[str], zone: str) -> tuple[PlanEffect, ...]:
    listed = sorted(names)
    if not listed:
        return ()
    more = len(listed) - _MOST_NAMED
    shown = ", ".join(listed[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    text = f"the zone of {shown} is that of the daemon's host: {zone} is a guess; say it by --local ZONE"
    return (warning(Code.ZONE_GUESSED, text),)
