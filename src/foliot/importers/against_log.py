"""What the log of cron has seen, against our occurrences: the proof that no model can give.

It finds what a text does not tell: a table that was edited meanwhile, a host that slept, the wrong zone.
Lines are those of syslog or of `journalctl -t CRON`: a time, then `CMD (command)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

from foliot.importers.crontab_line import split_command
from foliot.importers.draft import Draft
from foliot.importers.proof import rule_of

_CMD = re.compile(r"(?P<time>\S+(?: +\d+ \S+)?) .*?\(\S+\) CMD \((?P<command>.*)\)\s*$")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LATEST = timedelta(seconds=90)  # after its minute began: cron starts what is due within a second or two
_MOST_SHOWN = 3
_LONGEST_LOG = 64_000_000


class Seen(NamedTuple):
    """A command that cron has started."""

    at: datetime
    command: str


def read_log(data: bytes, zone: str, now: datetime) -> list[Seen]:
    """The starts that a log tells of. A time without a year lies in the last twelve months."""
    found = []
    for row in data[:_LONGEST_LOG].decode(errors="replace").splitlines():
        match = _CMD.match(row)
        at = _time(match["time"], zone, now) if match else None
        if match and at is not None:
            found.append(Seen(at, match["command"].strip()))
    return found


def _time(text: str, zone: str, now: datetime) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        month, _, rest = text.partition(" ")
        if month not in _MONTHS:
            return None
        written = f"{now.year} {_MONTHS.index(month) + 1} {rest.strip()} +0000"
        try:
            at = datetime.strptime(written, "%Y %m %d %H:%M:%S %z").replace(tzinfo=None)
        except ValueError:
            return None
        if at.replace(tzinfo=ZoneInfo(zone)) > now + timedelta(days=1):
            at = at.replace(year=now.year - 1)
    return (at if at.tzinfo else at.replace(tzinfo=ZoneInfo(zone))).astimezone(UTC)


def compare(drafts: Sequence[Draft], seen: Sequence[Seen]) -> tuple[list[str], int]:
    """What to tell of a log, and how many things in it need a person."""
    if not seen:
        return ["the log has no line with CMD in it: nothing to compare"], 1
    first, last = min(one.at for one in seen), max(one.at for one in seen)
    left = dict.fromkeys(seen)
    expected = matched = 0
    missing: list[str] = []
    for draft in drafts:
        names = {draft.command, split_command(draft.command)[0]}
        mine = sorted(one for one in left if one.command in names)
        for at in _occurrences(draft, first, last):
            expected += 1
            hit = next((one for one in mine if at <= one.at <= at + _LATEST), None)
            if hit is None:
                missing.append(f"{draft.id} at {at.astimezone(UTC):%Y-%m-%d %H:%M} UTC")
                continue
            matched += 1
            mine.remove(hit)
            del left[hit]
    words = [f"{matched:,} of {expected:,} seen; {len(left):,} in the log that no entry explains"]
    words += _shown("not in the log", missing)
    words += _shown("unexplained", [f"{one.at:%Y-%m-%d %H:%M} UTC {one.command[:80]}" for one in left])
    return words, len(missing) + len(left)


def _occurrences(draft: Draft, first: datetime, last: datetime) -> Iterator[datetime]:
    if draft.when is None or draft.original is None or not draft.command:
        return  # a log of cron has no line of it
    rule = rule_of(draft.when)
    begin = first.replace(second=0, microsecond=0) - timedelta(microseconds=1)
    at = rule.next_after(begin)
    while at is not None and at.astimezone(UTC) <= last:
        yield at.astimezone(UTC)
        at = rule.next_after(at)


def _shown(head: str, items: Iterable[str]) -> list[str]:
    items = list(items)
    more = f" and {len(items) - _MOST_SHOWN} more" if len(items) > _MOST_SHOWN else ""
    return [f"{head}: {', '.join(items[:_MOST_SHOWN])}{more}"] if items else []
