"""The model of systemd's calendar events against `systemd-analyze calendar`."""

from __future__ import annotations

import re
import shutil
import subprocess
from datetime import UTC, datetime
from itertools import islice

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from foliot.importers.model.numbers import UnreadableError
from foliot.importers.model.systemd import fires, read_calendar

_PROGRAM = shutil.which("systemd-analyze") or ""
_NEXT = re.compile(r"\(in UTC\): \w+ (\S+ \S+) UTC|(?:Next elapse|Iter\. #\d+): \w+ (\S+ \S+) UTC")
_YEAR = 86_400 * 366

_calendars = st.builds(
    "{}{}-{}-{} {}:{}:{}".format,
    st.sampled_from(["", "", "Mon ", "Sat,Sun ", "Mon..Fri ", "sunday "]),
    st.just("*"),
    st.sampled_from(["*", "3", "10", "1..6", "3,10", "1/3"]),
    st.sampled_from(["*", "1", "28..31", "1..7", "1/2", "25..31"]),
    st.sampled_from(["*", "2", "1..3", "0/6", "2,3"]),
    st.sampled_from(["*", "0", "30", "0/15", "0,30"]),
    st.sampled_from(["00", "30", "0/20"]),
)


def _asked(text: str, zone: str, base: str) -> list[datetime]:
    done = subprocess.run(  # noqa: S603 - the system's own
        [_PROGRAM, "calendar", "--iterations=20", f"--base-time={base}", text],
        env={"TZ": zone, "LC_ALL": "C"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assume(done.returncode == 0)  # it gives up on what always lies in a gap
    found = [a or b for a, b in _NEXT.findall(done.stdout)]
    return [datetime.fromisoformat(one).replace(tzinfo=UTC) for one in found]


@pytest.mark.prove
@pytest.mark.req("OWN-17")
@pytest.mark.skipif(not _PROGRAM, reason="needs systemd-analyze")
@given(
    _calendars,
    st.sampled_from(["Europe/Berlin", "America/New_York", "UTC"]),
    st.sampled_from(["2027-03-27", "2027-10-30", "2027-03-13", "2027-11-06", "2027-02-27"]),
)
@settings(max_examples=2000, deadline=None)
def test_the_model_elapses_when_systemd_does(text: str, zone: str, day: str) -> None:
    base = datetime.fromisoformat(f"{day}T12:00:00+00:00")
    first = int(base.timestamp()) + 1
    end = datetime.fromtimestamp(first + 3 * _YEAR, UTC)
    expected = [at for at in _asked(text, zone, f"{day} 12:00:00 UTC") if at < end]
    modelled = islice(fires(read_calendar(text, zone), first, first + 3 * _YEAR), len(expected))
    assert [datetime.fromtimestamp(at, UTC) for at in modelled] == expected, text


def test_what_the_model_does_not_read_is_said() -> None:
    for text in ("*-*~01 00:00", "Moonday 10:00", "25:00", "Fri..Mon", "*-13-01", "", "*/2:00"):
        with pytest.raises(UnreadableError):
            read_calendar(text, "UTC")
