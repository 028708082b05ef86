"""Ways to write a rollcron.yaml, and to read it or its errors."""

from __future__ import annotations

from typing import Any

from foliot.doors.rollcron import read_config
from foliot.errors import ConfigInvalidError, ConfigProblem
from foliot.model.job import Job

SEED = """\
jobs:
  build:
    name: "Build Project"
    schedule:
      cron: "0 * * * *"
    run: cargo build --release
    timeout: 5m
    concurrency: wait

  health-check:
    schedule:
      cron: "*/5 * * * *"
    run: curl -f http://localhost/health
    concurrency: skip
"""
FIRST_LINE = 5  # of what `with_field` adds


def with_field(lines: str) -> str:
    """A file with one job, which is right but for these lines."""
    added = "".join(f"    {line}\n" for line in lines.split("\n"))
    return f'jobs:\n  build:\n    schedule: "0 2 * * *"\n    run: make\n{added}'


def jobs_of(data: bytes | str, **options: Any) -> tuple[Job, ...]:
    return read_config(data, source="repo", **options)


def job_of(lines: str) -> Job:
    (job,) = jobs_of(with_field(lines))
    return job


def problems_of(data: bytes | str) -> list[ConfigProblem]:
    try:
        jobs_of(data)
    except ConfigInvalidError as error:
        return list(error.problems)
    return []


def only_problem(data: bytes | str) -> ConfigProblem:
    (problem,) = problems_of(data)
    return problem
