"""Everything that the logs tell about one job, put together for the rules."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from datetime import datetime, timedelta
from functools import cached_property
from typing import NamedTuple

from foliot.model.attempt import Attempt, Outcome
from foliot.model.outbox import ChannelAlert
from foliot.model.state import Skip
from foliot_proof.history.facts import (
    Change,
    Definition,
    Finish,
    History,
    Mark,
    Operation,
    Told,
    Verdict,
    Witness,
)
from foliot_proof.history.hosts import Hosts
from foliot_proof.history.owed import Marks, Slot, slots
from foliot_proof.history.rows import Effect, Row, Run
from foliot_proof.history.worlds import Stretch, is_new, stretches

_LONG_BEFORE = timedelta(days=3650)


class Logs(NamedTuple):
    """The facts about one job."""

    changes: list[Change]
    attempts: list[Attempt]
    skips: list[Skip]
    witness: list[Witness]
    finishes: list[Finish]
    forgotten: list[datetime]
    told: list[Told]
    outbox: list[ChannelAlert]


class Story:
    """One job: what was owed, what the ledger says, and what the witness saw."""

    def __init__(self, job: str, logs: Logs, history: History, hosts: Hosts) -> None:
        self.job = job
        self.final = history.final
        self.bounds = history.bounds
        self.hosts = hosts
        self.changes = sorted(logs.changes, key=lambda change: change.asked_at)
        self._attempts = logs.attempts
        self.skips = logs.skips
        self.finishes = logs.finishes
        self.forgotten_until = max(logs.forgotten, default=None)
        self._witness = logs.witness
        self.told = logs.told
        self.outbox = logs.outbox

    def is_forgotten(self, at: datetime) -> bool:
        """Whether the ledger need not know of it any more."""
        return self.forgotten_until is not None and at <= self.forgotten_until

    # -- definitions -------------------------------------------------------------------------------

    @cached_property
    def stretches(self) -> list[Stretch]:
        """What its definition can have been, over time."""
        begin = self.changes[0].asked_at - _LONG_BEFORE if self.changes else self.final
        return stretches(self.changes, begin, self.final)

    @cached_property
    def all_definitions(self) -> set[Definition]:
        """Every definition that it may ever have had."""
        return {
            world.definition for s in self.stretches for world in s.worlds if world.definition is not None
        }

    @cached_property
    def offset(self) -> timedelta:
        """How long after its occurrences it starts, at least."""
        return min((definition.offset for definition in self.all_definitions), default=timedelta(0))

    def definitions(self, begin: datetime, end: datetime) -> set[Definition]:
        """Every definition that can have been in force between two instants, skew included."""
        return {
            world.definition
            for stretch in self._near(begin, end)
            for world in stretch.worlds
            if world.definition is not None
        }

    def is_surely_declared(self, at: datetime) -> bool:
        """Whether the job was there at an instant, whichever way unsure changes went."""
        return all(world.is_declared for stretch in self._near(at, at) for world in stretch.worlds)

    def born_at(self, at: datetime) -> datetime:
        """When, up to an instant, the job was last declared as a new one, or may have been."""
        births = [
            stretch.begin
            for stretch in self.stretches
            if stretch.begin <= at
            and any(is_new(old, new) for old in stretch.before for new in stretch.worlds)
        ]
        return max(births, default=at)

    def is_settled(self, begin: datetime, end: datetime) -> bool:
        """Whether it is known what its definition was between two instants, and that it did not change."""
        near = self._near(begin, end)
        return len(near) == 1 and len(near[0].worlds) == 1

    def _near(self, begin: datetime, end: datetime) -> list[Stretch]:
        skew = self.bounds.skew
        return [s for s in self.stretches if s.begin <= end + skew and s.end >= begin - skew]

    def asked(self, what: Operation, subject: str | None = None) -> list[Change]:
        """Requests of one kind that took effect, or may have."""
        return [
            change
            for change in self.changes
            if change.what is what
            and change.verdict is not Verdict.REFUSED
            and subject in (None, change.subject)
        ]

    # -- what was owed, and what became of it ------------------------------------------------------

    @cached_property
    def slots(self) -> list[Slot]:
        """The occurrences that were owed, or may have been, in order."""
        claims = sorted(row.claimed for row in self.rows if row.claimed is not None)
        served = sorted((*(row.at for row in self.rows), *(skip.last for skip in self.skips)))
        return slots(self.stretches, self.hosts, self.final, Marks(claims, served))

    @cached_property
    def _instants(self) -> list[datetime]:
        return [slot.at for slot in self.slots]

    @cached_property
    def _by_due(self) -> list[Slot]:
        return sorted(self.slots, key=_due)

    def slot(self, at: datetime) -> Slot | None:
        """The slot of an instant."""
        found = self.slots_in(at, at)
        return self.slots[found[0]] if found else None

    def slots_in(self, first: datetime, last: datetime) -> range:
        """The indices of the slots of a range, both ends included."""
        return range(bisect_left(self._instants, first), bisect_right(self._instants, last))

    def slots_between(self, begin: datetime, end: datetime) -> list[Slot]:
        """The slots that fell due from one instant to another, or may have."""
        first, last = bisect_left(self._by_due, begin, key=_due), bisect_right(self._by_due, end, key=_due)
        return self._by_due[first:last]

    def owed_between(self, begin: datetime, end: datetime) -> list[Slot]:
        """Those of them that surely did."""
        return [slot for slot in self.slots_between(begin, end) if slot.is_owed]

    @cached_property
    def rows(self) -> list[Row]:
        """What the ledger has."""
        found = []
        for attempt in self._attempts:
            key = attempt.run_key
            found.append(Row(attempt, key, self.effects_of.get((key, attempt.number), ())))
        return found

    @cached_property
    def timed(self) -> list[Row]:
        """Those of the rows whose times can be trusted."""
        return [row for row in self.rows if not self.is_murky(row)]

    def is_murky(self, row: Row) -> bool:
        """Whether nobody can say when an attempt was due, claimed or ended."""
        return self.hosts.is_murky(*row.instants)

    def reported(self, row: Row) -> datetime:
        """The last moment at which the store can have taken an attempt for running."""
        if row.finished is None:
            return self.hosts.horizon
        is_lost = row.outcome is Outcome.LOST
        return row.finished if is_lost else self.hosts.reported_at(row.attempt.node, row.finished)

    @cached_property
    def rows_of(self) -> dict[tuple[str, int], list[Row]]:
        """Rows by attempt; there should be one each."""
        found: dict[tuple[str, int], list[Row]] = {}
        for row in self.rows:
            found.setdefault((row.run_key, row.number), []).append(row)
        return found

    @cached_property
    def runs(self) -> dict[str, Run]:
        """Runs by their key; rows that claim the same number stand side by side."""
        rows: dict[str, list[Row]] = defaultdict(list)
        for row in self.rows:
            rows[row.run_key].append(row)
        return {key: Run(key, tuple(sorted(found, key=_by_number))) for key, found in rows.items()}

    @cached_property
    def scheduled(self) -> list[Run]:
        """The runs that occurrences made, in the order of those."""
        return sorted((run for run in self.runs.values() if run.is_scheduled), key=lambda run: run.at)

    @cached_property
    def served_by(self) -> list[list[Run]]:
        """For each slot, the runs that stand for it."""
        found: list[list[Run]] = [[] for _ in self.slots]
        for run in self.scheduled:
            for index in self.slots_in(run.first.attempt.covers_from or run.at, run.at):
                found[index].append(run)
        return found

    @cached_property
    def skipped_by(self) -> list[list[Skip]]:
        """For each slot, the skips that it is part of."""
        found: list[list[Skip]] = [[] for _ in self.slots]
        for skip in self.skips:
            for index in self.slots_in(skip.first, skip.last):
                found[index].append(skip)
        return found

    # -- what the jobs saw -------------------------------------------------------------------------

    @cached_property
    def effects(self) -> list[Effect]:
        """Every start, with the end that belongs to it, in order."""
        ends: dict[tuple[str, int, int, str], list[datetime]] = defaultdict(list)
        for line in sorted(self._witness, key=lambda line: line.at, reverse=True):
            if line.what is Mark.END:
                ends[line.run_key, line.number, line.token, line.node].append(line.at)
        found = []
        for line in sorted(self._witness, key=lambda line: line.at):
            if line.what is Mark.START:
                own = ends[line.run_key, line.number, line.token, line.node]
                end = own.pop() if own else None
                found.append(Effect(line.run_key, line.number, line.token, line.node, line.at, end))
        return found

    @cached_property
    def effects_of(self) -> dict[tuple[str, int], tuple[Effect, ...]]:
        """Starts by attempt."""
        found: dict[tuple[str, int], list[Effect]] = defaultdict(list)
        for effect in self.effects:
            found[effect.run_key, effect.number].append(effect)
        return {key: tuple(seen) for key, seen in found.items()}

    def end_of(self, effect: Effect) -> datetime:
        """When an effect was over; one without an end died with its process, or was never seen to."""
        if effect.end is not None:
            return effect.end
        rows = self.rows_of.get((effect.run_key, effect.number), [])
        ends = [row.finished for row in rows]
        ends.append(self.hosts.gone_at(self.hosts.home(effect.node), effect.start, self.final))
        return max(effect.start, min((end for end in ends if end is not None), default=self.final))


def _due(slot: Slot) -> datetime:
    return slot.due


def _by_number(row: Row) -> tuple[int, int]:
    return row.number, row.attempt.token
