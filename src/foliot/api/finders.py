"""What stands in braces in paths: jobs, runs, sources, numbers. What may not be seen is not there."""

from __future__ import annotations

from typing import Any

from foliot.api.call import Call
from foliot.api.ids import key_of
from foliot.api.problem import ProblemError
from foliot.api.route import Finder
from foliot.api.show import definition_of
from foliot.errors import JobNotFoundError, RunNotFoundError, SourceNotFoundError
from foliot.model.attempt import Attempt
from foliot.model.job import is_name
from foliot.model.query import names_of
from foliot.model.view import SourceView
from foliot.protocols import JobQuery, JobView

_ID = "an id is the key, with ~2F for a slash; every answer has it as `id`"
_LONGEST_NUMBER = 9
_LONGEST_KEY = 700  # of a run: its source, its name, its request, and the marks between them
_MOST_GUESSED = 4  # jobs that are forgotten, and may have left runs


def _key(id_: str) -> str:
    """The key of an id; empty if there can be no such key. No database need be asked about odd characters."""
    key = key_of(id_)
    return key if key is not None and key.isprintable() and len(key) <= _LONGEST_KEY else ""


async def find_job(call: Call, text: str) -> JobView:
    """A job, removed or not."""
    key = _key(text)
    views = await call.ops.store.jobs(JobQuery(keys=frozenset((key,)), with_removed=True)) if key else ()
    if not views or not call.sees(key.partition("/")[0]):
        raise JobNotFoundError(key or text, hint=_ID)
    return views[0]


def living(job: JobView) -> JobView:
    """A job that is there still: nothing can be asked of one that was removed, nor of another of its name."""
    if job.record is not None and job.record.state.removed_at is not None:
        raise JobNotFoundError(job.key, hint=_ID)
    return job


async def find_run(call: Call, text: str) -> list[Attempt]:
    """The attempts of a run, oldest first."""
    key = _key(text)
    jobs = [name.job for name in names_of(key) if call.sees(name.job.partition("/")[0])]
    if len(jobs) > 1:  # names have marks, too: those that are jobs are found at once
        views = await call.ops.store.jobs(JobQuery(keys=frozenset(jobs), with_removed=True, limit=len(jobs)))
        known = {view.key for view in views}
        jobs = [job for job in jobs if job in known] or jobs[:_MOST_GUESSED]
    for job in jobs:
        if attempts := await call.ops.attempts_of(job, key):
            return attempts
    raise RunNotFoundError(key or text, hint=_ID)


async def find_source(call: Call, text: str) -> SourceView:
    """A source that the store knows."""
    name = key_of(text)
    if name is not None and is_name(name) and call.sees(name):
        for view in await call.ops.store.sources():
            if view.source == name:
                return view
    raise SourceNotFoundError(name or text, hint="GET /api/v1/sources tells all")


async def find_number(_: Call, text: str) -> int:
    """A number from 1 on."""
    if not text.isascii() or not text.isdecimal() or len(text) > _LONGEST_NUMBER or not int(text):
        raise ProblemError(404, "NOT_FOUND", "there is nothing of that number", hint="numbers begin with 1")
    return int(text)


def find_attempt(attempts: list[Attempt], number: int) -> Attempt:
    """One attempt of a run."""
    for attempt in attempts:
        if attempt.number == number:
            return attempt
    known = ", ".join(str(attempt.number) for attempt in attempts[:20])
    raise RunNotFoundError(attempts[-1].run_key, attempt=number, hint=f"its attempts are {known}")


def _definition(view: JobView) -> Any:
    return None if view.record is None else definition_of(view.record.job)


FINDERS = {
    "job": Finder(
        find_job, lambda view: f"job:{view.key}", "The id of a job, such as `ops~2Fbackup`.", _definition
    ),
    "run": Finder(find_run, lambda attempts: f"run:{attempts[0].run_key}", "The id of a run."),
    "source": Finder(find_source, lambda view: f"source:{view.source}", "The id of a source: its name."),
    "number": Finder(find_number, lambda number: f"number:{number}", "A number, from 1 on."),
}
