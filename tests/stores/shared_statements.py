"""The statements that two databases share, and by which indexes each is to find its rows."""

from __future__ import annotations

from typing import NamedTuple

from foliot.stores.sql import (
    batch,
    cut,
    declare,
    entry,
    history_links,
    history_queries,
    interned,
    look,
    node_rows,
    prune,
    queries,
    runs,
)

_JOBS, _STATES = "jobs USING INTEGER PRIMARY KEY", "states USING INTEGER PRIMARY KEY"
_KEY = "sqlite_autoindex_jobs_1"
VALUES = {
    **dict.fromkeys(("job", "most", "first", "now", "since", "node", "number", "at", "head", "newest"), 9),
    **dict.fromkeys(("id", "request", "name", "after", "last"), "a"),
    "outcome": 2,
    "removed": False,
}


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
    "a page of jobs": Shared(queries.PAGE, [_KEY], ["jobs_key_key", "states_pkey"]),
    "the next wake": Shared(queries.WAKES_OF_QUEUES, ["states_due"], ["states_due", "states_pkey"]),
    "the backlog": Shared(queries.BACKLOG, ["states_due"], ["states_due"]),
    "the newest runs": Shared(
        f"{queries._RUNS} CROSS JOIN jobs AS j WHERE j.job_no = a.job_no {queries._NEWEST_FIRST}",
        [],  # no index is needed: attempts are stored by time
        ["attempts_pkey"],
    ),
    "problems of a job": Shared(queries.PROBLEMS_OF_JOB, ["attempts_trouble"], ["attempts_trouble"]),
    "open runs of a job": Shared(queries.OPEN_OF_JOB, ["attempts_open"], ["attempts_open"]),
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
    "instants of a job": Shared(history_links.KNOWN, ["PRIMARY KEY"], ["attempts_pkey"]),
    "the first skips": Shared(look.SKIPS, ["PRIMARY KEY"], ["skips_pkey"]),
    "a history worth a look": Shared(prune.RIPE, ["states_ripe"], ["states_ripe"]),
    "a history that is old": Shared(prune.OLD, ["states_old"], ["states_old"]),
    "its neighbours": Shared(prune.NEIGHBOURS, [_STATES], ["states_pkey", "jobs_pkey"]),
    "jobs to look at": Shared(prune.THESE, [_STATES], ["states_pkey", "jobs_pkey"]),
    "the oldest of a long history": Shared(prune.OLDEST, ["PRIMARY KEY"], ["attempts_pkey"]),
}
