"""The store in memory: the contract in its most readable form, and a product for tests and notebooks.

Everything is in dictionaries behind one lock, so each verb is atomic by itself. Nothing survives the
process. `now` of leases is the store's own clock, as with a server.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from foliot.errors import CommandRefusedError, JobNotFoundError, NodeBuriedError, StaleRevisionError
from foliot.model.attempt import Attempt, AttemptState, Ending, Outcome, Refused
from foliot.model.damage import Damage, damage_of
from foliot.model.decision import Decision, Event, set_aside
from foliot.model.job import Job
from foliot.model.state import Lease, Node, Record, Skip
from foliot.model.view import NodeView, Overview, SourceView
from foliot.protocols import (
    Changes,
    Claimed,
    Clock,
    DecideCommand,
    DecideDeclared,
    DecideDue,
    DecideEnded,
    DecideLost,
    DecideRemoved,
    Finished,
    JobQuery,
    JobView,
    Output,
    Pruned,
    Recovered,
    RunQuery,
)
from foliot.stores.due import DueIndex
from foliot.stores.glance import overview_of, sources_of
from foliot.stores.matching import decide_once, is_held, is_wanted, lease_end, swap_end, swap_loss
from foliot.stores.retention import superfluous, superfluous_skips

_MOST_LOOKS = 1000


class _Life(NamedTuple):
    node: Node
    until: datetime
    is_buried: bool = False


class MemoryStore:
    """Keeps jobs for as long as the process lives."""

    proves_deaths = True  # it is never away, so a lease that has run out tells of its node

    def __init__(self, clock: Clock, *, lease: timedelta = timedelta(seconds=30)) -> None:
        self._clock = clock
        self._lease = lease
        self._lock = threading.RLock()
        self._records: dict[str, Record] = {}
        self._damage: dict[str, Damage] = {}
        self._due = DueIndex(self._sound)
        self._history: dict[str, dict[tuple[str, int], Attempt]] = {}
        self._skips: dict[str, dict[tuple[datetime, datetime], Skip]] = {}
        self._nodes: dict[str, _Life] = {}
        self._claims: dict[str, tuple[datetime, Claimed]] = {}
        self._sources: dict[str, SourceView] = {}
        self._outputs: dict[tuple[str, int], Output] = {}

    # -- nodes -------------------------------------------------------------------------------------

    async def join(self, node: Node) -> Lease:
        with self._lock:
            known = self._nodes.get(node.id)
            if known is None or not known.is_buried:
                self._nodes[node.id] = _Life(node, self._clock.now())
            return self._renewed(node.id)

    async def renew(self, node: str) -> Lease:
        with self._lock:
            return self._renewed(node)

    async def leave(self, node: str) -> None:
        with self._lock:
            if life := self._nodes.get(node):
                self._nodes[node] = life._replace(is_buried=True)

    async def held(self, node: str) -> tuple[Attempt, ...]:
        with self._lock:
            return self._held(self._living(node).node.id)

    def _renewed(self, node: str) -> Lease:
        life, now = self._living(node), self._clock.now()
        self._nodes[node] = life._replace(until=now + self._lease)
        held = self._held(node)
        cancels = tuple(a.key for a in held if a.state is AttemptState.CANCELLING)
        return Lease(now, now + self._lease, len(held), cancels)

    def _living(self, node: str) -> _Life:
        life = self._nodes.get(node)
        if life is None or life.is_buried:
            raise NodeBuriedError(node)
        return life

    def _held(self, node: str) -> tuple[Attempt, ...]:
        records = self._records.values()
        return tuple(a for record in records for a in record.attempts if a.is_running and a.node == node)

    # -- runs --------------------------------------------------------------------------------------

    async def claim(
        self, node: str, now: datetime, room: Mapping[str, int], decide: DecideDue, claim_id: str
    ) -> Claimed:
        with self._lock:
            life = self._living(node)
            if claim_id in self._claims:
                return self._claims[claim_id][1]
            if self._clock.now() >= life.until:
                return Claimed()  # the lease has run out: nothing is claimed until it is renewed
            claimed = self._claim(life.node, now, room, decide)
            if claimed.attempts:
                self._remember(claim_id, claimed)
            return claimed

    def _claim(self, node: Node, now: datetime, room: Mapping[str, int], decide: DecideDue) -> Claimed:
        started: list[tuple[Job, Attempt]] = []
        events: list[Event] = []
        passed: list[Record] = []
        looks, history = 0, self._history
        ask = partial(decide_once, decide, lambda a: a.key in history.get(a.job, ()), now, node.id)
        for queue, free in room.items():
            most = len(started) + free
            while len(started) < most and looks < _MOST_LOOKS:
                if (record := self._due.pop(queue, node.kinds, now)) is None:
                    break
                decision = self._ask(record, ask, now, events)
                if decision and decision.is_nothing(record):
                    passed.append(record)  # and out of this claim's sight
                    continue
                looks += 1
                if decision:
                    self._write(record.job, decision)
                    old = record.state.token
                    started += ((record.job, a) for a in decision.attempts if a.is_running and a.token > old)
        for record in passed:
            self._due.push(record)
        return Claimed(tuple(started), tuple(events), more=looks >= _MOST_LOOKS)

    def _sound(self, key: str) -> Record | None:
        """A record that is in service."""
        return None if key in self._damage else self._records.get(key)

    async def finish(
        self, node: str, endings: Sequence[Ending], now: datetime, decide: DecideEnded
    ) -> Finished:
        refused: list[Refused] = []
        events: list[Event] = []
        with self._lock:
            self._living(node)
            for ending in endings:
                record = self._records.get(ending.job)
                if record is None or not is_held(record, ending, node):
                    refused.append(Refused(ending, "the attempt is not open under that node and token"))
                    continue
                decision = self._ask(record, partial(swap_end, decide, ending, now), now, events)
                if decision is None:
                    refused.append(Refused(ending, "the job was set aside"))
                    continue
                self._write(record.job, decision)
        return Finished(tuple(refused), tuple(events))

    async def recover(self, limit: int, now: datetime, decide: DecideLost) -> Recovered:
        events: list[Event] = []
        with self._lock:
            here, lives = self._clock.now(), self._nodes
            for id_, life in lives.items():
                lives[id_] = life._replace(until=lease_end(life.until, here, self._lease))
            dead = [life for life in lives.values() if life.until < min(here, now) and not life.is_buried]
            buried = tuple(NodeView(life.node, life.until, len(self._held(life.node.id))) for life in dead)
            for life in dead:
                self._nodes[life.node.id] = life._replace(is_buried=True)
            # Who holds and does not live is dead, known or not. The dead are remembered: none joins again.
            living = {id_ for id_, life in self._nodes.items() if not life.is_buried}
            lost = [
                attempt
                for record in self._records.values()
                for attempt in record.attempts
                if attempt.is_running and attempt.node not in living and attempt.job not in self._damage
            ]
            for attempt in lost[:limit]:
                record, (run_key, number) = self._records[attempt.job], attempt.key
                decision = self._ask(record, partial(swap_loss, decide, run_key, number, now), now, events)
                if decision is not None:
                    self._write(record.job, decision)
        return Recovered(tuple(events), len(lost) > limit, buried)

    # -- people and sources ------------------------------------------------------------------------

    async def update(self, job: str, decide: DecideCommand) -> Decision:
        with self._lock:
            if (record := self._sound(job)) is None:
                raise JobNotFoundError(job)
            decision = decide(record)
            self._refuse_what_has_run(record, decision)
            self._write(record.job, decision)
            return decision

    def _refuse_what_has_run(self, record: Record, decision: Decision) -> None:
        """A request that has been served is not served again, and neither is an attempt."""
        history = self._history.get(record.job.key, {})
        known = {attempt.key for attempt in record.attempts}
        for attempt in decision.attempts:
            if attempt.is_open and attempt.key not in known and attempt.key in history:
                raise CommandRefusedError(record.job.key, f"{attempt.run_key} has run already")

    async def reconcile(  # noqa: PLR0913 - see the protocol
        self,
        source: str,
        base: str | None,
        revision: str,
        changes: Changes,
        *,
        declared: DecideDeclared,
        removed: DecideRemoved,
    ) -> tuple[Event, ...]:
        with self._lock:
            known = self._sources.get(source, SourceView(source))
            found = known.revision
            if found == revision:
                return ()
            if found != base:
                raise StaleRevisionError(source, base, found)
            gone = [self._records.get(f"{source}/{name}") for name in changes.removed]
            decisions = [(job, declared(job, self._records.get(job.key))) for job in changes.declared]
            decisions += [(record.job, removed(record)) for record in gone if record]
            for job, decision in decisions:
                self._damage.pop(job.key, None)
                self._write(decision.job or job, decision)
            self._sources[source] = known._replace(revision=revision, reconciled_at=self._clock.now())
            return tuple(event for _, decision in decisions for event in decision.events)

    async def revision(self, source: str) -> str | None:
        with self._lock:
            known = self._sources.get(source)
            return known.revision if known else None

    async def sources(self) -> tuple[SourceView, ...]:
        with self._lock:
            return sources_of(self._records.values(), self._sources)

    async def write_source_status(self, source: str, status: str) -> None:
        with self._lock:
            known = self._sources.get(source, SourceView(source))
            self._sources[source] = known._replace(status=status)

    async def forget_source(self, source: str, revision: str | None) -> bool:
        with self._lock:
            known = self._sources.get(source)
            if is_it := known is not None and known.revision == revision:
                del self._sources[source]
            return is_it

    # -- questions ---------------------------------------------------------------------------------

    async def next_wake(self, queues: Iterable[str], kinds: Collection[str] | None = None) -> datetime | None:
        with self._lock:
            return self._due.first(frozenset(queues), kinds)

    async def backlog(
        self, queues: Iterable[str], now: datetime, kinds: Collection[str] | None = None
    ) -> int:
        with self._lock:
            return self._due.count(frozenset(queues), kinds, now)

    async def jobs(self, query: JobQuery) -> tuple[JobView, ...]:
        with self._lock:
            keys = sorted(self._records if query.keys is None else query.keys & self._records.keys())
            views = (self._view(key) for key in keys if key > query.after)
            wanted = [view for view in views if is_wanted(view, query)]
            return tuple(wanted[: query.limit])

    def _view(self, key: str) -> JobView:
        ended = self._history.get(key, {}).values()
        successes = [a.finished_at for a in ended if a.outcome is Outcome.SUCCEEDED and a.finished_at]
        return JobView(key, self._records[key], max(successes, default=None), self._damage.get(key))

    async def runs(self, query: RunQuery) -> tuple[Attempt, ...]:
        with self._lock:
            attempts = [
                attempt
                for key, record in self._records.items()
                if query.job in (None, key)
                for attempt in (*record.attempts, *self._history.get(key, {}).values())
                if query.outcome in (None, attempt.outcome)
                and query.is_open in (None, attempt.is_open)
                and (query.since is None or attempt.scheduled_for >= query.since)
            ]
            attempts.sort(key=lambda a: (a.scheduled_for, a.job, a.number), reverse=True)
            return tuple(attempts[: query.limit])

    async def skips(self, job: str, limit: int | None = None) -> tuple[Skip, ...]:
        with self._lock:
            ordered = sorted(self._skips.get(job, {}).values(), key=lambda skip: (skip.first, skip.last))
            return tuple(ordered if limit is None else ordered[max(0, len(ordered) - limit) :])

    async def overview(self) -> Overview:
        with self._lock:
            alive = (id_ for id_, life in self._nodes.items() if not life.is_buried)
            return overview_of(self._records.values(), self._damage, alive)

    async def now(self) -> datetime:
        return self._clock.now()

    async def nodes(self) -> tuple[NodeView, ...]:
        with self._lock:
            lives = sorted(item for item in self._nodes.items() if not item[1].is_buried)
            return tuple(NodeView(life.node, life.until, len(self._held(id_))) for id_, life in lives)

    async def prune(self, now: datetime, limit: int, after: str = "") -> Pruned:
        count = 0
        with self._lock:
            keys = sorted(key for key in self._records if key > after)
            for key in keys[:limit]:
                found = self._superfluous(key, now)
                forgotten = found[: limit - count]
                for table, entry in forgotten:
                    del table[entry]
                    self._outputs.pop(entry, None)
                count += len(forgotten)
                if len(forgotten) < len(found):
                    return Pruned(count, after)  # there is more to forget of this one
                after = key
        return Pruned(count, after if len(keys) > limit else "")

    def _superfluous(self, key: str, now: datetime) -> list[tuple[dict[Any, Any], Any]]:
        """What the job's policy does not keep, each with the table that it is to be taken from."""
        record, history, skips = self._records[key], self._history.get(key, {}), self._skips.get(key, {})
        attempts = superfluous(record, history.values(), now)
        old = superfluous_skips(record, skips.values(), now)
        return [(history, a.key) for a in attempts] + [(skips, (s.first, s.last)) for s in old]

    async def write_outputs(self, outputs: Sequence[Output]) -> None:
        with self._lock:
            for output in outputs:
                self._outputs[output.run_key, output.number] = output

    async def output(self, run_key: str, number: int) -> Output | None:
        with self._lock:
            return self._outputs.get((run_key, number))

    # -- inside ------------------------------------------------------------------------------------

    def set_aside(self, job: str, damage: Damage) -> None:
        """Take a job out of service; it is shown with its damage until it is declared anew."""
        with self._lock:
            self._damage[job] = damage

    def _ask(
        self, record: Record, decide: DecideCommand, now: datetime, events: list[Event]
    ) -> Decision | None:
        """A decision; a record that cannot even be decided about is set aside, and the others go on."""
        try:
            decision = decide(record)
        except Exception as error:  # noqa: BLE001 - one bad job must not stop all good ones (rule 6)
            self.set_aside(record.job.key, damage := damage_of(error))
            events.append(set_aside(record.job.key, now, damage))
            return None
        events += decision.events
        return decision

    def _write(self, job: Job, decision: Decision) -> None:
        key = job.key
        if decision.remove:
            self._forget(key, decision)
            return
        old = self._records.get(key)
        attempts = {attempt.key: attempt for attempt in (old.attempts if old else ())}
        for attempt in decision.attempts:
            attempts[attempt.key] = attempt
            if not attempt.is_open:
                self._history.setdefault(key, {})[attempt.key] = attempts.pop(attempt.key)
        for skip in decision.skips:
            self._skips.setdefault(key, {})[skip.first, skip.last] = skip
        record = self._records[key] = Record(job, decision.state, tuple(attempts.values()))
        self._due.push(record)

    def _forget(self, key: str, decision: Decision) -> None:
        self._records.pop(key, None)
        self._skips.pop(key, None)
        for attempt in {a.key for a in decision.attempts} | self._history.pop(key, {}).keys():
            self._outputs.pop(attempt, None)

    def _remember(self, claim_id: str, claimed: Claimed) -> None:
        """Answers are kept for as long as somebody may ask again; a node asks within its lease."""
        now = self._clock.now()
        self._claims = {id_: kept for id_, kept in self._claims.items() if kept[0] > now}
        self._claims[claim_id] = now + self._lease, claimed
