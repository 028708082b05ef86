"""What a simulation tells: lateness, backlog, overlaps, the busiest minutes, and a drawing."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from cli.calls import call
from engine.change_stage import jobs_of
from foliot.engine.project import Durations
from foliot.simulate import MOST_RUNS, TooManyRunsError, measure, simulate
from foliot.simulate.chart import sparkline, svg_of

pytestmark = pytest.mark.req("OWN-18")
START = datetime(2026, 11, 16, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
FILE = """
defaults: {timezone: UTC, timeout: 1h}
jobs:
  a: {schedule: "*/10 * * * *", run: ./a}
  b: {schedule: "*/10 * * * *", run: ./b}
  c: {schedule: "0 * * * *", run: ./c}
"""


def test_with_too_few_slots_runs_are_late() -> None:
    jobs = jobs_of('a: {schedule: "0 * * * *", run: x}\nb: {schedule: "0 * * * *", run: y}')
    took = Durations({job.key: [MINUTE / 2] for job in jobs})
    report = measure(jobs, simulate(jobs, START, timedelta(hours=23.5), took, slots={"default": 1}))
    assert report.total.runs == 46
    assert MINUTE / 2 <= report.total.latest < MINUTE / 2 + timedelta(milliseconds=50)
    assert report.total.overlaps == 0
    assert report.total.late == 23
    assert (report.backlog.most, report.running.most) == (1, 1)
    roomy = measure(jobs, simulate(jobs, START, timedelta(hours=23.5), took, slots={"default": 2}))
    assert (roomy.total.late, roomy.backlog.most, roomy.running.most) == (0, 0, 2)


def test_overlaps_are_counted() -> None:
    jobs = jobs_of('a: {schedule: "*/10 * * * *", run: x}')
    took = Durations({"ops/a": [15 * MINUTE]})
    report = measure(jobs, simulate(jobs, START, timedelta(hours=10), took, slots={"default": 9}))
    assert report.jobs[0].runs == 30
    assert report.jobs[0].overlaps == 29
    assert report.jobs[0].skipped == 29


def test_what_never_started_is_part_of_the_backlog() -> None:
    line = '{schedule: "0 12 * * *", run: x, timeout: 9h, misfire: once}'
    jobs = jobs_of(f"a: {line}\nb: {line}")
    took = Durations({job.key: [timedelta(hours=8)] for job in jobs})
    found = simulate(jobs, START, timedelta(hours=12, minutes=30), took, slots={"default": 1})
    assert measure(jobs, found).backlog.most == 1


def test_the_same_seed_gives_the_same() -> None:
    jobs = jobs_of('a: {schedule: "*/10 * * * *", run: x}')
    known = {"ops/a": [MINUTE, 15 * MINUTE]}
    runs = [
        simulate(jobs, START, timedelta(days=1), Durations(known, seed=seed), slots={"default": 9}).runs
        for seed in (1, 1, 2)
    ]
    assert runs[0] == runs[1] != runs[2]


def test_too_many_runs_are_refused_before_they_begin() -> None:
    jobs = jobs_of('a: {schedule: "@every 1s", run: x}')
    with pytest.raises(TooManyRunsError) as refusal:
        simulate(jobs, START, timedelta(days=30), Durations({}), slots={"default": 1})
    assert refusal.value.details["most"] == MOST_RUNS


def test_a_drawing() -> None:
    jobs = jobs_of('a: {schedule: "0 * * * *", run: x}')
    report = measure(jobs, simulate(jobs, START, timedelta(days=2), Durations({}), slots={"default": 1}))
    root = ET.fromstring(svg_of(report, "a <title> & more", "UTC"))  # noqa: S314 - our own drawing
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.findtext("{http://www.w3.org/2000/svg}title") == "a <title> & more"
    assert len(root.findall("{http://www.w3.org/2000/svg}rect")) == 1 + sum(
        b.starts > 0 for b in report.buckets
    )
    assert sparkline([0, 1, 2, 7]) == "▁▂▃█"
    assert sparkline([0, 0]) == "▁▁"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "rollcron.yaml"
    place.write_text(FILE)
    return place


def test_the_command_tells_all_of_it(file: Path, tmp_path: Path) -> None:
    (tmp_path / "took.json").write_text('{"a": "12m", "b": ["1m", "90s"], "*": "5s"}')
    words = ["simulate", str(file), "--days", "1", "--slots", "2", "--durations", str(tmp_path / "took.json")]
    words += ["--from", "2026-11-16T00:00:00Z"]
    result = call(*words, "--chart", str(tmp_path / "day.svg"))
    assert result.code == 0
    lines = result.out.splitlines()
    assert lines[0] == "Simulated rollcron.yaml: 1 day, 2 slots from Mon 2026-11-16 00:00 UTC"
    assert lines[2].split() == ["JOB", "RUNS", "LATE", "P95", "LATEST", "OVERLAPS", "SKIPPED", "TIMED", "OUT"]
    assert lines[3].split()[:2] == ["a", "72"]
    assert ET.parse(tmp_path / "day.svg").getroot().tag.endswith("svg")  # noqa: S314 - our own drawing
    facts = call(*words, "-ojson").json()
    assert facts["durations_unknown"] == []
    assert facts["total"]["runs"] == sum(job["runs"] for job in facts["jobs"])
    assert len(facts["buckets"]) == 60


def test_what_is_not_known_is_told(file: Path) -> None:
    result = call("simulate", str(file), "--days", "1", "--job", "c")
    assert "warning: no duration is known of c: their runs take no time here" in result.out


@pytest.mark.parametrize("text", ["", "[]", '{"a": []}', '{"a": "soon"}', '{"a": 5}', "[" * 100_000])
def test_durations_that_cannot_be_read(file: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "took.json").write_text(text)
    result = call("simulate", str(file), "--durations", str(tmp_path / "took.json"))
    assert result.code == 1
    assert "cannot be read" in result.err


@pytest.mark.parametrize(
    ("words", "code"),
    [(("--job", "nobody"), 4), (("--days", "0"), 2), (("--group", "x"), 2), (("--local", "Moon"), 3)],
)
def test_what_cannot_be_simulated(file: Path, words: tuple[str, ...], code: int) -> None:
    assert call("simulate", str(file), *words).code == code


def test_a_file_with_errors(tmp_path: Path) -> None:
    (tmp_path / "rollcron.yaml").write_text("jobs: {a: {}}")
    result = call("simulate", str(tmp_path), "-ojson")
    assert (result.code, json.loads(result.out)["error"]["type"]) == (3, "ConfigInvalidError")
    assert call("simulate", str(tmp_path / "nowhere")).code == 4
