"""The model of cron against Debian's own cron, on a fast clock, over nights that are hard."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from foliot.importers.model.vixie import fires, read_rule
from importers.real_cron import Night, run_cron

FIXED = ["30 2 * * *", "0,30 2 * * *", "20 2,3 * * *", "5 0-23 * * *", "0 3 * * *"]
FOLLOWING = ["*/15 * * * *", "10 * * * *", "*/20 2 * * *", "15 */2 * * *"]
SCENARIOS = {
    "spring": (FIXED + FOLLOWING, Night("Europe/Berlin", datetime(2027, 3, 28, 1, 56), 40)),
    "autumn": (FIXED + FOLLOWING, Night("Europe/Berlin", datetime(2027, 10, 31, 1, 56), 130, speed=120)),
    "half-an-hour": (
        ["15 2 * * *", "45 1 * * *", "*/10 * * * *"],
        Night("Australia/Lord_Howe", datetime(2027, 10, 3, 1, 56), 40),
    ),
    "odd-tuesday": (
        ["0 0 */2 * 1", "0 0 1-31/2 * 1", "0 0 * * 2", "1 0 5 * 1"],
        Night("UTC", datetime(2027, 1, 4, 23, 56), 12),
    ),
    "month-end": (
        ["0 0 31 * *", "59 23 28 2 *", "0 0 1 3 *", "1 0 29 2 *", "2 0 */31 * *"],
        Night("UTC", datetime(2027, 2, 28, 23, 56), 12),
    ),
    "spring-new-york": (FIXED + FOLLOWING, Night("America/New_York", datetime(2027, 3, 14, 1, 56), 40)),
    "autumn-new-york": (
        ["30 1 * * *", "0,45 1 * * *", "20 1,2 * * *", "5 0-23 * * *", *FOLLOWING],
        Night("America/New_York", datetime(2027, 11, 7, 0, 56), 130, speed=120),
    ),
    "half-an-hour-back": (
        ["45 1 * * *", "15 2 * * *", "50 1-2 * * *", "*/10 * * * *"],
        Night("Australia/Lord_Howe", datetime(2027, 4, 4, 1, 26), 75, speed=90),
    ),
    "two-hours": (
        ["30 1 * * *", "15 2 * * *", "10 1,2 * * *", "5 0-23 * * *", "*/15 * * * *", "20 */2 * * *"],
        Night("Antarctica/Troll", datetime(2027, 3, 28, 0, 56), 40),
    ),
    "year-end": (
        ["0 0 1 1 *", "59 23 31 12 *", "1 0 * jan *", "57 23 * DEC *", "0 0 1 12 *", "2 */24 * * *"],
        Night("Europe/Berlin", datetime(2027, 12, 31, 23, 55), 12),
    ),
    "leap-day": (
        ["0 0 29 2 *", "1 0 1 3 *", "2 0 */2 2 *", "3 0 28-31 * *", "4 0 29 2 1"],
        Night("UTC", datetime(2028, 2, 28, 23, 56), 12),
    ),
    "names-of-days": (
        ["0 0 * * 0", "1 0 * * 7", "2 0 * * sun", "3 0 * * 6-7", "4 0 * * mon-fri", "58 23 * * Sat"],
        Night("UTC", datetime(2027, 1, 2, 23, 56), 12),
    ),
    "either-day": (
        ["0 0 13 * 5", "1 0 15 * 1", "2 0 14 * 4", "3 0 * * 5", "4 0 15 * *", "5 0 */5 * 5", "6 0 15 * */5"],
        Night("UTC", datetime(2027, 1, 14, 23, 56), 14),
    ),
}


@pytest.mark.prove
@pytest.mark.req("OWN-17")
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_model_runs_when_debians_cron_runs(tmp_path: Path, name: str) -> None:
    rules, night = SCENARIOS[name]
    found = run_cron(tmp_path, rules, night)
    first = int(night.start.replace(tzinfo=ZoneInfo(night.zone)).timestamp()) + 60
    last = first + (night.minutes - 2) * 60
    for rule in rules:
        modelled = fires(read_rule(rule), night.zone, first, last)
        expected = Counter(datetime.fromtimestamp(at, UTC) for at in modelled)
        end = datetime.fromtimestamp(last, UTC) - timedelta(seconds=1)
        seen = Counter({at: count for at, count in found[rule].items() if at <= end})
        assert seen == expected, rule
