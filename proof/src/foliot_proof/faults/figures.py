"""What a trial has measured: how soon nodes were back, lost runs were taken over, and calls were answered.

Where two faults concern the same moment nobody can say which was the cause, so only what is clear counts.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from foliot.engine.settings import Settings
from foliot.model.attempt import Attempt, Outcome
from foliot_proof.faults.fault import ON_THE_WAY, OUTAGES, InjectedFault, Kind
from foliot_proof.faults.witness_log import Note, Times
from foliot_proof.history.facts import History, Mark, Trouble
from foliot_proof.history.hosts import Hosts

BACK_WITHIN = 5.0  # seconds from the end of a fault to the first claim
_CALLS = {"reconcile": 2.0, "prune": 2.0}  # verbs that are more than one call
_NOISE = 1.0  # seconds that a busy machine may add to a call
_LITTLE = timedelta(milliseconds=300)
_AFTERMATH = timedelta(seconds=2)
Seconds = dict[str, list[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Seconds by kind of fault, or by verb of the store.

    `felt`: faults by which a call of a node failed. `back`: from the end of a fault to the first claim of a
    node that it had cut off. `recovered`: from a fault to the next attempt of a run that was lost by it, if
    somebody else was well. `settled`: from a commit whose answer was lost until what it had claimed
    started, or was ended. `slowest`: the slowest call of each verb. `blame`: whose faults explain failures.
    `robbed`: attempts that were taken from a node to which nothing had happened but an outage of the store.
    `unrenewed`: those that such a node lost later, when it had had time to renew, and how long after it.
    """

    lease: float
    felt: Mapping[str, int] = field(default_factory=dict)
    back: Mapping[str, Sequence[float]] = field(default_factory=dict)
    recovered: Mapping[str, Sequence[float]] = field(default_factory=dict)
    settled: Sequence[float] = ()
    slowest: Mapping[str, float] = field(default_factory=dict)
    blame: Mapping[str, int] = field(default_factory=dict)
    robbed: Sequence[str] = ()
    unrenewed: Mapping[str, float] = field(default_factory=dict)

    def problems(self, *, is_server: bool, is_strict: bool = False) -> Iterator[str]:
        """What took longer than is promised."""
        taken_over = self.lease + BACK_WITHIN
        for kind, times in self.back.items():
            if max(times) > BACK_WITHIN:
                yield f"first claim {max(times):.1f} s after {kind} was over, instead of {BACK_WITHIN:g}"
        for kind, times in self.recovered.items():
            if max(times) > taken_over:
                yield f"taken over {max(times):.1f} s after {kind}, instead of {taken_over:g}"
        if self.settled and max(self.settled) > taken_over:
            yield f"claimed, and nothing of it known for {max(self.settled):.1f} s"
        for attempt in self.robbed:
            yield f"{attempt} was lost by an outage of the store, though its node lived"
        for attempt, seconds in (
            self.unrenewed.items() if is_strict else ()
        ):  # a busy machine explains it, too
            yield f"{attempt} was lost: its node did not renew for {seconds:.1f} s after the store was back"
        for verb, seconds in self.slowest.items() if is_server else ():
            if seconds > self._deadline(verb) + _NOISE:
                yield f"{verb} took {seconds:.2f} s, instead of {self._deadline(verb):g}"

    def _share(self, verb: str) -> float:
        """The slowest call of a verb, as a multiple of its deadline."""
        return self.slowest[verb] / self._deadline(verb)

    def _deadline(self, verb: str) -> float:
        """A quarter of the lease, for each call that a verb consists of."""
        return self.lease / 4 * _CALLS.get(verb, 1.0)

    def lines(self) -> Iterator[str]:
        """All of it, for people."""
        if self.felt:
            yield "felt: " + ", ".join(f"{kind} {count}" for kind, count in sorted(self.felt.items()))
        yield from _table("first claim after", self.back)
        yield from _table("taken over after", self.recovered)
        if self.settled:
            yield f"claims whose answer was lost: settled within {max(self.settled):.2f} s"
        if self.slowest:
            verb = max(self.slowest, key=self._share)
            share = f"{self._share(verb):.2f} of its deadline"
            yield f"slowest call: {verb} {self.slowest[verb]:.2f} s, {share}"
        if self.blame:
            yield "failed calls by cause: " + ", ".join(f"{n} {who}" for who, n in sorted(self.blame.items()))

    def as_json(self) -> dict[str, Any]:
        """All of it, for programs."""
        return {
            "lease": self.lease,
            "felt": dict(self.felt),
            "back": {kind: _summary(times) for kind, times in self.back.items()},
            "recovered": {kind: _summary(times) for kind, times in self.recovered.items()},
            "settled": _summary(self.settled),
            "slowest_calls": dict(self.slowest),
            "slowest_of_deadline": round(max(map(self._share, self.slowest), default=0.0), 3),
            "failed_calls_by_cause": dict(self.blame),
            "lost_by_outages": len(self.robbed),
            "lost_after_outages": len(self.unrenewed),
        }


def _table(words: str, times: Mapping[str, Sequence[float]]) -> Iterator[str]:
    parts = (f"{kind} {_middle(found):.1f}, most {max(found):.1f} s" for kind, found in sorted(times.items()))
    if times:
        yield f"{words}: " + "; ".join(parts)


def _summary(times: Sequence[float]) -> dict[str, float]:
    if not times:
        return {"count": 0}
    found = {"count": len(times), "p50": _middle(times), "most": max(times)}
    return {name: round(value, 3) for name, value in found.items()}


def _middle(times: Sequence[float]) -> float:
    return sorted(times)[len(times) // 2]


def measure(
    history: History, injected: Sequence[InjectedFault], notes: Sequence[Note], times: Times
) -> Figures:
    """Measure a trial that is over."""
    looker = _Looker(history, injected, notes, times)
    robbed, unrenewed = looker.lost_by_outages()
    return Figures(
        lease=history.bounds.lease.total_seconds(),
        felt=looker.felt(),
        back=looker.back(),
        recovered=looker.recovered(),
        settled=tuple(looker.settled()),
        slowest=looker.slowest(),
        blame=looker.blame(),
        robbed=robbed,
        unrenewed=unrenewed,
    )


class _Looker:
    """Looks for one thing after another in what a trial has left."""

    def __init__(
        self, history: History, injected: Sequence[InjectedFault], notes: Sequence[Note], times: Times
    ) -> None:
        self._history = history
        self._times = times
        self._hosts = Hosts(history)
        self._injected = [fault for fault in sorted(injected, key=lambda fault: fault.begin) if fault.bites]
        self._notes: dict[tuple[str, str], list[Note]] = defaultdict(list)
        for note in notes:
            self._notes[note.what, note.host].append(note)

    def _of(self, what: str) -> Iterator[Note]:
        return (note for (kind, _), notes in self._notes.items() if kind == what for note in notes)

    def _concerned(self, fault: InjectedFault) -> list[str]:
        return [fault.host] if fault.host is not None else self._hosts.names

    def felt(self) -> Counter[str]:
        """Faults on the way, or of the store, by which a call failed."""
        found: Counter[str] = Counter()
        for fault in self._injected:
            if fault.kind in (*ON_THE_WAY, *OUTAGES):
                ends = fault.end + _AFTERMATH
                notes = [n for host in self._concerned(fault) for n in self._notes["trouble", host]]
                found[fault.kind] += any(fault.begin <= note.at <= ends for note in notes)
        return found

    def back(self) -> Seconds:
        """Until the first claim after a fault, if nothing else has happened to that host meanwhile."""
        found: Seconds = defaultdict(list)
        for fault in self._injected:
            if fault.kind not in (*ON_THE_WAY, *OUTAGES):
                continue
            for host in self._concerned(fault):
                notes = self._notes["back", host]
                index = bisect_left(notes, fault.end, key=lambda note: note.at)
                if index < len(notes) and not self._is_disturbed(host, fault, notes[index].at):
                    found[fault.kind].append((notes[index].at - fault.end).total_seconds())
        return dict(found)

    def _is_disturbed(self, host: str, fault: InjectedFault, until: datetime) -> bool:
        others = (d for d in self._injected if d is not fault and d.host in (host, None))
        return any(other.begin <= until and other.end >= fault.begin for other in others)

    def recovered(self) -> Seconds:
        """Until a run that was lost is tried again, if somebody else was well and the job free."""
        by_key = {attempt.key: attempt for attempt in self._history.attempts}
        found: Seconds = defaultdict(list)
        for lost in self._history.attempts:
            follower = by_key.get((lost.run_key, lost.number + 1))
            if lost.outcome is not Outcome.LOST or follower is None or follower.claimed_at is None:
                continue
            cause = self._cause(lost)
            if cause is None or self._waited(lost, follower):
                continue
            if self._somebody_was_well(cause, follower.claimed_at):
                found[cause.kind].append((follower.claimed_at - cause.begin).total_seconds())
        return dict(found)

    def _waited(self, lost: Attempt, follower: Attempt) -> bool:
        """Whether another run of the job was open when the next attempt could have started."""
        final = self._history.final
        begin, end = lost.finished_at or final, follower.claimed_at or final
        others = (a for a in self._history.attempts if a.job == lost.job and a.run_key != lost.run_key)
        return any((a.claimed_at or final) < end and (a.finished_at or final) > begin for a in others)

    def _cause(self, lost: Attempt) -> InjectedFault | None:
        """The last fault of its host that was early enough to end its lease."""
        bounds, home = self._history.bounds, self._hosts.home(lost.node)
        if lost.claimed_at is None or lost.finished_at is None:
            return None
        latest = lost.finished_at - bounds.lease + bounds.beat + _LITTLE
        own = [
            fault
            for fault in self._injected
            if fault.host in (home, None) and fault.kind is not Kind.CUTCOMMIT
        ]
        found = [fault for fault in own if lost.claimed_at - _LITTLE <= fault.begin <= latest]
        return found[-1] if found else None

    def lost_by_outages(self) -> tuple[tuple[str, ...], dict[str, float]]:
        """What nodes lost that were well, but for the store: after an outage they must have time to renew.

        Who did not renew in that time was not robbed, but too slow, and nothing that was done to it says why.
        """
        patience = Settings(slots={}, beat=self._history.bounds.beat).patience - 2 * _LITTLE
        found = dict(self._after_outages())
        robbed = tuple(attempt for attempt, waited in found.items() if waited < patience)
        return robbed, {a: waited.total_seconds() for a, waited in found.items() if a not in robbed}

    def _after_outages(self) -> Iterator[tuple[str, timedelta]]:
        """The attempts that such nodes held in an outage and then lost, and how long after its end."""
        outages = [fault for fault in self._injected if fault.kind in OUTAGES]
        for lost in self._history.attempts:
            begin, end, home = lost.claimed_at, lost.finished_at, self._hosts.home(lost.node)
            if lost.outcome is not Outcome.LOST or begin is None or end is None:
                continue
            ends = [fault.end for fault in outages if fault.begin <= end and fault.end >= begin]
            if ends and not self._had_trouble(home, begin - self._history.bounds.lease, end):
                yield f"{lost.run_key} #{lost.number} of {home}", end - max(ends)

    def _had_trouble(self, host: str | None, since: datetime, until: datetime) -> bool:
        """Whether anything was done to a host, or it stood still, apart from calls that failed."""
        faults = [f for f in self._history.faults if f.host == host and f.kind is not Trouble.PARTITIONED]
        spans = [(fault.begin, fault.end or until) for fault in faults]
        spans += [(fault.begin, fault.end) for fault in self._injected if fault.host == host]
        return any(begin <= until and end + _AFTERMATH >= since for begin, end in spans)

    def _somebody_was_well(self, fault: InjectedFault, until: datetime) -> bool:
        others = (spans for name, spans in self._hosts.able.items() if name != fault.host)
        return any(begin <= fault.begin and until <= end for spans in others for begin, end in spans)

    def settled(self) -> Iterator[float]:
        """What became of claims that were carried out while their node was not told."""
        starts = {
            (line.run_key, line.number): line.at for line in self._history.witness if line.what is Mark.START
        }
        for fault in self._injected:
            if fault.kind is not Kind.CUTCOMMIT or "claim" not in fault.words:
                continue
            for attempt in self._history.attempts:
                is_of_it = attempt.claimed_at is not None and abs(attempt.claimed_at - fault.end) <= _LITTLE
                if is_of_it and self._hosts.home(attempt.node) == fault.host:
                    known = [starts.get(attempt.key), attempt.finished_at]
                    at = min((at for at in known if at is not None), default=None)
                    yield max(0.0, (at - fault.end).total_seconds()) if at is not None else math.inf

    def slowest(self) -> dict[str, float]:
        """The slowest call of each verb, of those during which the process itself did not stand still."""
        found: dict[str, float] = {}
        for note in self._of("took"):
            verb, since = note.facts["verb"], self._times.instant(note.facts["since"])
            if not self._stood_still(note.host, since, note.at):
                found[verb] = max(found.get(verb, 0.0), round((note.at - since).total_seconds(), 3))
        return found

    def _stood_still(self, host: str, since: datetime, until: datetime) -> bool:
        paused = (fault for fault in self._history.faults if fault.kind is Trouble.PAUSED)
        return any(
            fault.host == host and fault.begin <= until and (fault.end or until) >= since for fault in paused
        )

    def blame(self) -> Counter[str]:
        """Failed calls by whose fault explains them: one's own, the store's, or that of others."""
        found: Counter[str] = Counter()
        for note in self._of("trouble"):
            near = {
                "own" if fault.host in (note.host, None) else "of others"
                for fault in self._injected
                if fault.begin - _LITTLE <= note.at <= fault.end + _AFTERMATH
            }
            found["own" if "own" in near else min(near, default="none known")] += 1
        return found
