from __future__ import annotations

from datetime import UTC, datetime

from foliot.schedules import Cron, Every, Once, Schedule
from foliot.schedules.herd import next_after_all

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Counted(Once):
    """A rule that tells how often it was asked."""

    asked = 0

    def next_after(self, instant: datetime) -> datetime | None:
        type(self).asked += 1
        return super().next_after(instant)


def test_each_rule_gets_its_own_next_time_in_order() -> None:
    rules: list[Schedule] = [Cron("0 9 * * *"), Every("1h"), Once(NOW), Cron("0 9 * * *"), Cron("0 13 * * *")]

    assert next_after_all(rules, NOW) == [rule.next_after(NOW) for rule in rules]


def test_equal_rules_are_asked_once() -> None:
    rules = [Counted("2026-06-01T00:00:00+00:00") for _ in range(100)]

    assert len(set(next_after_all(rules, NOW))) == 1
    assert Counted.asked == 1


def test_no_rules_no_times() -> None:
    assert next_after_all([], NOW) == []
