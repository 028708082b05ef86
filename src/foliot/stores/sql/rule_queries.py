"""How many jobs have each definition: counted by the database, without reading the jobs one by one."""

from __future__ import annotations

from foliot.errors import DamagedRecordError
from foliot.model.query import JobQuery, RulePage
from foliot.stores.sql.answer import bounds
from foliot.stores.sql.session import Session

# Jobs that are removed or damaged are looked at, too, so that a portion has a bound, but not counted.
RULES = """
    SELECT f.frame, f.policy_no, f.is_on, count(*), max(f.key) FROM (
        SELECT j.frame, j.policy_no, j.key,
        CASE WHEN s.removed_at IS NULL AND s.damage IS NULL AND s.paused_at IS NULL THEN 1 ELSE 0 END AS is_on
        FROM jobs AS j CROSS JOIN states AS s WHERE s.job_no = j.job_no
        AND j.key > :after AND (CAST(:last AS text) IS NULL OR j.key < :last) ORDER BY j.key LIMIT :most
    ) AS f GROUP BY f.frame, f.policy_no, f.is_on
"""


def rules(session: Session, source: str | None, after: str, most: int) -> RulePage:
    """The definitions of some jobs after a key, and how many of them have each."""
    begin, last = bounds(JobQuery(source=source, after=after))
    rows = session.dialect.run(RULES, after=begin, last=last, most=most).fetchall()
    found = []
    for frame, policy, is_on, count, _ in rows:
        if is_on:
            try:
                mould = session.reader.mould(frame, session.interned.policy(policy))
            except (DamagedRecordError, LookupError):
                continue  # jobs that cannot be read do not run
            found.append((mould.template, count))
    looked_at = sum(row[3] for row in rows)
    furthest = max((row[4] for row in rows), default="")
    is_more = looked_at == most and furthest > begin
    return RulePage(tuple(found), looked_at, furthest if is_more else None)
