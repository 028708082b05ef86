"""Times in sentences, and timelines of jobs that run too often for a mark each."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.stage import BACKUP, declare, staged
from dashboard.visitor import Visitor
from foliot.dashboard.buckets import Span, gather
from foliot.dashboard.times import Times
from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.state import Skip
from foliot.operations import Operations
from foliot.schedules import Cron, Every

NOW = datetime(2026, 10, 24, 12, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
WEEK = Span(NOW - timedelta(days=7), NOW + timedelta(days=7), NOW, NOW - timedelta(days=2), BERLIN)


@pytest.mark.req("OWN-12")
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2026-10-25T00:30:00Z would be next", "Sun 25 Oct 02:30 CEST would be next"),
        ("paused since 2026-10-25T01:30:00Z.", "paused since Sun 25 Oct 02:30 CET."),
        ("at 2026-10-25T01:30:07.123Z", "at Sun 25 Oct 02:30:07 CET"),
        ("the run ops/x@2026-10-25T00:30:00Z", "the run ops/x@2026-10-25T00:30:00Z"),
        ("2026-02-30T00:30:00Z is no day", "2026-02-30T00:30:00Z is no day"),
        ("x2026-10-25T00:30:00Z", "x2026-10-25T00:30:00Z"),
    ],
)
def test_an_instant_in_a_sentence_is_told_in_the_zone_of_its_job(text: str, told: str) -> None:
    assert Times(NOW).told(text, "Europe/Berlin") == told


@given(st.text(max_size=200))
def test_any_text_can_be_told(text: str) -> None:
    assert isinstance(Times(NOW).told(f"{text}2026-13-45T99:99:99Z{text}", "Europe/Berlin"), str)


def _attempt(at: datetime, outcome: Outcome | None = Outcome.SUCCEEDED) -> Attempt:
    state = AttemptState.ENDED if outcome else AttemptState.RUNNING
    return Attempt("ops/a", 1, Trigger.SCHEDULE, state, at, node="n", token=1, outcome=outcome)


@pytest.mark.req("OWN-12")
def test_a_mark_has_the_worst_of_its_time_and_tells_how_many_they_are() -> None:
    attempts = [_attempt(NOW - timedelta(minutes=n)) for n in range(1, 60)]
    attempts.append(_attempt(NOW - timedelta(minutes=30, seconds=1), Outcome.FAILED))
    attempts.append(_attempt(NOW - timedelta(minutes=31, seconds=1), Outcome.FAILED))
    attempts.append(attempts[-1]._replace(number=2, outcome=Outcome.SUCCEEDED))  # a retry
    lines = gather(attempts, (), None, WEEK)
    assert [(line.verdict, line.outcome) for line in lines] == [("ran", "failed")]
    assert lines[0].reason == "61 runs here, 1 of them did not succeed"


def test_what_was_skipped_and_what_is_planned_has_marks_too() -> None:
    skip = Skip("ops/a", NOW - timedelta(days=9), NOW - timedelta(days=1), "the job was paused")
    lines = gather((), (skip,), Every(timedelta(seconds=7)), WEEK)
    past, future = [x for x in lines if x.at <= NOW], [x for x in lines if x.at > NOW]
    assert {line.verdict for line in past} == {"skipped"}
    assert min(line.at for line in past) >= WEEK.since, "before, it was not there"
    assert len(future) == 80
    assert all("are planned here" in line.reason for line in future)


def test_a_job_that_does_not_run_has_no_plan() -> None:
    assert gather((), (), None, WEEK) == []


@pytest.mark.req("OWN-12")
@pytest.mark.parametrize("zoom", ["hour", "day", "week"])
def test_a_job_that_runs_each_few_seconds_has_a_timeline(tmp_path: Path, zoom: str) -> None:
    with staged(None, tmp_path) as stage:

        async def make(ops: Operations) -> None:
            often = replace(BACKUP, name="often", schedule=Every(timedelta(seconds=7)))
            await declare(ops, often, at=await ops.store.now() - timedelta(minutes=5))

        stage.act(make)
        stage.run_due()
        page = Visitor(stage).get(f"/jobs/ops~2Foften?zoom={zoom}")
        shapes = [found["class"] or "" for tag, found in page.tags if tag == "path" and "class" in found]
        assert any(shape.startswith("mark good") for shape in shapes), "it ran"
        assert any(shape.startswith("mark plan") for shape in shapes), "it will run"


@pytest.mark.parametrize(
    ("path", "typed"),
    [
        ("/journal?from=abc", "abc"),
        ("/journal?what=skips&to=abc", "abc"),
        ("/audit?from=abc", "abc"),
        ("/calendar?zone=Nonsense", "Nonsense"),
        ("/jobs/ops~2Fbackup?why=true&at=nonsense", "nonsense"),
        ("/lab?expr=1+2", "1 2"),
    ],
)
def test_a_filter_that_is_wrong_comes_back_with_what_was_typed(tmp_path: Path, path: str, typed: str) -> None:
    with staged(None, tmp_path) as stage:
        page = Visitor(stage).get(path, code=422)
        values = [found.get("value") for tag, found in page.tags if tag == "input"]
        assert typed in values
        assert any(found.get("aria-invalid") == "true" for tag, found in page.tags if tag == "input")
        assert "/journal" in page.links, "the way to other pages is there"


def test_an_error_leaves_the_way_to_all_other_pages(tmp_path: Path) -> None:
    with staged(None, tmp_path) as stage:
        ada = Visitor(stage)
        assert {"/jobs", "/journal"} <= set(ada.get("/jobs/ops~2Fnothing", code=404).links)
        assert {"/jobs", "/journal"} <= set(ada.get("/lab?n=abc", code=400).links)
        lost = ada.get("/zzz", code=404)
        assert "There is nothing here" in lost.text
        assert "/" in lost.links
        assert ada.client.get("/api/v1/zzz").headers["content-type"] == "application/problem+json"


def test_a_job_is_switched_off_by_its_form(tmp_path: Path) -> None:
    with staged(None, tmp_path) as stage:
        stage.post("/jobs", {"name": "m", "schedule": "0 7 * * *", "action": {"kind": "k"}}, code=201)
        ada = Visitor(stage)
        page = ada.get("/jobs/api~2Fm/edit")
        preview = ada.press(page, "Preview", enabled=[])
        assert "enabled" not in dict(preview.form("Confirm")["fields"])
        ada.press(preview, "Confirm")
        assert stage.get("/jobs/api~2Fm")["enabled"] is False


def test_a_rule_of_the_zone_is_counted_in_its_zone() -> None:
    lines = gather((), (), Cron("*/5 * * * *", timezone="Europe/Berlin"), WEEK)
    assert lines[0].zone == "Europe/Berlin"
    assert lines[0].wall.utcoffset() == timedelta(hours=2)
