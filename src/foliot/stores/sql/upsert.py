"""The tables and columns of inserts and updates. Each dialect builds its statements from these."""

from __future__ import annotations

from dataclasses import dataclass

from foliot.stores.sql.rows import STATE_COLUMNS

_CHANGING = (
    "trigger, state, covers_from, wake_at, node_no, token, claimed_at, deadline_at, started_at, finished_at, "
    "outcome, error, reason, retries, losses, exit_code, version, payload"
)
_COUNTS = "newest_at, opened, skipped, look_at"


@dataclass(frozen=True, slots=True, eq=False)
class Upsert:
    """Rows to insert, or to update if the key exists.

    `key`: the columns that identify a row, if the same row may come several times in one statement.
    """

    table: str
    columns: str
    on_conflict: str = ""
    key: slice | None = None


def _excluded(columns: str) -> str:
    return ", ".join(f"{name} = excluded.{name}" for name in columns.split(", "))


_ATTEMPT = f"scheduled_for, job_no, request, number, ordinal, previous_at, seq, claim_no, {_CHANGING}"
# A starting attempt is not stored yet. If it is, the state is wrong: see `WriteBatch.is_careful`.
ADD_ATTEMPT = Upsert("attempts", _ATTEMPT)
PUT_ATTEMPT = Upsert(
    "attempts",
    _ATTEMPT,
    f"""(scheduled_for, job_no, request, number) DO UPDATE SET
        claim_no = coalesce(excluded.claim_no, attempts.claim_no), {_excluded(_CHANGING)}""",
    key=slice(4),
)
_JOB = len(f"{STATE_COLUMNS}, {_COUNTS}".split(", "))
PUT_STATE = Upsert(
    "states",
    f"{STATE_COLUMNS}, {_COUNTS}, job_no, lane_no, trim_at",
    f"(job_no) DO UPDATE SET {_excluded(STATE_COLUMNS)}, {_excluded(_COUNTS)}",
    key=slice(_JOB, _JOB + 1),
)
# A new job: the other columns have their defaults.
ADD_STATE = Upsert(
    "states",
    "token, created_at, wake_at, served_until, next_at, fired_count, failures_in_row, look_at, trim_at, "
    "lane_no, watch, job_no",
)
PUT_SKIP = Upsert(
    "skips",
    "job_no, first_at, last_at, reason",
    "(job_no, first_at, last_at) DO UPDATE SET reason = excluded.reason",
    key=slice(3),
)
# A job that comes back ends the definition that was kept when it was removed.
ADD_DEFINITION = Upsert(
    "definitions", "job_no, version, frame, data, policy_no, from_at, until_at, replaced_by", "DO NOTHING"
)
ADD_JOB = Upsert("jobs", "job_no, key, frame, data, policy_no")

ADD_ALERT = Upsert("alerts", "id, channel, at, job, kind, text", "(id, channel) DO NOTHING")

# Shared texts.
ADD_LANE = Upsert("lanes", "queue, kind", "DO NOTHING")
ADD_GROUP_RUN = Upsert("group_runs", "group_name, scheduled_for, job_no, request, number", "DO NOTHING")
ADD_NODE_NAME = Upsert("node_names", "id", "DO NOTHING")
PUT_OUTPUT = Upsert(
    "outputs",
    "run_key, number, job, text, dropped",
    f"(run_key, number) DO UPDATE SET {_excluded('job, text, dropped')}",
    key=slice(2),
)
BEGIN_OUTPUT = Upsert("outputs", "run_key, number, job, text, dropped", "DO NOTHING")
PUT_PART = Upsert(
    "output_parts",
    "run_key, number, start, text",
    f"(run_key, number, start) DO UPDATE SET {_excluded('text')}",
    key=slice(3),
)
