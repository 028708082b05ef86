"""`after` in rollcron.yaml."""

from __future__ import annotations

import pytest

from doors.rollcron.files import jobs_of, problems_of
from foliot.model.chain import Link, On
from foliot.schedules import Cron, Never

FILE = """
jobs:
  load: {schedule: "0 3 * * *", timezone: UTC, run: ./load}
  report: {after: load, run: ./report}
  clean: {after: {job: load, on: end}, run: ./clean}
  mail: {after: {job: report, on: failure}, schedule: "0 9 * * MON", timezone: UTC, run: ./mail}
"""


@pytest.mark.req("OWN-21")
def test_both_sides_of_a_chain_know_it() -> None:
    load, report, clean, mail = jobs_of(FILE)
    assert load.policy.then == (Link("report"), Link("clean", On.END))
    assert load.policy.after is None
    assert (report.policy.after, report.policy.then) == (Link("load"), (Link("mail", On.FAILURE),))
    assert (report.schedule, clean.schedule) == (Never(), Never())
    assert mail.schedule == Cron("0 9 * * MON")


@pytest.mark.parametrize(
    ("old", "new", "line", "field", "message", "hint"),
    [
        ("after: load", "after: laod", 4, "after", "there is no job laod", "did you mean load?"),
        ("after: load", "after: x", 4, "after", "there is no job x", "it must be a job of this repository"),
        ("after: load", "after: report", 4, "after", "it runs after itself: report after report", None),
        ("after: load", "after: {on: end}", 4, "after.job", "is missing", "write which job it runs after"),
        ("on: end", "on: always", 5, "after.on", "always is not known", "one of: success, failure, end"),
        ("on: end", "when: end", 5, "after.when", "there is no such field", "did you mean on?"),
        ("after: load", "after: [load, x]", 4, "after", "must be a mapping of fields, not a list", None),
    ],
)
def test_what_is_wrong_with_a_chain(  # noqa: PLR0917 - one case
    old: str, new: str, line: int, field: str, message: str, hint: str | None
) -> None:
    (found,) = problems_of(FILE.replace(old, new, 1))
    assert (found.line, found.field) == (line, field)
    assert message in found.message
    assert hint is None or hint in (found.hint or "")


def test_a_chain_that_leads_back_is_refused_at_each_of_its_jobs() -> None:
    found = problems_of(FILE.replace('schedule: "0 3 * * *", timezone: UTC', "after: mail"))
    assert [problem.message for problem in found] == [
        "it runs after itself: load after mail after report after load",
        "it runs after itself: report after load after mail after report",
        "it runs after itself: mail after report after load after mail",
    ]


def test_defaults_have_no_chain() -> None:
    (found,) = problems_of("defaults: {after: load}\njobs: {}")
    assert (found.field, found.hint) == ("defaults.after", "each job has its own")
