"""A schedule in plain English, as one would say it aloud.

The words come from what a rule means (its fields), never from how it is written: rules that fire at the
same times of the same days get the same sentence, and rules that do not get different ones.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from foliot.schedules.around import Around
from foliot.schedules.cron import Cron
from foliot.schedules.cron_syntax import CronFields
from foliot.schedules.every import Every
from foliot.schedules.explain_clock import say_clock
from foliot.schedules.explain_day import days_of, say_days
from foliot.schedules.never import Never
from foliot.schedules.on_days import OnDays
from foliot.schedules.once import Once
from foliot.schedules.phrase import each, listed, say_date, say_offset, say_time, say_zone
from foliot.schedules.schedule import Schedule
from foliot.schedules.zone import load_zone

_A_DAY = timedelta(days=1)
_AN_HOUR = timedelta(hours=1)
_SECOND = timedelta(seconds=1)


def explain(schedule: Schedule) -> str:
    """What a schedule means: "at 09:00 on weekdays, Berlin time".

    A schedule of a kind that is not ours is left to say itself.
    """
    match schedule:
        case Cron(fields=CronFields() as fields, timezone=timezone, around=around):
            # The offset of this instant is only ever said for a zone that has no other.
            zone = say_zone(datetime(2000, 1, 1, tzinfo=load_zone(timezone)))
            return f"{_say_fields(fields)}, {zone}{_say_changes(around) if zone.endswith('time') else ''}"
        case Cron(every=timedelta() as duration) | Every(duration=duration):
            return _say_grid(duration)
        case Once(at=at):
            return _say_once(at)
        case OnDays(rule=rule, exclude=exclude, only=only):
            used = [(word, some) for word, some in (("except", exclude), ("only", only)) if some]
            words = [f"{word} on days of {listed([one.name for one in some])}" for word, some in used]
            return ", ".join([explain(rule), *words])
        case Never(at_boot=at_boot):
            return "once after each boot" if at_boot else "only when it is asked for"
    return str(schedule)


def _say_fields(fields: CronFields) -> str:
    clock = say_clock(fields)
    return f"{clock.text} {say_days(days_of(fields), is_all_day=clock.is_all_day)}".strip()


def _say_changes(around: Around | None) -> str:
    """What is special when the clocks are moved."""
    if around is None:
        return ""
    missed = ", and after the gap when it is left out" if around.runs_after_gap else ""
    return f"; the first time only when that comes twice{missed}"


def _say_grid(duration: timedelta) -> str:
    """A grid since 1970; from where it is counted is said where it is not plain."""
    words = each(duration // _SECOND)
    if duration == _A_DAY:
        return f"{words} at 00:00 UTC"
    if _A_DAY % duration:
        return f"{words}, counted from 1970-01-01 UTC"
    return f"{words} from 00:00 UTC" if _AN_HOUR % duration else words


def _say_once(at: datetime) -> str:
    at = _as_shown(at)
    zone = say_zone(at)
    if at.replace(fold=0).utcoffset() != at.replace(fold=1).utcoffset():
        # This wall time comes twice; the offset tells which of the two is meant.
        zone += f" ({say_offset(at.utcoffset() or timedelta(0))})"
    return f"once, at {say_time(at.time())} on {say_date(at)}, {zone}"


def _as_shown(at: datetime) -> datetime:
    """The instant as clocks show it: a wall time that they leave out is said as the one they show."""
    try:
        return at.astimezone(UTC).astimezone(at.tzinfo)
    except OverflowError:
        return at
