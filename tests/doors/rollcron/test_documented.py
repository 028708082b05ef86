"""The page of rollcron.yaml says what the code does."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from doors.rollcron.files import job_of, jobs_of, problems_of
from foliot.alerts.ping import STYLES
from foliot.doors.rollcron.alert_fields import EXPECT_FIELDS, NOTIFY_FIELDS, PING_FIELDS
from foliot.doors.rollcron.chain_fields import AFTER_FIELDS
from foliot.doors.rollcron.config import read_file
from foliot.doors.rollcron.fields import (
    EXIT_CODE_FIELDS,
    FIELDS,
    KEEP_FIELDS,
    LONGEST_STDIN,
    MISFIRE_FIELDS,
    RETRY_FIELDS,
    SCHEDULE_FIELDS,
)
from foliot.doors.rollcron.job_reader import LONGEST_ID
from foliot.doors.rollcron.report import MOST_PROBLEMS
from foliot.doors.rollcron.value import LONGEST_ARGUMENT
from foliot.doors.rollcron.yaml_tree import DEEPEST, LARGEST_FILE, MOST_NODES
from foliot.model.job import LONGEST_NAME
from foliot.model.policy import TOLD_KINDS, MisfireMode, Notify, OverlapMode, Retry
from foliot.model.presets import ROLLCRON
from foliot.schedules.duration import format_duration

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "reference/rollcron-yaml.md").read_text()
ROWS = {
    row[0].strip("`"): row[1:]
    for row in re.findall(r"^\| (`[\w.]+`) \| (.+?) \| (.+?) \| (.+) \|$", PAGE, re.MULTILINE)
}
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)


def test_the_table_has_every_field_and_no_other() -> None:
    nested = {
        "after": AFTER_FIELDS,
        "schedule": SCHEDULE_FIELDS,
        "retry": RETRY_FIELDS,
        "misfire": MISFIRE_FIELDS,
    }
    nested |= {"keep": KEEP_FIELDS, "exit_codes": EXIT_CODE_FIELDS}
    nested |= {"notify": NOTIFY_FIELDS, "expect": EXPECT_FIELDS, "ping": PING_FIELDS}
    inner = [f"{field}.{name}" for field, names in nested.items() for name in names]

    assert sorted(ROWS) == sorted([*FIELDS, *inner])


def test_the_required_fields_are_those_without_which_a_file_is_wrong() -> None:
    required = {field for field, (_, default, _) in ROWS.items() if default.startswith("required")}
    texts = [
        "jobs: {a: {}}",
        "jobs: {a: {schedule: {}, retry: {}, misfire: {}, notify: {}, ping: {}, after: {}, run: x}}",
    ]
    missing = {p.field for text in texts for p in problems_of(text) if p.message == "is missing"}

    assert required == missing | {"schedule"}


@pytest.mark.parametrize(
    ("field", "default"),
    [
        ("timeout", format_duration(ROLLCRON.timeout or Retry().delay)),
        ("concurrency", ROLLCRON.overlap.mode),
        ("misfire", ROLLCRON.misfire.mode),
        ("misfire.limit", ROLLCRON.misfire.limit),
        ("misfire.grace", format_duration(ROLLCRON.misfire.grace)),
        ("retry.delay", format_duration(Retry().delay)),
        ("retry.backoff", f"{Retry().backoff:g}"),
        ("retry.jitter", f"{Retry().jitter:g}"),
        ("notify.after", Notify(()).after),
        ("notify.remind", format_duration(Notify(()).remind or Retry().delay)),
        ("ping.style", STYLES[0]),
        ("enabled", "true"),
        ("keep.last", ROLLCRON.keep.last),
        ("keep.days", ROLLCRON.keep.days),
    ],
)
def test_defaults_are_as_documented(field: str, default: object) -> None:
    assert ROWS[field][1] == f"`{default}`"


def test_every_kind_of_alert_is_documented() -> None:
    assert set(re.findall(r"`(\w+)`", ROWS["notify.on"][2])) == {str(kind) for kind in TOLD_KINDS}


@pytest.mark.parametrize(("field", "words"), [("concurrency", OverlapMode), ("misfire.mode", MisfireMode)])
def test_every_word_is_documented(field: str, words: type[OverlapMode | MisfireMode]) -> None:
    assert set(re.findall(r"`(\w+)`", ROWS[field][0])) == {str(word) for word in words}


@pytest.mark.parametrize(
    "limit",
    [
        LARGEST_FILE,
        DEEPEST,
        MOST_NODES,
        MOST_PROBLEMS,
        LONGEST_ARGUMENT,
        LONGEST_ID,
        LONGEST_NAME,
        LONGEST_STDIN,
    ],
)
def test_limits_are_as_documented(limit: int) -> None:
    assert f" {limit:,} " in PAGE


def test_the_examples_are_those_that_are_checked() -> None:
    good, defaults, calendars, include, chains, groups, alerts, bad = BLOCKS

    assert good == (DOCS / "assets/rollcron.yaml").read_text()
    assert bad == (DOCS / "assets/rollcron-broken.yaml").read_text()
    assert len(jobs_of(good)) == 3
    assert [job.policy.timeout for job in jobs_of(defaults)] == [timedelta(minutes=10), None]
    ics = {"calendars/shop.ics": b"BEGIN:VEVENT\nDTSTART:20261224\nEND:VEVENT\n"}
    assert len(jobs_of(calendars, files=lambda _: ics)) == 2
    assert jobs_of(include, files=lambda _: {"jobs/a.yaml": b"jobs: {}"})[0].name == "health"
    assert [job.group for job in jobs_of(groups)] == ["repo.db", "repo.db"]
    assert [job.name for job in jobs_of(chains) if job.policy.after] == ["report", "alarm"]
    assert len(read_file(alerts, source="s").channels) == 3
    assert len(problems_of(bad)) == 9


def test_the_files_of_the_how_to_are_good() -> None:
    page = (DOCS / "how-to/told-when-it-fails.md").read_text()
    files = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert len(files) == 4
    for text in files:
        for job in read_file(text, source="s").jobs:
            assert all(name.startswith("s.") for name in (job.policy.notify.to if job.policy.notify else ()))


def test_what_the_page_calls_a_text_is_one() -> None:
    (row,) = re.findall(r"^\| (.+) \| a text \|$", PAGE, re.MULTILINE)
    for word in re.findall(r"`([^`]+)`", row):
        assert job_of(f"name: {word}").action.data["name"] == word
