"""The field's own libraries agree with us wherever their rules are ours."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from croniter import croniter
from cronsim import CronSim
from hypothesis import assume, given
from hypothesis import strategies as st

from foliot.schedules import Cron
from foliot.schedules.zone import is_regular

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu")
instants = st.datetimes(
    min_value=datetime(1990, 1, 1), max_value=datetime(2090, 1, 1), timezones=st.just(UTC)
)


def items(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    # No `5-5`: croniter reads it as the whole field.
    ends = st.sets(number, min_size=2, max_size=2).map(sorted)
    ranges = ends.map(lambda pair: f"{pair[0]}-{pair[1]}")
    stepped = st.tuples(ranges, st.integers(1, high)).map(_stepped)
    return st.one_of(number.map(str), ranges, stepped)


def _stepped(pair: tuple[str, int]) -> str:
    return f"{pair[0]}/{pair[1]}"


def fields(low: int, high: int) -> st.SearchStrategy[str]:
    lists = st.lists(items(low, high), min_size=1, max_size=3).map(",".join)
    steps = st.integers(2, 10).map(lambda step: f"*/{step}")
    return st.one_of(st.just("*"), lists, steps)


@st.composite
def expressions(draw: st.DrawFn) -> str:
    """Expressions that mean the same to all: at most one restricted day field, the day in every month."""
    day, weekday = draw(
        st.one_of(
            st.tuples(fields(1, 28), st.just("*")),
            st.tuples(st.just("*"), fields(0, 6)),
            # Both restricted: either may match; no `*/n`, which cronsim takes for unrestricted.
            st.tuples(items(1, 28), items(0, 6)),
        )
    )
    minute, hour, month = draw(fields(0, 59)), draw(fields(0, 23)), draw(fields(1, 12))
    return f"{minute} {hour} {day} {month} {weekday}"


@given(expressions(), instants, st.sampled_from(ZONES))
def test_agrees_with_cronsim(expression: str, instant: datetime, zone_name: str) -> None:
    zone = ZoneInfo(zone_name)
    ours = Cron(expression, timezone=zone_name).next_after(instant)
    theirs = next(CronSim(expression, instant.astimezone(zone)))
    assert ours is not None
    # cronsim moves what falls on a change of the clocks, as Debian's cron does.
    assume(is_regular(zone, ours) and is_regular(zone, theirs) and is_regular(zone, instant.astimezone(zone)))

    assert ours == theirs


@given(expressions(), instants)
def test_agrees_with_croniter(expression: str, instant: datetime) -> None:
    start = instant.replace(microsecond=0)

    assert Cron(expression).next_after(start) == croniter(expression, start).get_next(datetime)
    assert Cron(expression).previous(start) == _croniter_previous(expression, start)


def _croniter_previous(expression: str, start: datetime) -> datetime:
    if croniter.match(expression, start) and start.second == 0:
        return start
    found = croniter(expression, start).get_prev(datetime)
    assert isinstance(found, datetime)
    return found
