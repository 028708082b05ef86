"""`dst` in words: explain, lint and why speak of it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from foliot.model.job import Action, Job
from foliot.schedules import Cron
from foliot.schedules.around import Dst
from foliot.schedules.explain import explain
from foliot.schedules.lint import lint
from foliot.why.answer import no_occurrence

START = datetime(2026, 11, 17, tzinfo=UTC)


def daily(dst: Dst, text: str = "30 2 * * *", zone: str = "Europe/Berlin") -> Cron:
    return Cron(text, timezone=zone, dst=dst)


def test_what_is_said_of_a_rule_tells_what_it_does_at_a_clock_change() -> None:
    assert explain(daily("exact")) == "at 02:30 every day, Berlin time"
    assert explain(daily("cron")).endswith(
        "only when that comes twice, and after the gap when it is left out"
    )
    assert explain(daily("cron")) == explain(daily("once"))
    assert explain(daily("systemd")).endswith("Berlin time; the first time only when that comes twice")
    assert explain(daily("cron", "*/5 * * * *")) == "every 5 minutes, Berlin time"
    assert explain(daily("once", zone="UTC")) == "at 02:30 every day, UTC"


@pytest.mark.parametrize(
    ("dst", "text", "severities"),
    [
        ("exact", "30 2 * * *", ["warning", "warning"]),
        ("cron", "30 2 * * *", ["note", "note"]),
        ("once", "30 2 * * *", ["note", "note"]),
        ("systemd", "30 2 * * *", ["warning", "note"]),
        ("systemd", "*/15 * * * *", ["warning", "note"]),
        ("cron", "*/15 * * * *", ["note", "note"]),
    ],
)
def test_what_dst_settles_is_a_note_and_a_pause_is_a_warning(
    dst: Dst, text: str, severities: list[str]
) -> None:
    findings = [one for one in lint(daily(dst, text), START) if one.code.startswith("dst-")]
    assert [one.severity for one in findings] == severities


def test_why_tells_which_rule_for_clock_changes_decided() -> None:
    def why(dst: Dst, at: datetime) -> str:
        return no_occurrence(Job(source="s", name="j", schedule=daily(dst), action=Action(kind="k")), at)

    gap, second = datetime(2027, 3, 28, 1, 30, tzinfo=UTC), datetime(2027, 10, 31, 1, 30, tzinfo=UTC)
    assert why("exact", gap).endswith("does not exist in Europe/Berlin: its clocks go forward")
    assert "by dst=cron it runs at 2027-03-28T01:00:00Z instead" in why("cron", gap)
    assert "comes twice in Europe/Berlin, and by dst=systemd the rule runs the first time" in why(
        "systemd", second
    )
