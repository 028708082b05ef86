"""Sources with their revisions and status, and the definitions that jobs have had."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from foliot.model.version import KEPT_REVISIONS, Revision, Version, all_versions
from foliot.model.view import SourceView
from foliot.stores.redis.asking import pairs, text_of
from foliot.stores.redis.encode import Operation, operation_words
from foliot.stores.redis.session import RedisSession
from foliot.stores.sql.codes import an_instant, whole


def revision(session: RedisSession, source: str) -> str | None:
    """The revision that a source was last reconciled to."""
    return session.revision(source)


def revisions(session: RedisSession, source: str, limit: int = KEPT_REVISIONS) -> tuple[Revision, ...]:
    """The last revisions of a source, the newest first."""
    rows = session.ask("LRANGE", f"revs:{source}", 0, limit - 1) if limit > 0 else ()
    found = (json.loads(row) for row in rows)
    return tuple(Revision(source, row[0], row[1], an_instant(row[2]), *row[3:]) for row in found)


def sources(session: RedisSession) -> tuple[SourceView, ...]:
    """The sources that were reconciled, or whose status was written."""
    session.help_apply()
    hashes = session.ask_all([("HGETALL", name) for name in ("rev", "rev_at", "status")])
    revs, times, statuses = ({text_of(k): text_of(v) for k, v in pairs(found)} for found in hashes)
    names = sorted(revs.keys() | statuses.keys())
    counts = session.ask_all([("ZLEXCOUNT", "keys", f"[{name}/", f"({name}0") for name in names])
    return tuple(
        SourceView(
            name,
            revs.get(name),
            jobs,
            an_instant(int(times[name])) if name in times else None,
            statuses.get(name),
        )
        for name, jobs in zip(names, counts, strict=True)
    )


def write_source_status(session: RedisSession, source: str, status: str) -> None:
    """Write the status of a source."""
    session.ask("HSET", "status", source, status)


def restore_source(
    session: RedisSession, source: str, reconciled_at: datetime | None, revisions: Sequence[Revision]
) -> None:
    """Restore the time and the revisions of a source that was copied from another store."""
    rows = [
        json.dumps([one.ordinal, one.revision, whole(one.at), *one[4:]], ensure_ascii=False)
        for one in revisions
    ]
    at = (
        ("HDEL", "rev_at", source)
        if reconciled_at is None
        else ("HSET", "rev_at", source, whole(reconciled_at))
    )
    session.ask_all([at, ("DEL", f"revs:{source}")])
    if rows:
        session.ask("RPUSH", f"revs:{source}", *rows)


def forget_source(session: RedisSession, source: str, revision: str | None) -> bool:
    """Forget a source, but not its jobs, if it is still at that revision. Returns whether it was."""
    facts: dict[str, Any] = {} if revision is None else {"base": revision}
    if not any(session.ask_all([("HEXISTS", name, source) for name in ("rev", "status")])):
        return False
    forgotten: list[Operation] = [("HDEL", name, source, "") for name in ("rev", "rev_at", "status")]
    words = operation_words([*forgotten, ("DEL", f"revs:{source}", "", "")])
    status, _ = session.run_one("commit", words, source=source, **facts)
    return status == "OK"


def versions(session: RedisSession, job: str) -> tuple[Version, ...]:
    """The definitions of a job, the newest first."""
    session.help_apply()
    entry = session.entries((job,)).get(job)
    if entry is None:
        return ()
    rows = session.ask("HGETALL", f"v:{job}")
    kept = sorted(((int(n), json.loads(row)) for n, row in pairs(rows)), reverse=True)
    session.definitions.learn(
        (row[0] for _, row in kept), lambda digests: session.ask("HMGET", "frames", *digests)
    )
    found = [session.definitions.version(job, number, row) for number, row in kept]
    return tuple(found) if entry.record is None else all_versions(entry.record, found)
