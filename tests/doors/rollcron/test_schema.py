"""The JSON Schema and the reader judge alike, but for what a schema cannot say."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from doors.rollcron.files import SEED, problems_of, with_field
from doors.rollcron.test_alert_fields import ALERTS, GOOD_CHANNELS, WRONG_CHANNELS, with_channel
from doors.rollcron.test_config import DEFAULTS
from doors.rollcron.test_laws import documents, good_files, written
from doors.rollcron.test_refusals import WRONG_VALUES
from doors.rollcron.validator import is_valid
from foliot.doors.rollcron.fields import FIELDS
from foliot.doors.rollcron.report import Report
from foliot.doors.rollcron.schema import schema
from foliot.doors.rollcron.yaml_tree import Mapping, Node, Scalar, Sequence, read_tree

SCHEMA = schema()
_JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,8})(\.[0-9]{1,9})?")
# What a schema cannot know, by the words of the reader.
UNSAID = re.compile(
    "cron expression|Failed to calculate|timezone|IANA|time zone is given twice|does not stay inside"
    "|must lie between 1s|secret|address of the web|holds no|names no|is no absolute path|mail address|dollar"
    "|names \\$|user name"
    "|is no umask|no job |after itself|no calendar|not known to the package|is no date|no file|rule of days"
    "|leave no occurrence"
    "|capital letters|too long|hundred years|stands here|bytes|printable|half a character|without quotes"
)


class LostError(Exception):
    """A value that JSON cannot have as it is written, such as `010`."""


def as_json(node: Node) -> Any:
    """What an editor sees of a file: YAML 1.2's core schema."""
    match node:
        case Mapping():
            return {name: as_json(value) for name, (_, value) in node.entries.items()}
        case Sequence():
            return [as_json(item) for item in node.items]
        case Scalar(kind="number"):
            if not _JSON_NUMBER.fullmatch(node.text):
                raise LostError
            return json.loads(node.text)
        case Scalar(kind="boolean"):
            return node.text.lower() == "true"
        case Scalar(kind="nothing"):
            return None
        case Scalar():
            return node.text
        case _:
            raise LostError


def judged_by_schema(text: str) -> bool:
    tree = read_tree(text, Report("x"))
    assert tree is not None
    return is_valid(as_json(tree), SCHEMA)


def check_alike(text: str) -> None:
    problems = problems_of(text)
    try:
        is_good = judged_by_schema(text)
    except LostError:
        return
    if not problems:
        assert is_good
    elif not any(UNSAID.search(f"{problem.message} {problem.hint}") for problem in problems):
        assert not is_good


@pytest.mark.parametrize("text", [SEED, DEFAULTS, ALERTS, "jobs: {}"])
def test_good_files_are_valid(text: str) -> None:
    assert judged_by_schema(text)


@pytest.mark.parametrize("entry", [*GOOD_CHANNELS, *(entry for entry, *_ in WRONG_CHANNELS)])
def test_channels_are_judged_alike(entry: str) -> None:
    check_alike(with_channel(entry))


@pytest.mark.parametrize("lines", [lines for lines, *_ in WRONG_VALUES])
def test_wrong_values_are_judged_alike(lines: str) -> None:
    check_alike(with_field(lines))
    check_alike(f"defaults:\n  {lines}\njobs: {{}}\n")


def test_most_wrong_values_are_found_by_the_schema() -> None:
    found = 0
    for lines, *_ in WRONG_VALUES:
        try:
            found += not judged_by_schema(with_field(lines))
        except LostError:
            found += 1
    assert found > 0.85 * len(WRONG_VALUES)


@given(good_files)
def test_good_jobs_are_valid(jobs: dict[str, Any]) -> None:
    assert judged_by_schema(written(jobs))


@given(documents)
def test_anything_is_judged_alike(document: Any) -> None:
    text = yaml.safe_dump(document, allow_unicode=False)
    try:
        tree = read_tree(text, Report("x"))
    except Exception:  # noqa: BLE001 - no YAML of ours: the reader says so
        return
    if tree is not None:
        check_alike(text)


@given(
    st.sampled_from(sorted(FIELDS)), st.sampled_from(["none", "5m", "[0]", "x", "{a: b}", "true", "3", "[x]"])
)
def test_every_field_is_judged_alike(name: str, value: str) -> None:
    others = {"schedule": '"@daily"', "run": "x"} | {name: value}
    fields = "".join(f"    {field}: {given}\n" for field, given in others.items())
    check_alike(f"jobs:\n  a:\n{fields}")
