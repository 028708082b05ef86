"""Rules about alerts: each episode reaches each channel, under one id, and nothing is told that was not.

The outbox is the store's word, `Told` is what the channels noted. Neither is believed alone: episodes of
failure, slowness and silence are computed anew from the attempts (see `episodes`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import pairwise

from foliot.model.alert import AlertKind
from foliot.model.outbox import AlertState, ChannelAlert
from foliot.model.state import SkipCode
from foliot_proof.history.case import Case
from foliot_proof.history.episodes import Episodes, firsts
from foliot_proof.history.facts import Told
from foliot_proof.history.report import Code, Finding
from foliot_proof.history.rows import Row
from foliot_proof.history.spans import covering

_NOTHING = timedelta(0)
# What a later occurrence has overtaken was missed, or a run was in its way: the reason does not say.
_MISSED = (SkipCode.LATE, SkipCode.NEVER_RUN, SkipCode.TOO_MANY)
_EXPIRES = timedelta(days=1)
_RETRIES = timedelta(hours=2)  # the tries of a channel that fails most of the time


def undelivered(case: Case) -> Iterator[Finding]:
    """An alert of the outbox that its channel was never given; or one that no outbox has."""
    given = {(told.channel, told.id) for told in case.told}
    for kept in case.outbox:
        if (kept.channel, kept.alert.id) not in given and not _may_be_untold(case, kept):
            text = f"{kept.alert.kind} of {kept.alert.episode} for {kept.channel}"
            yield Finding(Code.ALERT_LOST, kept.alert.at, f"{text} is {kept.state}, and was never told")
    known = {(kept.channel, kept.alert.id): kept.alert for kept in case.outbox}
    for told in case.told:
        alert = known.get((told.channel, told.id))
        if alert is None or (alert.kind, alert.episode or "") != (told.kind, told.episode):
            yield Finding(Code.ALERT_INVENTED, told.at, f"{told.kind} {told.id} is not in the outbox")


def _may_be_untold(case: Case, kept: ChannelAlert) -> bool:
    """Whether no node could tell an alert in time; by a clock that was set, any alert may be old."""
    at, channel = kept.alert.at, kept.channel
    if kept.state is AlertState.EXPIRED:
        return case.hosts.furthest > _NOTHING or not _can_tell(case, channel, at, at + _EXPIRES)
    return kept.state is AlertState.WAITING and not _can_tell(case, channel, at, case.final)


def renamed(case: Case) -> Iterator[Finding]:
    """One thing was told under two ids, or two things under one."""
    ids: dict[tuple[object, ...], set[str]] = defaultdict(set)
    names: dict[str, set[tuple[object, ...]]] = defaultdict(set)
    for told in case.told:
        ends = (told.run, told.number) if told.kind is AlertKind.RECOVERY else ()
        name = (told.kind, told.episode, told.reminder, *ends)
        ids[name].add(told.id)
        names[told.id].add(name)
        if len(ids[name]) > 1 or len(names[told.id]) > 1:
            yield Finding(Code.ALERT_RENAMED, told.at, f"{told.kind} of {told.episode} has several ids")
            return


def lost(case: Case) -> Iterator[Finding]:
    """An episode that follows from the attempts, or a missed range, was not told on one of its channels."""
    episodes = Episodes(case)
    if episodes.policy is None:
        return
    for channel in episodes.notify.to:
        told = [one for one in (*case.told, *map(_as_told, _expired(case))) if one.channel == channel]
        for kind, rule in _OWED.items():
            if kind in episodes.notify.on:
                owed = rule(episodes, told)
                for at, text in [one for one in owed if _can_tell(case, channel, one[0], case.final)]:
                    yield Finding(Code.ALERT_LOST, at, f"{channel} was not told of {text}")


_Owed = Iterator[tuple[datetime, str]]


def _failures(episodes: Episodes, told: list[Told]) -> _Owed:
    begun = [
        episodes.bad[one.episode] for one in firsts(told, AlertKind.FAILURE) if one.episode in episodes.bad
    ]
    if not episodes.is_steady:
        return
    for end in episodes.owed():
        if not any(episodes.is_same(one, end) for one in begun):
            yield end.until, f"the failure of {end.name}"


def _recoveries(episodes: Episodes, told: list[Told]) -> _Owed:
    """A success after a failure that was told, unless another may have come before it."""
    if not episodes.is_steady or AlertKind.FAILURE not in episodes.notify.on:
        return
    recovered = {f"{one.run}#{one.number}" for one in told if one.kind is AlertKind.RECOVERY}
    for one in firsts(told, AlertKind.FAILURE):
        failed = episodes.bad.get(one.episode)
        after = [end for end in episodes.good.values() if failed and end.until > failed.at]
        if failed is None or not after:
            continue
        sure = [end for end in after if end.is_sure and end.at > failed.until]
        first = min(sure, key=lambda end: end.until, default=None)
        if first is None or episodes.is_removed(failed.at, first.until):
            continue
        may_be_first = {end.name for end in after if end.at <= first.until}
        if not may_be_first & recovered:
            yield first.until, f"the recovery from {one.episode} by {first.name}"


def _missed(episodes: Episodes, told: list[Told]) -> _Owed:
    case = episodes.case
    ranges = {one.episode for one in firsts(told, AlertKind.MISSED)}
    for skip in case.skips:
        is_sure = case.is_surely_declared(skip.last) and not case.hosts.is_murky(skip.first, skip.last)
        is_told = any(_range(name) == (skip.first, skip.last) for name in ranges)
        if skip.code in _MISSED and is_sure and not is_told:
            yield skip.last + case.bounds.poll, f"what was missed from {skip.first} to {skip.last}"


def _slow(episodes: Episodes, told: list[Told]) -> _Owed:
    """A slow attempt of a job whose runs never overlap, unless it is part of a slowness that goes on."""
    case, within = episodes.case, episodes.expect.finish_within
    if within is None or any(d.policy.overlap.most != 1 for d in case.all_definitions):
        return
    names = {one.episode for one in firsts(told, AlertKind.SLOW)}
    begun = [row for row in case.rows if f"{row.run_key}#{row.number}" in names]
    for row in case.timed:
        is_slow = _lasted(row, case.final) > within + case.bounds.eps
        if row.claimed is None or not is_slow or not case.is_surely_declared(row.finished or case.final):
            continue
        if episodes.is_removed(row.claimed, row.finished or case.final):
            continue
        if not any(_goes_on(episodes, one, row) for one in begun):
            yield row.claimed + within + case.bounds.poll, f"the slowness of {row.run_key}#{row.number}"


def _goes_on(episodes: Episodes, first: Row, row: Row) -> bool:
    """Whether no success surely came between the claims of two attempts."""
    case, since = episodes.case, first.claimed
    if since is None or row.claimed is None:
        return False
    if (murk := covering(case.hosts.murky, since)) is not None:
        since = murk[1]
    elif since > row.claimed:
        return False
    return first == row or episodes.surely_between(since, row.claimed) is None


def _silences(episodes: Episodes, told: list[Told]) -> _Owed:
    """The time from one sure success to the next, if it was long, and the job was live all the while."""
    case, every = episodes.case, episodes.expect.success_every
    if every is None:
        return
    begun = firsts(told, AlertKind.SILENT)
    good = sorted(episodes.good.values())
    for end, following in pairwise(good):
        since, until = end.until + every, following.at
        tolerance = case.bounds.poll + case.bounds.recover + case.bounds.eps
        if not end.is_sure or not following.is_sure or not case.can_recover(since, until, tolerance):
            continue
        if not episodes.is_live(end.at, until) or case.hosts.is_murky(since, until):
            continue
        if not any(end.at < one.decided_at <= following.until for one in begun):
            yield until, f"the silence from {end.until} to {until}"


_OWED: dict[AlertKind, Callable[[Episodes, list[Told]], _Owed]] = {
    AlertKind.FAILURE: _failures,
    AlertKind.RECOVERY: _recoveries,
    AlertKind.MISSED: _missed,
    AlertKind.SLOW: _slow,
    AlertKind.SILENT: _silences,
}


# -- what must not be told -------------------------------------------------------------------------


def repeated(case: Case) -> Iterator[Finding]:
    """Two episodes of failure were told, and no success can have come between them."""
    episodes = Episodes(case)
    if episodes.policy is None or not episodes.is_steady:
        return
    begun = {one.episode for one in firsts(case.told, AlertKind.FAILURE)}
    ends = sorted(episodes.bad[name] for name in begun if name in episodes.bad)
    for before, after in pairwise(ends):
        may_be_over = episodes.may_lie_between(before.at, after.until)
        if not may_be_over and not episodes.is_removed(before.at, after.until):
            text = f"{before.name} and {after.name} were told as two failures, without a success between"
            yield Finding(Code.ALERT_REPEATED, after.until, text)


def invented(case: Case) -> Iterator[Finding]:
    """What was told did not happen."""
    episodes = Episodes(case)
    for told in {one.id: one for one in case.told}.values():
        excused = episodes.policy is None or case.is_forgotten(told.decided_at)
        if not excused and not _TRUE[told.kind](episodes, told):
            text = (
                f"{told.kind} of {told.episode} ({told.run} #{told.number}) does not follow from the attempts"
            )
            yield Finding(Code.ALERT_INVENTED, told.at, text)


def _has_failed(episodes: Episodes, told: Told) -> bool:
    end = episodes.bad.get(told.episode)
    return end is not None and (
        not episodes.is_steady or episodes.possible_in_row(end) >= episodes.notify.after
    )


def _has_recovered(episodes: Episodes, told: Told) -> bool:
    trouble = (kept.alert for kept in episodes.case.outbox if kept.alert.kind is not AlertKind.RECOVERY)
    until = told.decided_at + episodes.case.hosts.furthest
    was_told = any(one.episode == told.episode and one.at <= until for one in trouble)
    return was_told and f"{told.run}#{told.number}" in episodes.good


def _was_skipped(episodes: Episodes, told: Told) -> bool:
    first, last = _range(told.episode)
    return any(skip.first == first and skip.last >= last for skip in episodes.case.skips)


def _was_late(episodes: Episodes, told: Told) -> bool:
    case, within = episodes.case, episodes.expect.start_within
    for row in case.rows_of.get((told.run or "", 1), ()):
        due = (row.attempt.covers_from or row.at) + (timedelta(0) if row.attempt.request else case.offset)
        if row.claimed is not None and within is not None and not case.is_murky(row):
            return row.claimed >= due + within - case.bounds.skew
    return within is not None


def _was_slow(episodes: Episodes, told: Told) -> bool:
    case, within = episodes.case, episodes.expect.finish_within
    rows = case.rows_of.get((told.run or "", told.number or 0), ()) if told.run else case.rows
    found = [row for row in rows if f"{row.run_key}#{row.number}" == told.episode]
    return within is not None and any(
        case.is_murky(row) or case.reported(row) - (row.claimed or row.at) >= within - case.bounds.skew
        for row in found
    )


def _was_silent(episodes: Episodes, told: Told) -> bool:
    every = episodes.expect.success_every
    if every is None or episodes.case.hosts.is_murky(told.decided_at):
        return every is not None
    return told.reminder > 0 or episodes.surely_between(told.decided_at - every, told.decided_at) is None


def _was_unsteady(episodes: Episodes, _: Told) -> bool:
    return bool(episodes.good) and bool(episodes.bad)


_TRUE: dict[AlertKind, Callable[[Episodes, Told], bool]] = {
    AlertKind.FAILURE: _has_failed,
    AlertKind.RECOVERY: _has_recovered,
    AlertKind.MISSED: _was_skipped,
    AlertKind.SKIPPED: _was_skipped,
    AlertKind.LATE: _was_late,
    AlertKind.SLOW: _was_slow,
    AlertKind.SILENT: _was_silent,
    AlertKind.FLAPPING: _was_unsteady,
    AlertKind.OUTPUT: lambda *_: False,  # no job of a harness writes
    AlertKind.SOURCE: lambda *_: False,
}


# -- small things ----------------------------------------------------------------------------------


def _expired(case: Case) -> list[ChannelAlert]:
    return [kept for kept in case.outbox if kept.state is AlertState.EXPIRED]


def _as_told(kept: ChannelAlert) -> Told:
    """What is too old to be told is settled all the same; whether it may be so old is another rule."""
    alert, at = kept.alert, kept.settled_at or kept.alert.at
    return Told(
        kept.channel, alert.job, alert.id, alert.kind, alert.episode or "", alert.reminder, alert.run,
        alert.attempt, alert.at, "", at,
    )  # fmt: skip


def _range(name: str) -> tuple[datetime, datetime]:
    first, _, last = name.partition("..")
    return datetime.fromisoformat(first), datetime.fromisoformat(last)


def _lasted(row: Row, final: datetime) -> timedelta:
    return (row.finished or final) - (row.claimed or final)


def _can_tell(case: Case, channel: str, since: datetime, until: datetime) -> bool:
    """Whether a node that had the channel had time enough, in one piece, to recover what the dead held."""
    bounds = case.bounds
    return case.hosts.can_tell(channel, since, until, bounds.lease + bounds.recover + bounds.beat + _RETRIES)
