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
