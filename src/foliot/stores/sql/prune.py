"""Forgetting: when a job's history is worth a look, and what of it goes.

A look reads a history to forget a part of it, so it must forget enough to be worth the reading. Two values of
a job's state say when that is so, and an index of each has only the jobs for which it is:

    trim_at   when the job has had so many attempts and skips: twice as many as it keeps
    look_at   when its oldest attempt or skip is too old

So a node reads no history in vain. Without anything to forget, a call asks two indexes and is done.
Neighbours that will soon be due are looked at together: attempts are stored by time, so the attempts of
neighbours that run at the same time share pages, and one write of a page deletes many of them.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from foliot.errors import DamagedRecordError
from foliot.model.policy import Keep
from foliot.model.policy_codec import read_policy
from foliot.protocols import Pruned
from foliot.stores.retention import NEVER, SLACK, next_look, superfluous, superfluous_skips
from foliot.stores.sql import history
from foliot.stores.sql.codes import DAY, UNREADABLE, whole
from foliot.stores.sql.dialect import Dialect
from foliot.stores.sql.entry import Shelf
from foliot.stores.sql.history import Past, Walked
from foliot.stores.sql.rows import ABSURD, Row

MOST_WALKED = 20_000  # attempts that a look reads, beyond those that are kept
_NEIGHBOURS = 256
_TOGETHER = 8  # looks whose answers are awaited together, where they are short
_SHORT = 1000  # attempts: a look at a job that keeps no more than that is short
_MOST_READ = 40_000  # attempts that a call reads: others wait for it
_SOON = 600_000_000  # microseconds: an open attempt may have ended by then, and be superfluous
_ENDED, _SUCCEEDED = 3, 1  # see codes

RIPE = """
    SELECT s.job_no FROM states AS s {ripe} WHERE s.trim_at <= s.opened + s.skipped
    ORDER BY s.job_no LIMIT 1 {lock}
"""
OLD = """
    SELECT s.job_no FROM states AS s {old} WHERE s.look_at <= :now AND s.look_at IS NOT NULL
    ORDER BY s.look_at LIMIT 1 {lock}
"""
NEIGHBOURS = """
    SELECT s.job_no, s.opened + s.skipped - s.trim_at, s.look_at, j.policy_no
    FROM states AS s JOIN jobs AS j ON j.job_no = s.job_no
    WHERE s.job_no >= :first ORDER BY s.job_no LIMIT :most
"""
THESE = """
    SELECT s.job_no, j.key, j.policy_no, s.newest_at, s.opened, s.skipped
    FROM states AS s JOIN jobs AS j ON j.job_no = s.job_no WHERE s.job_no IN :these ORDER BY s.job_no {lock}
"""
# The oldest of a history that is too long to be read: what is older than that is read, of all jobs. They are
# where the links end, but for backfills: its job may then no longer find one of those, until it goes, too.
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
SKIPS = "SELECT first_at, last_at FROM skips WHERE job_no = :job ORDER BY first_at, last_at LIMIT :most"


class _Job(NamedTuple):
    number: int
    key: str
    policy_no: int
    newest_at: int | None
    opened: int
    skipped: int


class _Look:
    """A look at the history of one job: what was asked, until it is answered."""

    def __init__(self, dialect: Dialect, job: _Job, keep: Keep, since: int | None) -> None:
        self.job = job
        self.keep = keep
        self.since = since
        most = min(keep.last or 0, NEVER) + MOST_WALKED
        self._walk = history.Walk(dialect, job.number, job.newest_at, most)
        self._skips = dialect.run(SKIPS, job=job.number, most=most)
        self._outputs = history.ask_for_outputs(dialect, job.key)

    def end(self) -> None:
        """Take the answers."""
        self.walked = self._walk.end()
        self.skips = self._skips.fetchall()
        self.has_outputs = bool(self._outputs.fetchall())


class Pruner:
    """One call to forget: at most `limit` attempts and skips. `looked_at`: the keys of jobs it changed."""

    def __init__(self, dialect: Dialect, shelf: Shelf, now: datetime, limit: int) -> None:
        self._dialect = dialect
        self._shelf = shelf
        self._now = whole(now)
        self._room = limit
        self._limit = limit
        self._to_read = _MOST_READ
        self._attempts: list[Row] = []
        self._skips: list[Row] = []
        self._outputs: list[Row] = []
        self._nexts: list[Row] = []
        self.looked_at: list[str] = []

    def prune(self) -> Pruned:
        """Forget what is due to be forgotten; `more`: it is worth calling again."""
        if self._limit < 1:
            return Pruned()
        removed = history.forget_removed(self._dialect, self._limit)
        if removed:
            return Pruned(removed, more=True)
        first = self._first()
        if first is None:
            return Pruned()
        numbers = self._worth_a_look(first)
        while numbers and self._room > 0 and self._to_read > 0:
            self._look_at(numbers[:_TOGETHER])
            numbers = numbers[_TOGETHER:]
        self._write()
        return Pruned(self._limit - self._room, more=True)

    def _look_at(self, numbers: list[int]) -> None:
        """Short looks are asked for together, because each answer is a journey; long ones each alone."""
        jobs = self._locked(numbers)
        strays = set(numbers[:1]) - {job.number for job in jobs}  # the first was found, and has no job
        self._nexts += [(NEVER, None, number) for number in strays]
        begun: list[_Look] = []
        for job in jobs:
            look = self._begin(job) if self._room > 0 and self._to_read > 0 else None
            if look is not None:
                begun.append(look)
            if look is not None and (look.keep.last is None or look.keep.last > _SHORT):
                self._end(begun)
        self._end(begun)

    def _end(self, begun: list[_Look]) -> None:
        for look in begun:
            self._forget_what_can_be_read(look)
        begun.clear()

    # -- which -------------------------------------------------------------------------------------

    def _first(self) -> int | None:
        dialect = self._dialect
        ripe = RIPE.format(ripe=dialect.using("states_ripe"), lock=dialect.lock)
        old = OLD.format(old=dialect.using("states_old"), lock=dialect.lock)
        found = dialect.run(ripe).fetchall() or dialect.run(old, now=self._now).fetchall()
        return found[0][0] if found else None

    def _worth_a_look(self, first: int) -> list[int]:
        """A job, and those of its neighbours that will soon be due: enough to do."""
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
        """About how much a look at a job would forget; nothing, if it is not worth it."""
        _, over, look_at, policy_no = row
        keep = keep_of(self._shelf, policy_no)
        if keep is None:
            return 0
        step = next_look(keep)
        if over >= -(step // 4):
            return int(step + over)
        return int(isinstance(look_at, int) and look_at <= self._now)

    def _locked(self, numbers: list[int]) -> list[_Job]:
        asked = THESE.format(lock=self._dialect.lock)
        return list(map(_Job._make, self._dialect.select_among(asked, numbers)))

    # -- one job -----------------------------------------------------------------------------------

    def _begin(self, job: _Job) -> _Look | None:
        self.looked_at.append(job.key)
        if not _is_count(job.opened) or not _is_count(job.skipped):  # with a count so large it is always due
            for column in ("opened", "skipped"):
                self._dialect.set_column("states", column, "job_no", [(0, job.number)])
            job = job._replace(opened=0, skipped=0)
        keep = keep_of(self._shelf, job.policy_no)
        if keep is None or (keep.last is None and keep.days is None and not keep.problems_only):
            keeps_all = keep is not None
            self._set_next(job, NEVER, None if keeps_all else self._now + DAY)  # another node may read it
            return None
        return _Look(self._dialect, job, keep, None if keep.days is None else self._now - keep.days * DAY)

    def _forget_what_can_be_read(self, look: _Look) -> None:
        """A history that is damaged stays as it is, and is not in the way of others."""
        try:
            look.end()
            self._to_read -= len(look.walked.rows)
            self._forget(look)
        except UNREADABLE:
            self._set_next(look.job, NEVER, self._now + DAY)

    def _forget(self, look: _Look) -> None:
        job, keep, walked, since = look.job, look.keep, look.walked, look.since
        gone = _surplus(walked, job.opened, keep, since)
        is_cut = walked.beyond is not None
        if is_cut and since is not None:
            asked = self._dialect.run(OLDEST, job=job.number, since=since, most=self._room)
            gone = list({*gone, *map(Past._make, asked.fetchall())})
        places = superfluous_skips([last for _, last in look.skips], keep, since)
        old_skips = [look.skips[place] for place in places]
        is_all = len(gone) + len(old_skips) <= self._room and not (gone and is_cut)
        gone = sorted(gone, key=lambda row: row.seq)[: self._room]
        self._room -= len(gone)
        skips = old_skips[: self._room]
        self._room -= len(skips)
        self._attempts += [(row.at, job.number, row.request, row.number) for row in gone]
        self._skips += [(job.number, *skip) for skip in skips]
        if look.has_outputs:
            self._outputs += history.output_keys(job.key, gone)
        if walked.is_parted or (gone and (is_cut or _is_linked_through(walked, gone, job.newest_at))):
            newest = history.link_what_is_left(self._dialect, job.number, walked, gone)
            if newest != job.newest_at:
                self._dialect.set_column("states", "newest_at", "job_no", [(newest, job.number)])
        if is_all:
            cut = job.opened - (keep.last or 0)
            is_open = any(row[3] != _ENDED and row[6] <= cut for row in walked.rows)
            left: list[int | None] = []
            if keep.days is not None or keep.problems_only:
                left = [row.finished_at for row in set(walked.rows).difference(gone) if row.state == _ENDED]
                left += [skip[1] for skip in set(look.skips).difference(skips)]
            self._set_next(
                job,
                job.opened + job.skipped + next_look(keep, len(left)),
                self._next_look_at(keep, left, is_cut=is_cut, is_open=is_open),
            )

    def _next_look_at(self, keep: Keep, left: list[int | None], *, is_cut: bool, is_open: bool) -> int | None:
        """When the oldest that is left is too old. What is open may be superfluous when it has ended."""
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

    def _set_next(self, job: _Job, trim_at: int, look_at: int | None) -> None:
        self._nexts.append((min(trim_at, NEVER), look_at, job.number))

    def _write(self) -> None:
        dialect = self._dialect
        dialect.delete("outputs", "run_key, number", self._outputs)
        history.delete(dialect, self._attempts)
        dialect.delete("skips", "job_no, first_at, last_at", self._skips)
        dialect.set_column("states", "trim_at", "job_no", [(trim, job) for trim, _, job in self._nexts])
        dialect.set_column("states", "look_at", "job_no", [(look, job) for _, look, job in self._nexts])


def _surplus(walked: Walked, opened: int, keep: Keep, since: int | None) -> list[Past]:
    """The attempts that are not kept."""
    orders = _orders(walked.rows, opened)
    ended = {order: row for order, row in orders.items() if row[3] == _ENDED}
    found = superfluous(
        [(order, _instant(row[5]), row[4] == _SUCCEEDED) for order, row in ended.items()],
        max(orders, default=opened),
        keep,
        since,
    )
    return [ended[order] for order in found]


def _orders(rows: list[Past], opened: int) -> dict[int, Past]:
    """Attempts in the order of their opening. Older programs do not number theirs: there time decides."""
    found = {row[6]: row for row in rows}
    if 0 not in found:
        return found
    unnumbered = [row for row in rows if not row.seq]
    found = {row.seq: row for row in rows if row.seq}
    unnumbered.sort(key=lambda row: (_instant(row.at) or 0, row.number))
    newest = max((_instant(row.at) or 0 for row in found.values()), default=0)
    later = [row for row in unnumbered if found and (_instant(row.at) or 0) > newest]
    earlier = unnumbered[: len(unnumbered) - len(later)]
    found |= {opened + place: row for place, row in enumerate(later, start=1)}
    found |= {-place: row for place, row in enumerate(reversed(earlier))}
    return found


def _is_linked_through(walked: Walked, gone: list[Past], newest_at: int | None) -> bool:
    """Whether something that stays is found by a link of something that goes."""
    ids = set(map(id, gone))
    left = {row[0] for row in walked.rows if id(row) not in ids}
    return newest_at not in left or not left.isdisjoint([row[7] for row in gone])


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < ABSURD


def _instant(value: object) -> int | None:
    """A number; what is damaged has no age."""
    return value if isinstance(value, int) else None


def keep_of(shelf: Shelf, policy_no: int) -> Keep | None:
    """What a policy keeps; None if it cannot be read."""
    try:
        return read_policy(shelf.policy(policy_no))[0].keep
    except (DamagedRecordError, *UNREADABLE):
        return None
