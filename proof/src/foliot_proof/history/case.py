"""Who could have acted, and when: the ground of every judgement about lateness.

A *chance* is time in which one and the same host was able and informed, and the job was free and its
occurrences counted. Whoever has had a chance for longer than the tolerance and did nothing is late. A
sliver of ability before a crash is no chance, and neither is one that begins before the node can know.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cached_property
from itertools import accumulate
from operator import itemgetter

from foliot.model.attempt import Outcome, Trigger
from foliot_proof.history.facts import History
from foliot_proof.history.hosts import Hosts
from foliot_proof.history.rows import Row, Run
from foliot_proof.history.spans import Span, covering, crowded, first_room, merged, touches
from foliot_proof.history.story import Logs, Story

Load = dict[tuple[str | None, str], list[Span]]


class Case(Story):
    """A job's story, and the chances that nodes had. `load`: what hosts held, by queue, of all jobs."""

    def __init__(self, job: str, logs: Logs, history: History, hosts: Hosts, load: Load) -> None:
        super().__init__(job, logs, history, hosts)
        self._load = load
        self._reasons: dict[str, list[Span]] = {}
        self._blockers: dict[str, list[Span]] = {}

    def deadline(self, since: datetime, until: datetime, tolerance: timedelta) -> datetime | None:
        """By when somebody has had a chance for longer than a tolerance; None: nobody had until then."""
        found = (
            first_room(self.hosts.able[name], self.blockers(name), since, until, tolerance)
            for name in self._servers
        )
        return min((at for at in found if at is not None), default=None)

    def own_deadline(
        self, key: str, since: datetime, until: datetime, tolerance: timedelta
    ) -> datetime | None:
        """The same for what belongs to a run, which does not stand in its own way."""
        others = self._busy_without(key) if self.was_busy(since, until, without=key) else []
        found = []
        for name in self._servers:
            blockers = merged([*others, *self.reasons(name)]) if others else self.reasons(name)
            found.append(first_room(self.hosts.able[name], blockers, since, until, tolerance))
        return min((at for at in found if at is not None), default=None)

    def can_recover(self, since: datetime, until: datetime, tolerance: timedelta) -> bool:
        """Whether some host was able for longer than a tolerance; recovery needs no free job."""
        spans = self.hosts.able.values()
        return any(first_room(able, (), since, until, tolerance) is not None for able in spans)

    def burial(self, row: Row, last_sign: datetime) -> datetime | None:
        """When the node of an attempt was surely buried, while the attempt was open.

        It was cut off for longer than its lease, and somebody else could recover what it held.
        """
        bounds = self.bounds
        for begin, end in self.hosts.outlived(self.hosts.home(row.attempt.node)):
            if row.claimed is not None and row.claimed <= begin < last_sign - bounds.heal:
                since, until = begin + bounds.lease + bounds.skew, min(end, self.final)
                if self.can_recover(since, until, bounds.recover + bounds.eps):
                    return until
        return None

    @cached_property
    def _servers(self) -> list[str]:
        """The hosts that serve its queue, whichever that was."""
        return [name for name in self.hosts.names if all(name in self.hosts.serving(q) for q in self.queues)]

    @property
    def queues(self) -> set[str]:
        """The queues that it was ever in."""
        return {definition.queue for definition in self.all_definitions}

    def held(self) -> Iterator[tuple[str | None, Span]]:
        """What it took of the hosts' slots, by the ledger and by the witness together."""
        for row in self.rows:
            if row.claimed is not None:
                ends = [self.ended(row), *(self.end_of(effect) for effect in row.seen)]
                yield self.hosts.home(row.attempt.node), (row.claimed, max(ends))
        for effect in self.effects:
            if (effect.run_key, effect.number) not in self.rows_of:
                yield self.hosts.home(effect.node), (effect.start, self.end_of(effect))

    # -- why not -----------------------------------------------------------------------------------

    def blockers(self, name: str) -> list[Span]:
        """When a host may have had a good reason not to start what is due."""
        if name not in self._blockers:
            self._blockers[name] = merged([*self.busy, *self.reasons(name)])
        return self._blockers[name]

    def reasons(self, name: str) -> list[Span]:
        """Those of them that are not other runs of the job."""
        if name not in self._reasons:
            self._reasons[name] = merged([*self._unsettled, *self._uninformed(name), *self._full(name)])
        return self._reasons[name]

    @cached_property
    def _unsettled(self) -> list[Span]:
        """When occurrences did not surely count, and how long nodes may take to notice that they do again."""
        poll, skew = self.bounds.poll, self.bounds.skew
        found = []
        for stretch in self.stretches:
            is_live = all(world.is_live for world in stretch.worlds)
            found.append((stretch.begin - skew, (stretch.begin if is_live else stretch.end) + poll))
        return found

    def _uninformed(self, name: str) -> Iterator[Span]:
        """What one node has ended, another may learn by its next poll only."""
        poll = self.bounds.poll
        for row in self.rows:
            if row.attempt.is_open or row.claimed is None:
                continue
            ended = self.ended(row)
            if row.outcome is Outcome.LOST:
                is_informed = self.all_were_well(ended - self.bounds.skew, ended + poll)
            else:
                is_informed = self.hosts.home(row.attempt.node) == name
            if not is_informed:
                yield ended, ended + poll

    def all_were_well(self, begin: datetime, end: datetime) -> bool:
        """Whether whoever acted, nobody knows who, surely lived on and had room to act again."""
        if any(begin <= last <= end for spans in self.hosts.able.values() for _, last in spans):
            return False
        return not any(touches(self._full(name), begin, end) for name in self._servers)

    def _full(self, name: str) -> list[Span]:
        """When a host had no slot left for the job."""
        found = []
        for queue in self.queues:
            slots = self.hosts.slots(name, queue)
            found += [] if slots is None else crowded(self._load.get((name, queue), ()), slots)
        return merged(found)

    # -- the job's own time ------------------------------------------------------------------------

    def ended(self, row: Row) -> datetime:
        """When an attempt was over for the store; the witness bounds what the ledger says."""
        reported, murk = self.reported(row), self._murk(row)
        if row.end is not None and row.outcome is not Outcome.LOST:
            seen = self.hosts.reported_at(row.attempt.node, row.end) + self.bounds.eps
            reported = max(reported, seen) if murk else min(reported, seen)
        return max((reported, *(end for _, end in murk)))

    def _murk(self, row: Row) -> list[Span]:
        """The times of confusion that an attempt may have reached into."""
        if not self.hosts.murky or not self.is_murky(row):
            return []
        found = (covering(self.hosts.murky, at) for at in row.instants if at is not None)
        return [span for span in found if span is not None]

    @cached_property
    def open_runs(self) -> list[tuple[datetime, datetime, str]]:
        """From when to when each run was open, retries that wait included."""
        return sorted((*span, run.key) for run in self.runs.values() for span in self._chains(run))

    def _chains(self, run: Run) -> Iterator[Span]:
        """A run's time, in as many pieces as it was begun: people may ask for it again later."""
        span: Span | None = None
        for row in run.rows:
            if span is not None and row.trigger is Trigger.BACKFILL:
                yield span
                span = None
            if span is not None:
                span = span[0], self.ended(row)
            elif row.claimed is not None:
                span = min((row.claimed, *(begin for begin, _ in self._murk(row)))), self.ended(row)
        if span is not None:
            yield span

    @cached_property
    def busy(self) -> list[Span]:
        """When as many runs were open as may be, by the strictest of its definitions."""
        return self._busy_without("")

    def _busy_without(self, without: str) -> list[Span]:
        limits = [definition.policy.overlap.most for definition in self.all_definitions]
        bounded = [limit for limit in limits if limit is not None]
        spans = [(begin, end) for begin, end, key in self.open_runs if key != without]
        return crowded(spans, min(bounded)) if bounded else []

    def was_busy(self, begin: datetime, end: datetime, without: str | None = None) -> bool:
        """Whether the job can have been found busy between two instants, by another run than one."""
        if without is None or not touches(self.busy, begin, end):
            return touches(self.busy, begin, end)
        for index in range(bisect_right(self.open_runs, end, key=itemgetter(0)) - 1, -1, -1):
            _, until, key = self.open_runs[index]
            if until >= begin and key != without:
                return True
            if self._last_ends[index] < begin:
                break
        return False

    @cached_property
    def _last_ends(self) -> list[datetime]:
        """When the last of the runs up to each was over."""
        return list(accumulate((end for _, end, _ in self.open_runs), max))
