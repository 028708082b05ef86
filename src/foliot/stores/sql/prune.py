"""Deletes old history: when to look at a job's history, and which rows to delete.

A look reads a history to delete a part of it, so it must delete enough to be worth the reading. Two columns
of a job's state say when that is so, each with an index that has only the jobs to look at:

    trim_at   when the job has had more than twice as many attempts and skips as it keeps
    look_at   when its oldest attempt or skip is too old

So a node reads no history without need: if there is nothing to delete, a call reads two indexes. A usual
history is cut off at a position that its state remembers (see `cut`); others are read. Neighbouring jobs that
will soon be due are handled together: attempts are stored by time, so attempts of jobs that run at the same
time share pages, and one write of a page deletes many of them.
"""

from __future__ import annotations

from datetime import datetime

from foliot.errors import DamagedRecordError
from foliot.model.policy import Keep
from foliot.model.policy_codec import read_policy
from foliot.protocols import Pruned
from foliot.stores.retention import NEVER, SLACK, early, next_look, superfluous_skips
from foliot.stores.sql import access, audit, cut, history_links, outbox, pipelines
from foliot.stores.sql.codes import DAY, UNREADABLE, whole
from foliot.stores.sql.cut import Cut, Rest
from foliot.stores.sql.dialect import Dialect
from foliot.stores.sql.erasure import Erasure
from foliot.stores.sql.history_links import Past
from foliot.stores.sql.interned import Interned
from foliot.stores.sql.look import ENDED, Counted, Look, is_linked_through
from foliot.stores.sql.rows import ABSURD, Row
from foliot.stores.sql.session import Session

_NEIGHBOURS = 256
_TOGETHER = 8  # short looks that are sent together
_SHORT = 1000  # a look at a job that keeps at most this many attempts is short
_MOST_READ = 40_000  # attempts that one call may read, because other calls wait for it
_FORGET_OLD = outbox.forget_old, access.forget_old, audit.forget_old, pipelines.forget_old
_SOON = 600_000_000  # microseconds until an open attempt may have ended and can be deleted

RIPE = """
    SELECT s.job_no FROM states AS s INDEXED BY states_ripe WHERE s.trim_at <= s.opened + s.skipped
    ORDER BY s.job_no LIMIT 1 FOR UPDATE OF s SKIP LOCKED
"""
OLD = """
    SELECT s.job_no FROM states AS s INDEXED BY states_old WHERE s.look_at <= :now AND s.look_at IS NOT NULL
    ORDER BY s.look_at LIMIT 1 FOR UPDATE OF s SKIP LOCKED
"""
NEIGHBOURS = """
    SELECT s.job_no, s.opened + s.skipped - s.trim_at, s.look_at, j.policy_no
    FROM states AS s JOIN jobs AS j ON j.job_no = s.job_no
    WHERE s.job_no >= :first ORDER BY s.job_no LIMIT :most
"""
THESE = """
    SELECT s.job_no, j.key, j.policy_no, s.newest_at, s.opened, s.skipped, s.trim_at, s.look_at, s.cut_at
    FROM states AS s JOIN jobs AS j ON j.job_no = s.job_no WHERE s.job_no IN :these ORDER BY s.job_no
    FOR UPDATE OF s SKIP LOCKED
"""
# The oldest rows of a history that is too long to read. They are at the end of the links, except for
# backfills: a query may miss a backfill until it is deleted, too.
OLDEST = """
    SELECT a.scheduled_for, a.request, a.number, a.state, a.outcome, a.finished_at, a.seq, a.previous_at
    FROM attempts AS a
    WHERE a.job_no = :job AND a.scheduled_for < :since AND a.finished_at < :since AND a.state = 3
    AND NOT EXISTS (
        SELECT 1 FROM attempts AS b WHERE b.scheduled_for = a.scheduled_for AND b.job_no = a.job_no
        AND (b.state < 3 OR b.finished_at >= :since)
    )
    ORDER BY a.scheduled_for LIMIT :most
"""


def prune(session: Session, now: datetime, limit: int) -> Pruned:
    """Delete history that policies do not keep."""
    return Pruner(session.dialect, session.interned, now, limit).prune()


class Pruner:
    """One call: deletes at most `limit` attempts and skips."""

    def __init__(self, dialect: Dialect, interned: Interned, now: datetime, limit: int) -> None:
        self._dialect = dialect
        self._interned = interned
        self._at = now
        self._now = whole(now)
        self._limit = limit
        self._to_read = _MOST_READ
        self._erasure = Erasure(limit)

    def prune(self) -> Pruned:
        """Delete what is due. `more`: call again."""
        if self._limit < 1:
            return Pruned()
        removed = history_links.forget_removed(self._dialect, self._limit)
        if removed:
            return Pruned(removed, more=True)
        for forget in _FORGET_OLD:
            if forgotten := forget(self._dialect, self._at, self._limit):
                return Pruned(forgotten, more=True)
        first = self._first()
        if first is None:
            return Pruned()
        jobs = self._locked(self._worth_a_look(first))
        if not any(job.number == first for job in jobs):  # the index has it, but it has no job
            self._erasure.trim_at(first, NEVER)
            self._erasure.look_at(first, None)
        jobs = self._cut(jobs)
        while jobs and self._has_room:
            self._look_at(jobs[:_TOGETHER])
            jobs = jobs[_TOGETHER:]
        self._erasure.write(self._dialect)
        return Pruned(self._limit - self._erasure.room, more=True)

    @property
    def _has_room(self) -> bool:
        return self._erasure.room > 0 and self._to_read > 0

    # -- cutting -----------------------------------------------------------------------------------

    def _cut(self, jobs: list[Counted]) -> list[Counted]:
        """Cut the histories that can be cut. Returns the jobs that need a look."""
        places = {job.number: place for job in jobs if (place := self._cut_of(job)) is not None}
        cuts: dict[int, Cut] = {}
        room = self._erasure.room
        for number, place in places.items():
            if (room := room - place.most) >= 0 or not cuts:
                cuts[number] = place
        rests = cut.behind(self._dialect, cuts, self._erasure.room) if cuts else {}
        done = [job for job in jobs if job.number in rests]
        asked = [history_links.ask_for_outputs(self._dialect, job.key) for job in done]
        for job, outputs in zip(done, asked, strict=True):
            self._erasure.attempts(job, rests[job.number].behind, has_outputs=bool(outputs.fetchall()))
            self._cut_off(job, rests[job.number], cuts[job.number])
        later = places.keys() - cuts.keys()  # the limit of this call is reached
        return [job for job in jobs if job.number not in rests and job.number not in later]

    def _cut_of(self, job: Counted) -> Cut | None:
        """The position at which a job's history can be cut, if it can."""
        keep = keep_of(self._interned, job.policy_no)
        if keep is None or keep.last is None or keep.problems_only:
            return None
        if job.cut_at is None or not (_is_count(job.opened) and _is_count(job.trim_at)):
            return None
        is_old = _is_count(job.look_at) and (job.look_at or 0) <= self._now
        if is_old or job.skipped or job.opened < job.trim_at - early(keep):
            return None
        return Cut(job.cut_at, job.opened, keep.last, next_look(keep))

    def _cut_off(self, job: Counted, rest: Rest, place: Cut) -> None:
        self._to_read -= len(rest.behind)
        self._erasure.end_at(rest.cut)
        self._erasure.trim_at(job.number, job.opened + place.next_look)
        self._erasure.cut_at(job, job.newest_at)

    # -- looking -----------------------------------------------------------------------------------

    def _look_at(self, jobs: list[Counted]) -> None:
        """Send short looks together, because each answer is a round trip; long ones one by one."""
        begun: list[Look] = []
        for job in jobs:
            look = self._begin(job) if self._has_room else None
            if look is not None:
                begun.append(look)
            if look is not None and (look.keep.last is None or look.keep.last > _SHORT):
                self._end(begun)
        self._end(begun)

    def _end(self, begun: list[Look]) -> None:
        for look in begun:
            self._forget_what_can_be_read(look)
        begun.clear()

    # -- which -------------------------------------------------------------------------------------

    def _first(self) -> int | None:
        dialect = self._dialect
        found = dialect.run(RIPE).fetchall() or dialect.run(OLD, now=self._now).fetchall()
        return found[0][0] if found else None

    def _worth_a_look(self, first: int) -> list[int]:
        """A job and its neighbours that will soon be due, until there is enough to do."""
        rows = self._dialect.run(NEIGHBOURS, first=first, most=_NEIGHBOURS).fetchall()
        found, expected = [first], 0
        for row in rows:
            surplus = self._surplus_of(row)
            expected += surplus
            if row[0] != first and surplus:
                found.append(row[0])
            if expected >= self._limit:
                break
        return found

    def _surplus_of(self, row: Row) -> int:
        """About how many rows a look would delete; 0 if it is not worth it."""
        _, over, look_at, policy_no = row
        keep = keep_of(self._interned, policy_no)
        if keep is None:
            return 0
        if over >= -early(keep):
            return int(next_look(keep) + over)
        return int(isinstance(look_at, int) and look_at <= self._now)

    def _locked(self, numbers: list[int]) -> list[Counted]:
        return list(map(Counted._make, self._dialect.among(THESE, numbers).fetchall()))

    # -- one job -----------------------------------------------------------------------------------

    def _begin(self, job: Counted) -> Look | None:
        if not _is_count(job.opened) or not _is_count(job.skipped):  # with a count so large it is always due
            for column in ("opened", "skipped"):
                self._dialect.set_column("states", column, "job_no", [(0, job.number)])
            job = job._replace(opened=0, skipped=0)
        keep = keep_of(self._interned, job.policy_no)
        if keep is None or (keep.last is None and keep.days is None and not keep.problems_only):
            keeps_all = keep is not None
            self._set_next(job, NEVER, None if keeps_all else self._now + DAY)  # another node may read it
            return None
        return Look(self._dialect, job, keep, None if keep.days is None else self._now - keep.days * DAY)

    def _forget_what_can_be_read(self, look: Look) -> None:
        """Delete what can be read. A damaged history stays, and does not block others."""
        try:
            look.end()
            self._to_read -= len(look.walked.rows)
            self._forget(look)
        except UNREADABLE:
            self._set_next(look.job, NEVER, self._now + DAY)

    def _forget(self, look: Look) -> None:
        job, keep, walked, since = look.job, look.keep, look.walked, look.since
        gone = look.surplus()
        is_cut = walked.beyond is not None
        if is_cut and since is not None:
            asked = self._dialect.run(OLDEST, job=job.number, since=since, most=self._erasure.room)
            gone = list({*gone, *map(Past._make, asked.fetchall())})
        places = superfluous_skips([last for _, last in look.skips], keep, since)
        old_skips = [look.skips[place] for place in places]
        is_all = len(gone) + len(old_skips) <= self._erasure.room and not (gone and is_cut)
        gone = sorted(gone, key=lambda row: row.seq)[: self._erasure.room]
        self._erasure.attempts(job, gone, has_outputs=look.has_outputs)
        skips = old_skips[: self._erasure.room]
        self._erasure.skips(job, skips)
        newest = job.newest_at
        if walked.is_parted or (gone and (is_cut or is_linked_through(walked, gone, job.newest_at))):
            newest = history_links.link_what_is_left(self._dialect, job.number, walked, gone)
            if newest != job.newest_at:
                self._dialect.set_column("states", "newest_at", "job_no", [(newest, job.number)])
        if is_all:
            left: list[int | None] = []
            if keep.days is not None or keep.problems_only:
                left = [row.finished_at for row in set(walked.rows).difference(gone) if row.state == ENDED]
                left += [skip[1] for skip in set(look.skips).difference(skips)]
            self._set_next(
                job,
                job.opened + job.skipped + next_look(keep, len(left)),
                self._next_look_at(keep, left, is_cut=is_cut, is_open=look.has_superfluous_open),
            )
            self._erasure.cut_at(job, newest)

    def _next_look_at(self, keep: Keep, left: list[int | None], *, is_cut: bool, is_open: bool) -> int | None:
        """When the oldest remaining row is too old, or an open attempt may have ended."""
        soon = self._now + _SOON if is_open else None
        if keep.days is None:
            return soon
        ends = [at for at in left if isinstance(at, int)]
        kept_for = keep.days * DAY
        later = self._now + kept_for // SLACK
        if ends and not is_cut:
            later = max(min(ends) + kept_for, later)
        elif not is_cut:
            return soon
        return later if soon is None else min(soon, later)

    def _set_next(self, job: Counted, trim_at: int, look_at: int | None) -> None:
        self._erasure.trim_at(job.number, trim_at)
        self._erasure.look_at(job.number, look_at)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < ABSURD


def keep_of(interned: Interned, policy_no: int) -> Keep | None:
    """What a policy keeps; None if it cannot be read."""
    try:
        return read_policy(interned.policy(policy_no))[0].keep
    except (DamagedRecordError, *UNREADABLE):
        return None
