"""The statements of claims and ends that only PostgreSQL needs: those that lock."""

from __future__ import annotations

from foliot.stores.postgres.dialect import NOW
from foliot.stores.sql.entry import STATE_OF_DUE

# ruff: noqa: S608 - made of constants only

_STATE = f"s.job_no, s.defined, {STATE_OF_DUE}"
# Due jobs, locked, at most some of each lane, after a position. Jobs that others have locked are skipped.
LOCK_DUE = f"""
    SELECT d.* FROM unnest(%s::bigint[], %s::bigint[]) AS l (lane_no, most), LATERAL (
        SELECT {_STATE} FROM states AS s
        WHERE s.lane_no = l.lane_no AND s.wake_at <= %s AND s.damage IS NULL
        AND (s.wake_at, s.job_no) > (%s, %s)
        ORDER BY s.wake_at, s.job_no LIMIT l.most FOR UPDATE SKIP LOCKED
    ) AS d
"""
# How long others usually hold their locks; less than a call may take.
A_MOMENT = """
    SELECT pg_sleep(least(0.05, extract(epoch FROM current_setting('statement_timeout')::interval) / 4))
"""
_DUE_IN_LANE = """
    SELECT s.wake_at, s.job_no FROM states AS s
    WHERE s.lane_no = l.lane_no AND s.wake_at <= %(now)s AND s.damage IS NULL
    AND (s.wake_at, s.job_no) > (%(at)s, %(after)s)
"""
_LAST = 2**63 - 1
# Finds the lanes of the jobs that have been due for longest. Most lanes have none of them: if N jobs are
# wanted,
# and N lanes begin before a time, then no job after that time is among the first N.
SPREAD = f"""
    WITH heads AS MATERIALIZED (
        SELECT l.lane_no, d.wake_at, d.job_no FROM unnest(%(lanes)s::bigint[]) AS l (lane_no), LATERAL (
            {_DUE_IN_LANE} ORDER BY s.wake_at, s.job_no LIMIT 1
        ) AS d
    ), bound AS MATERIALIZED (
        SELECT coalesce(h.wake_at, {_LAST}) AS wake_at, coalesce(h.job_no, {_LAST}) AS job_no
        FROM (SELECT 1) AS one LEFT JOIN (
            SELECT wake_at, job_no FROM heads ORDER BY wake_at, job_no OFFSET %(count)s - 1 LIMIT 1
        ) AS h ON true
    )
    SELECT lane_no, count(*) FROM (
        SELECT l.lane_no FROM heads AS l CROSS JOIN bound AS b, LATERAL (
            {_DUE_IN_LANE} AND (s.wake_at, s.job_no) <= (b.wake_at, b.job_no)
            ORDER BY s.wake_at, s.job_no LIMIT %(count)s
        ) AS d
        WHERE (l.wake_at, l.job_no) <= (b.wake_at, b.job_no) ORDER BY d.wake_at, d.job_no LIMIT %(count)s
    ) AS first GROUP BY lane_no
"""
# Locked in the order of their numbers, so that no deadlock is possible.
# Not a join: to get the order without sorting, PostgreSQL would scan all states.
LOCK_BY_KEY = """
    SELECT s.job_no FROM states AS s
    WHERE s.job_no = ANY(ARRAY(SELECT j.job_no FROM unnest(%s::text[]) AS w (key)
        JOIN jobs AS j ON j.key = w.key COLLATE "C"))
    ORDER BY s.job_no FOR UPDATE
"""
LOCK_BY_NUMBER = """
    SELECT s.job_no FROM states AS s WHERE s.job_no = ANY(%s::bigint[]) ORDER BY s.job_no FOR UPDATE
"""
DEFINITIONS = "SELECT job_no, key, frame, data, policy_no FROM jobs WHERE job_no = ANY(%s::bigint[])"
COUNT_DEFINITION = "UPDATE states SET defined = defined + 1 WHERE job_no = %s"
# The first statements of a claim, in one round trip.
BEGIN_CLAIM = f"""
    SELECT n.node_no, n.lease_until, n.kinds, {NOW}, nextval('claim_numbers'),
        (SELECT c.claim_no FROM claims AS c WHERE c.claim_id = %(claim)s AND c.node_no = n.node_no),
        (SELECT json_agg(json_build_array(l.queue, l.kind, l.lane_no)) FROM lanes AS l
            WHERE l.queue = ANY(%(queues)s::text[]))
    FROM node_names AS i JOIN nodes AS n ON n.node_no = i.node_no
    WHERE i.id = %(node)s AND NOT n.is_buried FOR KEY SHARE OF n
"""
