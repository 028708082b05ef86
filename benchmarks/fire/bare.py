"""What a bare loop writes for a batch: statements of its own, each of which is about all rows of the batch.

All but the end are the same for SQLite and PostgreSQL. `v` is a table of the batch: the number of a job, and
what is its own. `g` is one row with what all jobs of the batch share.
"""

# ruff: noqa: S608 - made of constants only

from __future__ import annotations

from benchmarks.fire.batches import REASON

GIVEN = "claim_no, node_no, now, due"
START = f"""
    INSERT INTO attempts (
        scheduled_for, job_no, request, number, ordinal, previous_at, seq, claim_no, trigger, state, node_no,
        token, claimed_at, reason, retries, losses
    )
    SELECT g.due, s.job_no, '', 1, 0, s.newest_at, s.opened + 1, g.claim_no, 0, 1, g.node_no, s.token + 1,
        g.now, '{REASON}', 0, 0
    FROM v CROSS JOIN g CROSS JOIN states AS s WHERE s.job_no = v.job_no
"""
MOVE = """
    UPDATE states SET token = token + 1, wake_at = NULL, served_until = g.due, next_at = NULL,
        fired_count = fired_count + 1, last_attempt_at = g.now, last_run = v.other, newest_at = g.due,
        opened = opened + 1
    FROM v CROSS JOIN g WHERE states.job_no = v.job_no
"""
# So SQLite finds each attempt by its key: not among all that the node holds, nor by reading all.
END = """
    UPDATE attempts SET state = 3, outcome = 1, started_at = g.now, finished_at = g.now
    FROM v CROSS JOIN g
    WHERE attempts.scheduled_for = (SELECT due FROM g) AND attempts.job_no = v.job_no
    AND attempts.request = '' AND attempts.number = 1 AND attempts.state + 0 = 1
    AND attempts.node_no + 0 = g.node_no
    AND attempts.token = v.other
"""
