"""Schedules of a beat on the dashboard: they are jobs of its source, with words for their state."""

from __future__ import annotations

from datetime import timedelta

import pytest

from api.stage import Stage
from dashboard.visitor import Visitor
from foliot.doors.beat import Schedule
from foliot.doors.beat.translation import job_of, policy_of

SCHEDULES = (
    Schedule("daily-report", "0 9 * * *", "reports.send", payload=b'{"to": "ops"}', timezone="Europe/Berlin"),
    Schedule("sync", "*/5 * * * *", "stock.sync", priority="high"),
    Schedule("off", "@hourly", "stock.idle", enabled=False),
)


@pytest.mark.req("BAN-16")
def test_schedules_of_a_beat_have_pages_with_their_state_and_are_paused_there(stage: Stage) -> None:
    policy = policy_of(timedelta(seconds=60))
    stage.declare(*(job_of(schedule, "bananas", policy) for schedule in SCHEDULES))
    ada = Visitor(stage)
    listed = ada.get("/jobs?source=bananas")
    assert all(f"bananas/ {schedule.id}" in listed.text for schedule in SCHEDULES)
    assert "disabled" in listed.text
    assert "at 09:00 every day, Berlin time" in listed.text
    page = ada.press(ada.get("/jobs/bananas~2Fsync"), "Pause", reason="stock is counted")
    assert "paused" in page.text
    assert "stock is counted" in ada.get("/jobs?state=paused").text
    assert "not paused" not in ada.press(page, "Resume").text
    assert "reports.send" in ada.get("/jobs/bananas~2Fdaily-report?tab=definition").text
    asked = ada.press(ada.get("/jobs/bananas~2Fsync"), "Run now")
    assert "Why it exists: triggered manually" in asked.text
    stage.run_due()
    assert "succeeded" in ada.get("/journal?source=bananas").text
    assert "bananas" in ada.get("/sources").text
