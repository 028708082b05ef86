"""The history of one job: found by links, deleted in parts.

    states.newest_at ──▶ 12:00 ──▶ 11:00 ──▶ 10:00        `previous_at` of the attempts of each instant

Why not an index by job? Each run would write a page of it, and with a full history a run would cost twice as
much. So attempts are stored by time, and each instant of a job has a link to the next older one
(`previous_at`). An instant may have several attempts; one of them carries the link.

A backfill adds an attempt of the past. It is linked right behind the newest instant:

    states.newest_at ──▶ 12:00 ──▶ 08:00 (backfill) ──▶ 11:00 ──▶ 10:00
                                          └── this link leads up in time

An index of its own (`attempts_rise`) has the few links that lead up, so the newest attempts are found without
reading the whole history.

`seq` numbers the attempts of a job in the order of their opening, and `states.opened` is the newest number.
So the number of newer attempts is known without counting (see `prune`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple

from foliot.model.attempt import run_key
from foliot.stores.sql.codes import UNREADABLE, an_instant
from foliot.stores.sql.dialect import Answer, Dialect
from foliot.stores.sql.rows import Row, new

AT_ONCE = 1000  # attempts and skips that are deleted together with their job
ALL = 2**31
KEY = "scheduled_for, job_no, request, number"

# ruff: noqa: S608 - made of constants only

_PAST = "a.scheduled_for, a.request, a.number, a.state, a.outcome, a.finished_at, a.seq, a.previous_at"
# Each attempt is found by the link of another. If several attempts of an instant have a link (damage), some
# are found again and again: then each instant is read once, and the links are repaired.
WALK = f"""
    WITH RECURSIVE past (at, request, number, state, outcome, finished_at, seq, link) AS (
        SELECT {_PAST} FROM attempts AS a WHERE a.scheduled_for = :first AND a.job_no = :job
        UNION ALL
        SELECT {_PAST} FROM past AS p CROSS JOIN attempts AS a
        WHERE a.scheduled_for = p.link AND a.job_no = :job AND p.link IS NOT NULL
    )
    SELECT at, request, number, state, outcome, finished_at, seq, link FROM past LIMIT :most
"""
# For damaged links: each instant once, and then its attempts.
WALK_INSTANTS = f"""
    WITH RECURSIVE instants (at) AS (
        SELECT CAST(:first AS bigint)
        UNION
        SELECT a.previous_at FROM instants AS i CROSS JOIN attempts AS a
        WHERE a.scheduled_for = i.at AND a.job_no = :job AND a.previous_at IS NOT NULL
    )
    SELECT {_PAST}
    FROM (SELECT at FROM instants LIMIT :most) AS i CROSS JOIN attempts AS a
    WHERE a.scheduled_for = i.at AND a.job_no = :job
"""
KNOWN = """
    SELECT scheduled_for, max(previous_at) FROM attempts
    WHERE job_no = :job AND scheduled_for IN :these GROUP BY scheduled_for
"""
_AT = """
    SELECT request, number FROM attempts
    WHERE job_no = :job AND scheduled_for = :at ORDER BY request, number
"""
_LEFT = """
    SELECT job_no, key, newest_at FROM remains AS s ORDER BY job_no LIMIT 1 FOR UPDATE OF s SKIP LOCKED
"""
_LEAVE = "INSERT INTO remains (job_no, key, newest_at) VALUES (:job, :key, CAST(:first AS bigint))"
_SKIPS = "SELECT first_at, last_at FROM skips WHERE job_no = :job ORDER BY first_at, last_at LIMIT :most"


class Past(NamedTuple):
    """The columns of an attempt that deleting needs."""

    at: int
    request: str
    number: int
    state: int
    outcome: int | None
    finished_at: int | None
    seq: int
    link: int | None


class Walked(NamedTuple):
    """Attempts of a job, from the newest instant on; `beyond`: the instant where the rest begins.

    `is_parted`: several attempts of an instant carry a link.
    """

    rows: list[Past]
    beyond: int | None = None
    is_parted: bool = False


class Walk:
    """Reads some attempts of a job's history, from an instant on. The answer comes later."""

    def __init__(self, dialect: Dialect, job_no: int, first: int | None, most: int) -> None:
        self._dialect = dialect
        self._job_no = job_no
        self._first = first
        self._most = most
        self._answer = None if first is None else dialect.run(WALK, job=job_no, first=first, most=most + 1)

    def end(self) -> Walked:
        """What was found."""
        if self._answer is None:
            return Walked([])
        rows = [new(Past, row) for row in self._answer.fetchall()]
        if len({row[6] for row in rows}) < len(rows) and len({row[:3] for row in rows}) < len(rows):
            return self._by_instants(self._most)._replace(is_parted=True)
        if len(rows) <= self._most:
            return Walked(rows)
        last = rows.pop()  # the rest begins here, with all attempts of this instant
        rows = [row for row in rows if row.at != last.at]
        return self._known(rows, last.at)

    def _known(self, rows: list[Past], rest: int) -> Walked:
        """Only one position can be kept: if links lead to several, read everything."""
        instants = {row.at for row in rows}
        beyond = {row.link for row in rows} - instants - {None}
        return Walked(rows, rest) if beyond == {rest} else self._by_instants(ALL)

    def _by_instants(self, most: int) -> Walked:
        found = self._dialect.run(WALK_INSTANTS, job=self._job_no, first=self._first, most=most).fetchall()
        rows = list(map(Past._make, found))
        instants = {row.at for row in rows}
        if len(instants) < most:
            return Walked(rows)
        beyond = {row.link for row in rows} - instants - {None}
        return Walked(rows, next(iter(beyond), None)) if len(beyond) <= 1 else self._by_instants(ALL)


def walk(dialect: Dialect, job_no: int, first: int | None, most: int) -> Walked:
    """At most `most` attempts of a job's history, from an instant on."""
    return Walk(dialect, job_no, first, most).end()


# -- adding ----------------------------------------------------------------------------------------


def links_of_the_past(  # noqa: PLR0913 - what is there, and what is to come
    dialect: Dialect,
    job_no: int,
    newest: int,
    past: Collection[int],
    link: int | None = None,
    *,
    is_new: bool = False,
) -> dict[int, int | None]:
    """Link instants of the past behind the newest instant. Returns the new links.

    An instant that exists keeps its link. `is_new`: the newest instant is not stored yet, and will be written
    with its link. Otherwise it is stored, and the result has its new link: `relink` writes that one.
    """
    known: dict[int, int | None] = dict(
        dialect.among(KNOWN, past if is_new else {newest, *past}, job=job_no).fetchall()
    )
    fresh = sorted(set(past) - known.keys(), reverse=True)
    if not fresh:
        return {}
    links: dict[int, int | None] = dict(pairwise([newest, *fresh]))
    links[fresh[-1]] = link if is_new else known.get(newest)
    return links


def relink(dialect: Dialect, job_no: int, at: int, link: int | None) -> None:
    """Write the link of an existing instant, into one of its attempts."""
    (carrier, *others) = dialect.run(_AT, job=job_no, at=at).fetchall()
    rows = [(link, at, job_no, *carrier), *((None, at, job_no, *other) for other in others)]
    dialect.set_column("attempts", "previous_at", KEY, rows)


# -- forgetting ------------------------------------------------------------------------------------


def forget(dialect: Dialect, job_no: int, walked: Walked, gone: Collection[Past]) -> int | None:
    """Delete some attempts, and link the others. Returns the newest remaining instant."""
    delete(dialect, [(row.at, job_no, row.request, row.number) for row in gone])
    return link_what_is_left(dialect, job_no, walked, gone)


def delete(dialect: Dialect, keys: Iterable[Row]) -> None:
    """Delete attempts by their keys; those of one instant together, because they share pages."""
    dialect.delete("attempts", KEY, sorted(keys, key=lambda key: (_in_time(key[0]), key[1])))


def link_what_is_left(dialect: Dialect, job_no: int, walked: Walked, gone: Collection[Past]) -> int | None:
    """Repair the links after a deletion. Returns the newest remaining instant."""
    keys = {row[:3] for row in gone}
    newest, links = _mended([row for row in walked.rows if row[:3] not in keys], walked.beyond)
    rows = [(link, at, job_no, request, number) for link, (at, request, number) in links]
    dialect.set_column("attempts", "previous_at", KEY, rows)
    return newest


def _mended(left: list[Past], beyond: int | None) -> tuple[int | None, list[tuple[int | None, Row]]]:
    """The newest remaining instant, and the links that must change."""
    found: dict[int, list[Past]] = {}
    for row in left:
        found.setdefault(row.at, []).append(row)
    instants = sorted(found, key=_in_time, reverse=True)
    links: dict[int, int | None] = dict.fromkeys(instants, beyond)
    links.update(pairwise(instants))
    wrong: list[tuple[int | None, Row]] = []
    for at, link in links.items():
        carried = [row.link for row in found[at] if row.link is not None]
        if carried != ([] if link is None else [link]):
            first, *others = found[at]
            wrong += [(link, first[:3]), *((None, other[:3]) for other in others)]
    return instants[0] if instants else beyond, wrong


def _in_time(at: object) -> int:
    """Sort by time; a damaged instant comes first."""
    return at if isinstance(at, int) else 0


# All outputs of a job are between these keys; some of other jobs may be, too.
HAS_OUTPUTS = "SELECT 1 FROM outputs WHERE run_key > :first AND run_key < :last LIMIT 1"


def ask_for_outputs(dialect: Dialect, key: str) -> Answer:
    """Ask whether a job may have outputs: no rows if it has none."""
    return dialect.run(HAS_OUTPUTS, first=f"{key}!", last=f"{key}A")


def output_keys(key: str, gone: Iterable[Row]) -> list[Row]:
    """The keys of the outputs of attempts. `gone`: rows that begin with instant, request and number."""
    found = []
    for row in gone:
        with suppress(*UNREADABLE):
            at, request, number = row[:3]
            found.append((f"{key}{request}" if request else run_key(key, an_instant(at), None), number))
    return found


# -- jobs that were removed ------------------------------------------------------------------------
#
# Deleting the runs of a year in one transaction would block all others. So a removed job leaves its name and
# the first instant of its history. No query finds these rows, because their number belongs to no job.


def leave(dialect: Dialect, job_no: int, key: str, newest_at: int | None) -> None:
    """Delete the history of a removed job; if it is long, the rest is deleted later."""
    # An open attempt must not be found any more, but its link may still be needed.
    dialect.run("UPDATE attempts SET state = 3 WHERE job_no = :job AND state < 3", job=job_no)
    _, left = _forget_some(dialect, job_no, key, newest_at, AT_ONCE)
    if left is not None:
        dialect.run(_LEAVE, job=job_no, key=key, first=left[0])


def clear_outputs(dialect: Dialect, keys: Collection[str]) -> None:
    """Delete outputs of removed jobs with these keys, because a new job may use the same keys.

    All at once: few jobs come back before their outputs are deleted.
    """
    left = dialect.run("SELECT s.key FROM remains AS s").fetchall() if keys else []
    for key in {key for (key,) in left}.intersection(keys):
        dialect.run(
            """
            DELETE FROM outputs WHERE job = :job
            AND ((run_key > :a AND run_key < :b) OR (run_key > :c AND run_key < :d))
            """,
            job=key, a=f"{key}!", b=f'{key}"', c=f"{key}@", d=f"{key}A",
        )  # fmt: skip


def forget_removed(dialect: Dialect, most: int) -> int:
    """Delete some of a removed job's rows. Returns how many."""
    left = dialect.run(_LEFT).fetchall()
    if not left:
        return 0
    ((job_no, key, newest_at),) = left
    count, rest = _forget_some(dialect, job_no, key, newest_at, most)
    if rest is None:
        dialect.delete("remains", "job_no", [(job_no,)])
    else:
        dialect.set_column("remains", "newest_at", "job_no", [(rest[0], job_no)])
    return count


def _forget_some(
    dialect: Dialect, job_no: int, key: str, newest_at: int | None, most: int
) -> tuple[int, tuple[int | None] | None]:
    """Delete some rows of a job. Returns how many, and the instant where the rest begins."""
    walked = walk(dialect, job_no, newest_at, most)
    # The newest attempts go last, because links lead down from them.
    gone = sorted(walked.rows, key=lambda row: _in_time(row.at))[:most]
    newest = forget(dialect, job_no, walked, gone)
    if not dialect.run("SELECT 1 FROM jobs WHERE key = :key", key=key).fetchall():
        dialect.delete("outputs", "run_key, number", output_keys(key, gone))
    skips = dialect.run(_SKIPS, job=job_no, most=max(0, most - len(gone))).fetchall()
    dialect.delete("skips", "job_no, first_at, last_at", [(job_no, *skip) for skip in skips])
    has_more = newest is not None or len(gone) + len(skips) >= most
    return len(gone) + len(skips), (newest,) if has_more else None
