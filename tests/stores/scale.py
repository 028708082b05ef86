"""Very many jobs and attempts, and all that people ask about them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from foliot.model.attempt import Outcome, Trigger
from foliot.model.query import (
    MOST_LOOKED_AT,
    AuditQuery,
    JobOrder,
    JobQuery,
    JobState,
    PipelineQuery,
    RunQuery,
    SkipQuery,
)
from foliot.stores.sql import (
    audit,
    group_rows,
    job_queries,
    outages,
    outputs,
    pipelines,
    queries,
    run_queries,
    source_rows,
    versions,
)
from foliot.stores.sql.codes import whole
from foliot.stores.sql.queries import WakeQuery

# ruff: noqa: S608 - made of constants only

JOBS, RUNS = 1_000_000, 5  # runs of each
NOW = datetime(2031, 5, 6, 7, 8, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
_MINUTE = MINUTE // timedelta(microseconds=1)
KEY = "code/job-500000"
AT = NOW - 3 * MINUTE

# All jobs are like the first. Each has run each minute; one in a thousand has failed, or is paused.
COPY_JOBS = """
    INSERT INTO jobs (job_no, key, frame, data, policy_no)
    SELECT n.n, 'code/job-' || CAST(n.n AS text), j.frame, j.data, j.policy_no
    FROM {numbers} CROSS JOIN jobs AS j
    WHERE j.job_no = 1 AND n.n > 1
"""
COPY_STATES = """
    INSERT INTO states ({columns}) SELECT {values} FROM {numbers} CROSS JOIN states AS s
    WHERE s.job_no = 1 AND n.n > 1
"""
FILL = f"""
    INSERT INTO attempts (
        scheduled_for, job_no, request, number, ordinal, previous_at, trigger, state, token, claimed_at,
        started_at, finished_at, outcome, reason, retries, losses, seq
    )
    SELECT {whole(NOW)} - r.r * {_MINUTE}, s.job_no, '', 1, 0,
        CASE WHEN r.r < {RUNS} THEN {whole(NOW)} - (r.r + 1) * {_MINUTE} END, 0, 3, 1, 1, 1, {whole(NOW)},
        CASE WHEN s.job_no % 1000 = 7 THEN 2 ELSE 1 END, '', 0, 0, {RUNS} - r.r + 1
    FROM {{runs}} CROSS JOIN states AS s
"""
SKIPS = f"""
    INSERT INTO skips SELECT job_no, {whole(NOW)} - job_no, {whole(NOW)} - job_no, '' FROM states
"""
_TENTH = "FROM jobs AS j WHERE j.job_no % 10 = 0"
AUDIT = f"""
    INSERT INTO audit (id, at, actor, object, text)
    SELECT 'e' || CAST(j.job_no AS text), {whole(NOW)} - j.job_no,
        CASE WHEN j.job_no % 1000 = 0 THEN 'cli:rare' ELSE 'cli:usual' END, 'job:' || j.key, '{{}}' {_TENTH}
"""
PIPELINES = f"""
    INSERT INTO pipelines (id, namespace, layer, name, is_removed, updated_at, text)
    SELECT CAST(j.job_no AS text), 'sales', 'layer-' || CAST(j.job_no % 100 AS text), j.key,
        CASE WHEN j.job_no % 20 = 0 THEN 1 ELSE 0 END, {whole(NOW)}, '{{}}' {_TENTH}
"""
CHANGE = (
    AUDIT,
    PIPELINES,
    "INSERT INTO pipeline_names SELECT namespace, layer, name, id FROM pipelines WHERE is_removed = 0",
    f"UPDATE states SET newest_at = {whole(NOW)} - {_MINUTE}, opened = {RUNS}",
    "UPDATE states SET failures_in_row = 5 WHERE job_no % 1000 = 7",
    f"UPDATE states SET paused_at = {whole(NOW)} WHERE job_no % 1000 = 8",
    f"UPDATE states SET wake_at = {whole(NOW)} + job_no",
)


class Question(NamedTuple):
    """A question, and how many rows it may read at most: a bounded look, or a page."""

    ask: Callable[[Any], object]
    most: int


_PAGE, _LOOK = 3000, 6 * MOST_LOOKED_AT


def _jobs(most: int = _PAGE, **asked: Any) -> Question:
    return Question(lambda session: job_queries.jobs(session, JobQuery(**asked)), most)


def _runs(most: int = _PAGE, **asked: Any) -> Question:
    return Question(lambda session: run_queries.runs(session, RunQuery(**asked)), most)


def _all_pages_of_a_job(session: Any) -> None:
    query = RunQuery(job=KEY, limit=1)
    while (page := run_queries.runs(session, query)).next:
        query = query._replace(after=page.next)


def _audit(**asked: Any) -> Question:
    return Question(lambda session: audit.audit(session, AuditQuery(**asked)), _PAGE)


def _pipelines(most: int = _PAGE, **asked: Any) -> Question:
    return Question(lambda session: pipelines.pipelines(session, PipelineQuery(**asked)), most)


def _pages_of_the_audit(session: Any) -> None:
    query = AuditQuery(actor="cli:rare", limit=100)
    while (page := audit.audit(session, query)).next:
        query = query._replace(after=page.next)


QUESTIONS = {
    "jobs": _jobs(),
    "jobs far behind": _jobs(after=KEY),
    "a job": _jobs(keys=frozenset((KEY,))),
    "a job by its name": _jobs(name=KEY.partition("/")[2]),
    "a job that is not there": _jobs(name="nothing"),
    "paused jobs": _jobs(_LOOK, state=JobState.PAUSED),
    "failing jobs": _jobs(_LOOK, state=JobState.FAILING),
    "damaged jobs": _jobs(state=JobState.DAMAGED),
    "open jobs": _jobs(state=JobState.OPEN),
    "jobs by a part of their names": _jobs(_LOOK, search="999999"),
    "jobs of a queue": _jobs(_LOOK, queue="other"),
    "the soonest jobs": _jobs(order=JobOrder.SOONEST),
    "the soonest that fail": _jobs(_LOOK, order=JobOrder.SOONEST, state=JobState.FAILING),
    "runs": _runs(),
    "runs of a time": _runs(since=AT, until=AT + MINUTE),
    "runs before a time": _runs(until=AT),
    "a run": _runs(run_key=f"{KEY}@2031-05-06T07:05:00Z"),
    "a run by a request": _runs(run_key=f"{KEY}!nothing"),
    "runs of a job": _runs(job=KEY),
    "failed runs": _runs(outcome=Outcome.FAILED),
    "lost runs": _runs(outcome=Outcome.LOST),
    "failed runs of a job": _runs(job=KEY, outcome=Outcome.FAILED),
    "open runs": _runs(is_open=True),
    "runs of a source": _runs(_LOOK, source="code"),
    "runs of a source without any": _runs(_LOOK, source="other"),
    "runs of a node": _runs(_LOOK, node="nobody"),
    "runs by hand": _runs(_LOOK, trigger=Trigger.MANUAL),
    "failed runs by hand": _runs(_LOOK, trigger=Trigger.MANUAL, outcome=Outcome.FAILED),
    "all pages of the runs of a job": Question(_all_pages_of_a_job, _PAGE),
    "skips": Question(lambda session: run_queries.skips(session, SkipQuery()), _PAGE),
    "skips of a time": Question(
        lambda session: run_queries.skips(session, SkipQuery(since=NOW - MINUTE, until=NOW)), _PAGE
    ),
    "skips of a job": Question(lambda session: run_queries.skips(session, SkipQuery(KEY)), _PAGE),
    "an output": Question(lambda session: outputs.output(session, f"{KEY}!nothing", 1), _PAGE),
    "the next wake": Question(
        lambda session: queries.wakes(session, WakeQuery({"default"}, None, None, None)), _PAGE
    ),
    "the next wake after now": Question(
        lambda session: queries.wakes(session, WakeQuery({"default"}, None, None, NOW)), _PAGE
    ),
    "what runs of a group": Question(lambda session: group_rows.running(session, "db"), _PAGE),
    "outages": Question(outages.outages, _PAGE),
    "the store at a glance": Question(lambda session: queries.overview(session, 0), _PAGE),
    "a revision": Question(lambda session: source_rows.revision(session, "code"), _PAGE),
    "sources": Question(lambda session: source_rows.sources(session, {}), _PAGE),
    "revisions of a source": Question(lambda session: versions.revisions(session, "code", 100), _PAGE),
    "versions of a job": Question(lambda session: versions.versions(session, KEY), _PAGE),
    "audit": _audit(),
    "audit of an actor": _audit(actor="cli:rare"),
    "audit of an object": _audit(object=f"job:{KEY}"),
    "audit of a time": _audit(until=NOW - timedelta(milliseconds=500)),
    "audit far behind": _audit(after=f"{whole(NOW) - 900_000} e900000"),
    "all pages of the audit of an actor": Question(_pages_of_the_audit, _PAGE),
    "pipelines": _pipelines(),
    "pipelines and those removed": _pipelines(with_removed=True),
    "pipelines of a layer": _pipelines(namespace="sales", layer="layer-90"),
    "pipelines far behind": _pipelines(after='["sales", "layer-90", "", ""]'),
    "pipelines by a part of their names": _pipelines(_LOOK, search="nothing"),
    "pipelines of a layer without any": _pipelines(_LOOK, layer="nothing"),
}
