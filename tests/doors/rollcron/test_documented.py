"""The page of rollcron.yaml says what the code does."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from doors.rollcron.files import job_of, jobs_of, problems_of
from foliot.doors.rollcron.config import LONGEST_ID
from foliot.doors.rollcron.fields import (
    EXIT_CODE_FIELDS,
    FIELDS,
    KEEP_FIELDS,
    LONGEST_STDIN,
    MISFIRE_FIELDS,
    RETRY_FIELDS,
    SCHEDULE_FIELDS,
)
from foliot.doors.rollcron.report import MOST_PROBLEMS
from foliot.doors.rollcron.value import LONGEST_ARGUMENT
from foliot.doors.rollcron.yaml_tree import DEEPEST, LARGEST_FILE, MOST_NODES
from foliot.model.job import LONGEST_NAME
from foliot.model.policy import MisfireMode, OverlapMode, Retry
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
    nested = {"schedule": SCHEDULE_FIELDS, "retry": RETRY_FIELDS, "misfire": MISFIRE_FIELDS}
    nested |= {"keep": KEEP_FIELDS, "exit_codes": EXIT_CODE_FIELDS}
    inner = [f"{field}.{name}" for field, names in nested.items() for name in names]

    assert sorted(ROWS) == sorted([*FIELDS, *inner])


def test_the_required_fields_are_those_without_which_a_file_is_wrong() -> None:
    required = {field for field, (_, default, _) in ROWS.items() if default == "required"}
    texts = ["jobs: {a: {}}", "jobs: {a: {schedule: {}, retry: {}, misfire: {}, run: x}}"]
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
        ("enabled", "true"),
        ("keep.last", ROLLCRON.keep.last),
        ("keep.days", ROLLCRON.keep.days),
    ],
)
def test_defaults_are_as_documented(field: str, default: object) -> None:
    assert ROWS[field][1] == f"`{default}`"


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
    good, defaults, bad = BLOCKS

    assert good == (DOCS / "assets/rollcron.yaml").read_text()
    assert bad == (DOCS / "assets/rollcron-broken.yaml").read_text()
    assert len(jobs_of(good)) == 3
    assert [job.policy.timeout for job in jobs_of(defaults)] == [timedelta(minutes=10), None]
    assert len(problems_of(bad)) == 9


def test_what_the_page_calls_a_text_is_one() -> None:
    (row,) = re.findall(r"^\| (.+) \| a text \|$", PAGE, re.MULTILINE)
    for word in re.findall(r"`([^`]+)`", row):
        assert job_of(f"name: {word}").action.data["name"] == word
