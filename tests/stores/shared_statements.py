"""The statements that two databases share, and by which indexes each is to find its rows."""

from __future__ import annotations

from typing import NamedTuple

from foliot.model.attempt import Outcome
from foliot.model.job import EARLIEST
from foliot.model.query import AuditQuery, JobState, RunQuery
from foliot.stores.sql import (
    access,
    audit,
    batch,
    cut,
    declare,
    entry,
    group_rows,
    history_links,
    history_queries,
    interned,
    job_queries,
    look,
    node_rows,
    outbox,
    outcome_queries,
    pipelines,
    prune,
    queries,
    run_queries,
    runs,
)

_JOBS, _STATES = "jobs USING INTEGER PRIMARY KEY", "states USING INTEGER PRIMARY KEY"
_KEY = "sqlite_autoindex_jobs_1"
_KEY_TO = f"{_KEY} (key>? AND key<?)"
VALUES = {
    **dict.fromkeys(
        (
            "job",
            "most",
            "first",
            "now",
            "since",
            "node",
            "number",
            "at",
            "head",
            "newest",
            "of",
            "lane",
            "until",
            "looked",
            "least",
        ),
        9,
    ),
    **dict.fromkeys(
        (
            "id",
            "request",
            "name",
            "after",
            "last",
            "key",
            "low",
            "high",
            "channel",
            "group",
            "hash",
            "actor",
            "object",
            "namespace",
            "layer",
        ),
        "a",
    ),
    "outcome": 2,
    "removed": False,
}


_PLACE = "9.9.9."


def _runs(query: RunQuery) -> str:
    """The statement that answers a question about the runs of all jobs."""
    asked = run_queries.Conditions(query)
    return asked.exactly if asked.is_exact else asked.bounded


class Shared(NamedTuple):
    """A statement, and the indexes that each database is to use."""

    sql: str
    sqlite: list[str]
    postgres: list[str]


SHARED = {
    "jobs by key": Shared(entry.BY_KEY, [_KEY], ["jobs_key_key", "states_pkey"]),
    "jobs by number": Shared(entry.BY_NUMBER, [_JOBS], ["jobs_pkey", "states_pkey"]),
    "open attempts by key": Shared(
        entry.OPEN_BY_KEY, [_KEY, "attempts_open"], ["jobs_key_key", "attempts_open"]
    ),
    "open attempts": Shared(entry.OPEN_BY_NUMBER, ["attempts_open"], ["attempts_open"]),
    "an attempt": Shared(batch.ATTEMPT, ["PRIMARY KEY"], ["attempts_"]),  # of a request: that index
    "a page of jobs": Shared(job_queries.PAGE, [_KEY], ["jobs_key_key", "states_pkey"]),
    "a page of a source": Shared(job_queries.PAGE_OF_SOURCE, [_KEY_TO], ["jobs_key_key", "states_pkey"]),
    "the next wake": Shared(queries.WAKES_OF_QUEUES, ["states_due"], ["states_due", "states_pkey"]),
    "the next wake after a time": Shared(
        queries.LATER_WAKES_OF_QUEUES, ["states_due"], ["states_due", "states_pkey"]
    ),
    "what runs of a group": Shared(
        group_rows.COUNT, ["g USING PRIMARY KEY", "a USING PRIMARY KEY"], ["group_runs_pkey", "attempts_pkey"]
    ),
    "what ran of a group": Shared(
        group_rows.FORGET_ENDED,
        ["g USING PRIMARY KEY", "a USING PRIMARY KEY"],
        ["group_runs_pkey", "attempts_pkey"],
    ),
    "the backlog": Shared(queries.BACKLOG, ["states_due"], ["states_due"]),
    "jobs of a source": Shared(queries.JOBS_OF_SOURCE, [_KEY], ["jobs_key_key"]),
    "sources of jobs": Shared(queries.SOURCES, [_KEY], ["jobs_key_key"]),
    "jobs to be searched": Shared(job_queries.SCAN, [_KEY, _STATES], ["jobs_key_key", "states_pkey"]),
    "jobs of a source to be searched": Shared(
        job_queries.SCAN_OF_SOURCE, [_KEY_TO, _STATES], ["jobs_key_key", "states_pkey"]
    ),
    "facts of jobs": Shared(job_queries.FACTS_OF, [_JOBS, _STATES], ["jobs_pkey", "states_pkey"]),
    "jobs that are paused": Shared(
        job_queries.OF_STATE[JobState.PAUSED], ["states_paused"], ["states_paused"]
    ),
    "jobs that fail": Shared(job_queries.OF_STATE[JobState.FAILING], ["states_failing"], ["states_failing"]),
    "jobs that are damaged": Shared(
        job_queries.OF_STATE[JobState.DAMAGED], ["states_damaged"], ["states_damaged"]
    ),
    "jobs that run": Shared(job_queries.OF_STATE[JobState.OPEN], ["attempts_open"], ["attempts_open"]),
    "those that run": Shared(job_queries.OPEN_AMONG, ["attempts_open"], ["attempts_open"]),
    "the soonest jobs": Shared(job_queries.SOONEST, ["states_due"], ["states_due"]),
    "the newest runs": Shared(_runs(RunQuery()), [], ["attempts_pkey"]),  # attempts are stored by time
    "runs before a place": Shared(_runs(RunQuery(after=_PLACE)), ["PRIMARY KEY"], ["attempts_pkey"]),
    "runs of a time": Shared(_runs(RunQuery(since=EARLIEST)), ["PRIMARY KEY"], ["attempts_pkey"]),
    "open runs": Shared(_runs(RunQuery(is_open=True)), ["attempts_open"], ["attempts_open"]),
    "runs that failed": Shared(_runs(RunQuery(outcome=Outcome.FAILED)), ["attempts_problem"], ["attempts_"]),
    "runs of a source": Shared(_runs(RunQuery(source="a")), [_JOBS], ["attempts_pkey", "jobs_pkey"]),
    "runs of an occurrence": Shared(
        run_queries.OCCURRENCE, [_KEY, "PRIMARY KEY"], ["jobs_key_key", "attempts_pkey"]
    ),
    "runs of a request": Shared(
        run_queries.REQUEST, [_KEY, "attempts_request"], ["jobs_key_key", "attempts_request"]
    ),
    "skips of a job": Shared(run_queries.SKIPS_OF_JOB, ["PRIMARY KEY"], ["skips_pkey"]),
    "the newest skips": Shared(run_queries.SKIPS, ["skips_by_end"], ["skips_by_end"]),
    "skips of a source": Shared(run_queries.SKIPS_OF_SOURCE, ["skips_by_end"], ["skips_by_end", "jobs_pkey"]),
    "where skips were looked at": Shared(run_queries.LAST_SKIP, ["skips_by_end"], ["skips_by_end"]),
    "whether a job is of a source": Shared(run_queries.OF_SOURCE, [_JOBS], ["jobs_"]),
    "which histories rise": Shared(outcome_queries.WITH_RISES, ["attempts_rise"], ["attempts_rise"]),
    "how the last attempts ended": Shared(
        outcome_queries.LAST, [_STATES, "PRIMARY KEY"], ["states_pkey", "attempts_pkey"]
    ),
    "whether links rise": Shared(history_queries.RISES, ["attempts_rise"], ["attempts_rise"]),
    "problems of a job": Shared(run_queries.PROBLEMS_OF_JOB, ["attempts_trouble"], ["attempts_"]),
    "open runs of a job": Shared(run_queries.OPEN_OF_JOB, ["attempts_open"], ["attempts_open"]),
    "what a node holds": Shared(node_rows.HELD, ["attempts_held", _JOBS], ["attempts_held", "jobs_pkey"]),
    "how much a node holds": Shared(node_rows.COUNT_HELD, ["attempts_held"], ["attempts_held"]),
    "cancels": Shared(node_rows.CANCELS, ["attempts_held"], ["attempts_held"]),
    "who holds anything": Shared(node_rows.HOLDERS, ["attempts_held"], ["attempts_held"]),
    "a node that lives": Shared(
        node_rows.HOLD,
        ["node_names_1", "nodes USING INTEGER PRIMARY KEY"],
        ["node_names_id_key", "nodes_pkey"],
    ),
    "what the dead held": Shared(runs.LOST, ["attempts_held", _STATES], ["attempts_held", "states_pkey"]),
    "lanes": Shared(interned.LANES, ["sqlite_autoindex_lanes_1"], ["lanes_queue_kind_key"]),
    "occurrences that ran": Shared(declare.OCCURRENCES, ["PRIMARY KEY"], ["attempts_pkey"]),
    "a request that ran": Shared(declare.REQUEST, ["attempts_request"], ["attempts_request"]),
    "the newest of a job": Shared(
        history_queries.ALL_PARTS,
        ["attempts_rise", "PRIMARY KEY"],
        ["attempts_pkey", "attempts_rise", "states_pkey"],
    ),
    "more of a job": Shared(history_queries.ONE_PART, ["PRIMARY KEY"], ["attempts_pkey"]),
    "when jobs last succeeded": Shared(
        history_queries.SUCCESS_NEAR, [_STATES, "PRIMARY KEY"], ["states_pkey", "attempts_pkey"]
    ),
    "when a job succeeded long ago": Shared(history_queries.SUCCESS_FAR, ["PRIMARY KEY"], ["attempts_pkey"]),
    "the history of a job": Shared(history_links.WALK, ["PRIMARY KEY"], ["attempts_pkey"]),
    "what is behind cuts": Shared(
        cut.BEHIND_CUTS, [_STATES, "PRIMARY KEY"], ["states_pkey", "attempts_pkey"]
    ),
    "alerts that wait": Shared(outbox.WAITING, ["alerts_waiting"], ["alerts_waiting"]),
    "channels that alerts wait for": Shared(outbox.OLDEST, [], ["alerts_waiting"]),
    "which of some alerts wait": Shared(outbox.WHICH_WAIT, ["PRIMARY KEY"], ["alerts_"]),
    "old alerts": Shared(outbox.OLD, ["alerts_by_time"], ["alerts_by_time"]),
    "a token": Shared(access.ONE, ["PRIMARY KEY"], ["tokens_pkey"]),
    "tokens": Shared(access.TOKENS, ["tokens_by_time"], ["tokens_by_time"]),
    "sessions of a token": Shared(access.REVOKE[0], ["sessions_by_token"], ["sessions_by_token"]),
    "codes of a token": Shared(access.REVOKE[1], ["login_codes_by_token"], ["login_codes_by_token"]),
    "a session": Shared(access.HELD_SESSION, ["PRIMARY KEY"], ["sessions_pkey"]),
    "a code": Shared(access.HELD_CODE, ["PRIMARY KEY"], ["login_codes_pkey"]),
    "sessions that have ended": Shared(access.OLD_SESSIONS.find, ["sessions_by_end"], ["sessions_by_end"]),
    "old codes": Shared(access.OLD_CODES.find, ["login_codes_by_time"], ["login_codes_by_time"]),
    "an entry of the audit": Shared(audit.HELD, ["PRIMARY KEY"], ["audit_pkey"]),
    "the newest of the audit": Shared(
        audit.statement(AuditQuery()), ["audit_by_time (at>? AND at<?)"], ["audit_by_time"]
    ),
    "the audit of an actor": Shared(
        audit.statement(AuditQuery(actor="a")),
        ["audit_by_actor (actor=? AND at>? AND at<?)"],
        ["audit_by_actor"],
    ),
    "the audit of an object": Shared(
        audit.statement(AuditQuery(object="a", actor="a")),
        ["audit_by_object (object=? AND at>? AND at<?)"],
        ["audit_by_object"],
    ),
    "old entries of the audit": Shared(audit.OLD.find, ["audit_by_time"], ["audit_by_time"]),
    "a pipeline": Shared(pipelines.HELD, ["PRIMARY KEY"], ["pipelines_pkey"]),
    "some pipelines": Shared(pipelines.THESE, ["PRIMARY KEY"], ["pipelines_pkey"]),
    "whose name it is": Shared(pipelines.WHOSE_NAME, ["PRIMARY KEY"], ["pipeline_names_pkey"]),
    "names of pipelines": Shared(
        pipelines.ACTIVE,
        ["PRIMARY KEY ((namespace,layer,name)>(?,?,?))"],
        ["pipeline_names_pkey"],
    ),
    "names of all pipelines": Shared(pipelines.ALL, ["pipelines_by_name"], ["pipelines_by_name"]),
    "pipelines removed long ago": Shared(pipelines.OLD.find, ["pipelines_removed"], ["pipelines_removed"]),
    "instants of a job": Shared(history_links.KNOWN, ["PRIMARY KEY"], ["attempts_pkey"]),
    "the first skips": Shared(look.SKIPS, ["PRIMARY KEY"], ["skips_pkey"]),
    "a history worth a look": Shared(prune.RIPE, ["states_ripe"], ["states_ripe"]),
    "a history that is old": Shared(prune.OLD, ["states_old"], ["states_old"]),
    "its neighbours": Shared(prune.NEIGHBOURS, [_STATES], ["states_pkey", "jobs_pkey"]),
    "jobs to look at": Shared(prune.THESE, [_STATES], ["states_pkey", "jobs_pkey"]),
    "the oldest of a long history": Shared(prune.OLDEST, ["PRIMARY KEY"], ["attempts_pkey"]),
}
