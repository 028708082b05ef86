"""What is wrong under `defaults` is told once, where it stands."""

from __future__ import annotations

import pytest

from doors.rollcron.files import only_problem

DEFAULTS = (
    "defaults:\n  {}\njobs:\n  a: {{schedule: '@daily', run: x}}\n  b: {{schedule: '@daily', run: x}}\n"
)


@pytest.mark.parametrize(
    ("lines", "field", "column", "message", "hint"),
    [
        ("timeout: soon", "defaults.timeout", 12, '"soon" is no duration', "write whole numbers"),
        ("run: x", "defaults.run", 3, "there is no such field", "each job has its own"),
        ("schedule: '@daily'", "defaults.schedule", 3, "there is no such field", "timezone: Europe/Berlin"),
        ("tz: UTC", "defaults.tz", 3, "there is no such field", "did you mean timezone?"),
        ("env: {1A: b}", "defaults.env.1A", 9, "is no name of a variable", "no digit in front"),
        ("- timeout", "defaults", 3, "must be a mapping of fields, not a list", "write fields under it"),
    ],
)
def test_a_wrong_default_is_told_once_and_where_it_stands(
    lines: str, field: str, column: int, message: str, hint: str
) -> None:
    problem = only_problem(DEFAULTS.format(lines))

    assert (problem.job, problem.field, problem.line, problem.column) == (None, field, 2, column)
    assert message in problem.message
    assert hint in (problem.hint or "")


def test_a_field_of_a_job_at_the_top_is_shown_its_place() -> None:
    problem = only_problem("timezone: UTC\njobs: {}\n")
    assert problem.hint == "write defaults: and the field under it, for all jobs; or give it to a job"
