"""The store in memory: the contract in its most readable form, and a product for tests and notebooks.

Everything is in dictionaries behind one lock, so each verb is atomic by itself. Nothing survives the
process. `now` of leases is the store's own clock, as with a server.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial

from foliot.errors import CommandRefusedError, JobNotFoundError, StaleRevisionError
from foliot.model.attempt import Attempt, Ending, Refused
from foliot.model.damage import Damage, damage_of
from foliot.model.decision import Decision, Event, set_aside
from foliot.model.job import Job
from foliot.model.state import Lease, Node, Record
from foliot.model.version import KEPT_REVISIONS, Revision, Version
from foliot.model.view import NodeView, Outage, Overview, SourceView
from foliot.protocols import (
    NO_LIMITS,
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
    JobPage,
    JobQuery,
    JobView,
    Pruned,
    Recovered,
    RunPage,
    RunQuery,
    SkipPage,
    SkipQuery,
    Traits,
    Wakes,
)
from foliot.stores.claim_cursor import ClaimCursor
from foliot.stores.claim_loop import ClaimLoop
from foliot.stores.group_places import GroupPlaces
from foliot.stores.matching import (
    Key,
    by_job,
    in_order,
    part_held,
    started_by,
    swap_end,
    swap_loss,
)
from foliot.stores.memory.access import AccessRows
from foliot.stores.memory.claim import DueRecord, DueRecords
from foliot.stores.memory.due import DueIndex
from foliot.stores.memory.groups import GroupRuns
from foliot.stores.memory.nodes import Nodes
from foliot.stores.memory.outbox import AlertVerbs, Outbox
from foliot.stores.memory.outputs import Outputs, OutputVerbs
from foliot.stores.memory.overview import overview_of
from foliot.stores.memory.past import Pasts
from foliot.stores.memory.sources import Sources
from foliot.stores.memory.versions import Versions
from foliot.stores.pages import page_of_jobs, page_of_runs, page_of_skips


class MemoryStore(AlertVerbs, OutputVerbs, AccessRows):
    """Keeps jobs for as long as the process lives."""

    traits = Traits(proves_deaths=True)  # it always answers, so an expired lease proves that its node is dead

    def __init__(self, clock: Clock, *, lease: timedelta = timedelta(seconds=30)) -> None:
        super().__init__()
        self._clock = clock
        self._lease = lease
        self._records: dict[str, Record] = {}
        self._damage: dict[str, Damage] = {}
        self._due = DueIndex(self._sound)
        self._past = Pasts()
        self._versions = Versions()
        self._nodes = Nodes(lease)
        self._groups = GroupRuns(self._nodes.holds)
        self._claimed = 0
        self._cursor = ClaimCursor(clock, has_litter=False)
        self._claims: OrderedDict[str, tuple[datetime, Claimed]] = OrderedDict()
        self._sources = Sources()
        self._outputs = Outputs()
        self._outbox = Outbox()

    # -- nodes -------------------------------------------------------------------------------------

    async def join(self, node: Node) -> Lease:
        with self._lock:
            return self._nodes.join(node, self._clock.now())

    async def renew(self, node: str) -> Lease:
        with self._lock:
            return self._nodes.renew(node, self._clock.now())

    async def leave(self, node: str) -> None:
        with self._lock:
            self._nodes.leave(node, self._clock.now())

    async def held(self, node: str) -> tuple[Attempt, ...]:
        with self._lock:
            return self._nodes.held(self._nodes.living(node).node.id)

    # -- runs --------------------------------------------------------------------------------------

    async def claim(  # noqa: PLR0913, PLR0917 - see the protocol
        self,
        node: str,
        now: datetime,
        room: Mapping[str, int],
        decide: DecideDue,
        claim_id: str,
        limits: Mapping[str, int] = NO_LIMITS,
    ) -> Claimed:
        with self._lock:
            life = self._nodes.living(node)
            if claim_id in self._claims:
                return self._claims[claim_id][1]._replace(events=())  # they were told
            if self._clock.now() >= life.until:
                return Claimed()  # the lease has expired: claim nothing until it is renewed
            claimed = self._claim(life.node, now, room, decide, limits)
            if claimed.runs:
                self._remember(claim_id, claimed)
            return claimed

    def _claim(
        self, node: Node, now: datetime, room: Mapping[str, int], decide: DecideDue, limits: Mapping[str, int]
    ) -> Claimed:
        def decide_and_write(job: DueRecord, ask: Callable[[Record], Decision]) -> Decision | None:
            record = self._records[job.key]
            decision = self._ask(record, ask, now, [])
            job.damage = self._damage.get(job.key)
            if decision is not None and not decision.is_nothing(record):
                self._write(record.job, decision)
                job.record = self._records.get(job.key)
                if record.job.group is not None:
                    self._groups.add(record.job.group, started_by(decision, record))
            return decision

        self._claimed += 1
        full = self._groups.full(limits)
        jobs = DueRecords(self._due, node, now, self._has_run, decide_and_write, full)
        loop = ClaimLoop(
            jobs, self._cursor, self._clock,
            node=node.id, now=now, decide=decide, told=set(), groups=GroupPlaces(limits, self._groups.count),
        )  # fmt: skip
        try:
            return loop.claim(room, self._claimed)
        finally:
            jobs.put_back()

    def _has_run(self, attempt: Attempt) -> bool:
        return attempt.key in self._past.of(attempt.job).attempts

    def _sound(self, key: str) -> Record | None:
        """A record that is in service."""
        return None if key in self._damage else self._records.get(key)

    async def finish(
        self, node: str, endings: Sequence[Ending], now: datetime, decide: DecideEnded
    ) -> Finished:
        refused: list[Refused] = []
        events: list[Event] = []
        with self._lock:
            self._nodes.living(node)
            for job, reported in by_job(endings).items():
                record = self._records.get(job)
                held, others = part_held(record, reported, node)
                refused += others
                if record is None or not held:
                    continue
                decision = self._ask(record, partial(swap_end, decide, held, now), now, events)
                if decision is None:
                    refused += (Refused(ending, "the job was set aside") for ending in held)
                    continue
                self._write(record.job, decision)
        return Finished(in_order(refused, endings), tuple(events))

    async def recover(self, limit: int, now: datetime, decide: DecideLost) -> Recovered:
        events: list[Event] = []
        with self._lock:
            for view in (buried := self._nodes.expired(self._clock.now(), now)):
                self._nodes.bury(view.node.id)
            lost = [attempt for attempt in self._nodes.lost() if attempt.job not in self._damage]
            by_key: dict[str, list[Key]] = {}
            for attempt in lost[:limit]:
                by_key.setdefault(attempt.job, []).append(attempt.key)
            for job, keys in by_key.items():
                record = self._records[job]
                decision = self._ask(record, partial(swap_loss, decide, keys, now), now, events)
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
        """Refuse a request or an attempt that exists already."""
        history = self._past.of(record.job.key).attempts
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
            found = self._sources.revision(source)
            if found == revision:
                return ()
            if found != base:
                raise StaleRevisionError(source, base, found)
            gone = [self._records.get(f"{source}/{name}") for name in changes.removed]
            decisions = [(job, declared(job, self._records.get(job.key))) for job in changes.wanted]
            decisions += [(record.job, removed(record)) for record in gone if record]
            made = []
            for job, decision in decisions:
                made.append(self._versions.note(self._records.get(job.key), decision, revision))
                self._damage.pop(job.key, None)
                self._write(decision.job or job, decision)
            self._sources.note(source, revision, self._clock.now(), made)
            return tuple(event for _, decision in decisions for event in decision.events)

    async def revision(self, source: str) -> str | None:
        with self._lock:
            return self._sources.revision(source)

    async def revisions(self, source: str, limit: int = KEPT_REVISIONS) -> tuple[Revision, ...]:
        with self._lock:
            return self._sources.revisions(source, limit)

    async def sources(self) -> tuple[SourceView, ...]:
        with self._lock:
            return self._sources.shown(self._records.values())

    async def write_source_status(self, source: str, status: str) -> None:
        with self._lock:
            self._sources.write_status(source, status)

    async def restore_source(
        self, source: str, reconciled_at: datetime | None, revisions: Iterable[Revision]
    ) -> None:
        with self._lock:
            self._sources.restore(source, reconciled_at, revisions)

    async def forget_source(self, source: str, revision: str | None) -> bool:
        with self._lock:
            return self._sources.forget(source, revision)

    # -- questions ---------------------------------------------------------------------------------

    async def wakes(
        self,
        queues: Iterable[str],
        kinds: Collection[str] | None = None,
        due_by: datetime | None = None,
        *,
        after: datetime | None = None,
    ) -> Wakes:
        asked = frozenset(queues)
        with self._lock:
            due = 0 if due_by is None else self._due.count(asked, kinds, due_by)
            return Wakes(self._due.first(asked, kinds, after), due)

    async def jobs(self, query: JobQuery) -> JobPage:
        with self._lock:
            keys = self._records if query.keys is None else query.keys & self._records.keys()
            return page_of_jobs(map(self._view, keys), query)

    def _view(self, key: str) -> JobView:
        return JobView(key, self._records[key], self._past.of(key).last_success_at, self._damage.get(key))

    async def runs(self, query: RunQuery) -> RunPage:
        with self._lock:
            keys = self._records if query.job is None else {query.job} & self._records.keys()
            attempts = (
                attempt
                for key in keys
                for attempt in (*self._records[key].attempts, *self._past.of(key).ended())
            )
            return page_of_runs(attempts, query)

    async def skips(self, query: SkipQuery) -> SkipPage:
        with self._lock:
            keys = self._records if query.job is None else (query.job,)
            skips = (skip for key in keys for skip in self._past.of(key).skips.values())
            return page_of_skips(skips, query)

    async def versions(self, job: str) -> tuple[Version, ...]:
        with self._lock:
            record = self._records.get(job)
            return () if record is None else self._versions.of(record)

    async def overview(self) -> Overview:
        with self._lock:
            alive = (view.node.id for view in self._nodes.alive())
            return overview_of(self._records.values(), self._damage, alive)

    async def now(self) -> datetime:
        return self._clock.now()

    async def nodes(self) -> tuple[NodeView, ...]:
        with self._lock:
            return self._nodes.alive()

    async def running(self, group: str) -> int:
        with self._lock:
            return self._groups.count(group)

    async def outages(self) -> tuple[Outage, ...]:
        with self._lock:
            return self._nodes.outages

    async def prune(self, now: datetime, limit: int) -> Pruned:
        with self._lock:
            keys, skips, more = self._past.prune(now, limit)
            for key in keys:
                self._outputs.forget(key)
            old = self._outbox.forget_old(now, limit) + self.forget_old(now, limit)
            return Pruned(len(keys) + skips + old, more)

    # -- inside ------------------------------------------------------------------------------------

    def set_aside(self, job: str, damage: Damage) -> None:
        """Set a job aside: it does not run, and is shown as damaged, until it is declared again."""
        with self._lock:
            self._damage[job] = damage

    def _ask(
        self, record: Record, decide: DecideCommand, now: datetime, events: list[Event]
    ) -> Decision | None:
        """Ask the planner. A record that raises is set aside, and the others continue."""
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
        old = self._records.get(key)
        self._outbox.add(decision.alerts)
        if decision.remove:
            self._forget(key, decision)
            return
        attempts = {attempt.key: attempt for attempt in (old.attempts if old else ())}
        for attempt in decision.attempts:
            self._nodes.note(attempts.get(attempt.key), attempt)
            attempts[attempt.key] = attempt
            if not attempt.is_open:
                del attempts[attempt.key]
        self._past.note(job, decision)
        record = self._records[key] = Record(job, decision.state, tuple(attempts.values()))
        self._due.push(record)

    def _forget(self, key: str, decision: Decision) -> None:
        old = self._records.pop(key, None)
        for attempt in old.attempts if old else ():
            self._nodes.note(attempt, None)
        self._due.drop(key)
        self._versions.forget(key)
        for run in {a.key for a in decision.attempts} | self._past.forget(key):
            self._outputs.forget(run)

    def _remember(self, claim_id: str, claimed: Claimed) -> None:
        """Keep the answer of a claim as long as its node may ask again, which is its lease."""
        now = self._clock.now()
        while self._claims and next(iter(self._claims.values()))[0] <= now:
            self._claims.popitem(last=False)
        self._claims[claim_id] = now + self._lease, claimed
