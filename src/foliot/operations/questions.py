"""Queries about jobs and runs. Nothing here writes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from datetime import datetime, timedelta
from difflib import get_close_matches
from sys import maxsize

from foliot.engine.calendar import Window, last_occurrence, latest_of, next_occurrence
from foliot.engine.plan_command import occurrences_between
from foliot.errors import (
    AmbiguousNameError,
    InvalidJobError,
    JobNotFoundError,
    RunNotFoundError,
    SourceNotFoundError,
    StoreError,
    WaitTimeoutError,
    shorten,
)
from foliot.model.attempt import Attempt, Outcome, run_key
from foliot.model.job import EARLIEST, Job, is_name
from foliot.model.kinds import serves
from foliot.model.query import JobState
from foliot.model.splay import offset_of
from foliot.model.state import OVERLAP, Record, Skip
from foliot.model.view import NodeView, Overview, SourceView
from foliot.operations.ledger import Ledger, Past, known_instants, tell_fates
from foliot.operations.own import count_jobs, list_jobs
from foliot.protocols import Clock, JobPage, JobQuery, JobView, RunQuery, SkipQuery
from foliot.schedules.schedule import check_aware
from foliot.schedules.zone import load_zone
from foliot.why import GroupCount, Why, explain, look_back, told_last, zone_of
from foliot.why.past import Traces
from foliot.wiring import FullStore

EVERYTHING = 1_000_000
MOST_TRACES = 20_000  # attempts and skips of a job that are read to explain an instant, the newest first
_PAGE = 1000
_LEAST_OF_A_REQUEST = 4  # characters; a shorter beginning does not name a request
_LOOK_EVERY = timedelta(milliseconds=200)
_LOOK_AT_LEAST_EVERY = timedelta(seconds=2)

Wait = Callable[[str, timedelta], Awaitable[None]]  # waits for news of a run, at most for this time


class Questions:
    """Answers queries from a store. `home`: the sources whose jobs a name alone may mean; none: all sources.

    `wait` waits for news of a run; without it, the store is read again and again.
    """

    def __init__(
        self, store: FullStore, clock: Clock, *, home: tuple[str, ...] = (), wait: Wait | None = None
    ) -> None:
        self.store = store
        self.clock = clock
        self._home = home
        self._wait = wait or (lambda _, duration: clock.wait(duration))

    # -- jobs --------------------------------------------------------------------------------------

    async def find(self, job: object, *, with_removed: bool = False) -> JobView:
        """A job by its key, or by its name if no other job has it. Existing jobs go before removed ones."""
        if not isinstance(job, str) or (self._home and not is_name(job)):
            raise JobNotFoundError(shorten(job))
        keys = frozenset(f"{source}/{job}" for source in self._home) or frozenset((job,))
        if exact := await self.store.jobs(JobQuery(keys=keys, with_removed=with_removed)):
            return exact[0]
        named: tuple[JobView, ...] = ()
        if not self._home:
            named = await self.store.jobs(JobQuery(name=job, limit=_PAGE))
            if not named and with_removed:
                named = await self.store.jobs(JobQuery(name=job, with_removed=True, limit=_PAGE))
        if len(named) > 1:
            raise AmbiguousNameError(job, [view.key for view in named])
        if not named:
            raise JobNotFoundError(job, hint=await self._did_you_mean(job))
        return named[0]

    async def _did_you_mean(self, job: str) -> str | None:
        keys: list[str] = []
        for source in self._home or (None,):
            keys += [view.key for view in await self.store.jobs(JobQuery(source=source, limit=_PAGE))]
        if not keys:
            return "the store has no jobs" if not self._home else None
        names = {key.partition("/")[2]: key for key in keys}
        known = dict(zip(names, names, strict=True)) if self._home else names | {key: key for key in keys}
        close = get_close_matches(job, known, n=1)
        if close:
            return f"did you mean {known[close[0]]}?"
        return None if self._home else "foliot job list shows all"

    async def usable(self, job: object) -> Record:
        """The record of a job, or of a view. StoreError if it cannot be read."""
        return readable(job if isinstance(job, JobView) else await self.find(job))

    async def jobs(
        self,
        source: str | None = None,
        *,
        with_removed: bool = False,
        after: str = "",
        limit: int = 100,
        state: JobState | None = None,
    ) -> JobPage:
        """A page of jobs, of one source or of all, and only in the given state. Foliot's own: if named."""
        return await self.list_jobs(
            JobQuery(source=source, with_removed=with_removed, after=after, limit=limit, state=state)
        )

    async def list_jobs(self, query: JobQuery) -> JobPage:
        """A page of jobs; without those of Foliot's own, unless the query names them."""
        return await list_jobs(self.store, query)

    async def overview(self) -> Overview:
        """How many jobs there are, and how they are; those of Foliot's own are not counted."""
        return await count_jobs(self.store)

    async def every_job(self, *sources: str, with_removed: bool = False) -> AsyncIterator[JobView]:
        """All jobs of some sources, or of the home, or else of the store, however many."""
        for source in sources or self._home or (None,):
            query = JobQuery(source=source, with_removed=with_removed, limit=_PAGE)
            while page := await self.store.jobs(query):
                for view in page:
                    yield view
                query = query._replace(after=page[-1].key)

    async def check_source(self, source: str) -> SourceView:
        """The view of a source; SourceNotFoundError, with a suggestion, if it is unknown."""
        views = {view.source: view for view in await self.store.sources()}
        if source in views:
            return views[source]
        if "/" not in source and await self.store.jobs(JobQuery(source=source, with_removed=True, limit=1)):
            return SourceView(source)
        raise SourceNotFoundError(source, hint=_close_source(source, views))

    async def source_of(self, view: JobView) -> SourceView:
        """The view of a job's source."""
        name = view.key.partition("/")[0]
        known = [source for source in await self.store.sources() if source.source == name]
        return known[0] if known else SourceView(name)

    async def servants(self, job: Job) -> list[NodeView]:
        """The running nodes that can start a job."""
        queue, kind, now = job.queue, job.action.kind, await self.store.now()
        return [view for view in await self.store.nodes() if can_start(view, queue, kind, now)]

    # -- occurrences -------------------------------------------------------------------------------

    async def why(self, job: object, at: datetime | None = None, kinds: Collection[str] | None = None) -> Why:
        """Why a job ran, will run, or did not run at an instant; without an instant, what is next.

        `kinds`: the kinds of actions that this program can run, if not all.
        """
        if at is not None:
            check_aware(at)
        view = job if isinstance(job, JobView) else await self.find(job)
        runs, skips = ((), ()) if at is None else await self._traces(view.key, look_back(at))
        is_cut = len(runs) >= MOST_TRACES
        if at is not None and is_cut and at < runs[-1].scheduled_for:  # its own run may be older
            runs += tuple(reversed(await self.attempts_of(view.key, run_key(view.key, at, None))))
        revision, now = await self.store.revision(view.key.partition("/")[0]), await self.store.now()
        has_changed = at is not None and view.record is not None and view.record.state.version > 1
        return explain(
            view, runs, skips, kinds=kinds, now=now, at=at, revision=revision,
            versions=await self.store.versions(view.key) if has_changed else (),
            group=await self._group_of(view, now), outages=await self.store.outages() if at else (),
        )  # fmt: skip

    async def _group_of(self, view: JobView, now: datetime) -> GroupCount | None:
        """How full the group of a job is. The limit comes from the running nodes."""
        group = None if view.record is None else view.record.job.group
        if group is None:
            return None
        living = [node.node for node in await self.store.nodes() if node.until >= now]
        limits = [limit for node in living for name, limit in node.limits if name == group]
        return GroupCount(group, await self.store.running(group), max(limits, default=None))

    async def last_words(self, view: JobView) -> str | None:
        """What happened last to a job, in a sentence; None if nothing has."""
        ended = await self.store.runs(RunQuery(job=view.key, is_open=False, limit=1))
        skips = await self.store.skips(SkipQuery(view.key, limit=1))
        job = view.record and view.record.job
        zone, offset = (
            load_zone((job and zone_of(job.schedule)) or "UTC"),
            offset_of(job) if job else timedelta(0),
        )
        last = ended[0] if ended else None, skips[0] if skips else None
        return told_last(*last, zone, await self.store.outages(), offset)

    async def occurrences(
        self,
        view: JobView,
        first: datetime | None = None,
        last: datetime | None = None,
        *,
        limit: int = 100,
        past: Past | None = None,
    ) -> Ledger:
        """The ledger of a period: from its first instant on; without one, the last `limit` up to its end.

        Without a last instant, it ends with the occurrence that comes next. Several questions about one job
        may share a `past`.
        """
        for instant in filter(None, (first, last)):
            check_aware(instant)
        job, state, _ = record = readable(view)
        past = past or Past(view.key)
        now = past.now = past.now or await self.store.now()
        until = last or next_occurrence(job, now) or now
        if first is not None:
            instants = set(occurrences_between(job, first, until, limit + 1))
        else:
            newest = last_occurrence(job, until) or EARLIEST
            window = Window(state.created_at, newest, None)
            instants = set(latest_of(job, window, limit)) if newest >= state.created_at else set()
        begin = first or min(instants, default=min(state.created_at, until))
        traces = await self._past(past, begin)
        found = sorted(instants | known_instants(traces.runs, traces.skips, begin, until))
        shown = found[:limit] if first else found[-limit:]
        following = found[limit] if first and len(found) > limit else None
        return Ledger(view.key, tuple(tell_fates(record, traces, shown, now)), following)

    async def _past(self, past: Past, since: datetime) -> Traces:
        known = past.since(since)
        if known is None:
            earlier = look_back(since)
            skips = await self.store.skips(SkipQuery(past.job, since=earlier, limit=MOST_TRACES))
            # A run that began earlier matters only if it was in the way of an occurrence.
            is_in_the_way = any(skip.last >= since and skip.reason == OVERLAP for skip in skips)
            begin = earlier if is_in_the_way else since
            runs = await self.attempts(past.job, since=begin, limit=MOST_TRACES)
            known = Traces(runs, tuple(reversed(skips)), await self.store.outages())
            past.keep(since, known)
        return known

    async def _traces(self, job: str, since: datetime) -> tuple[tuple[Attempt, ...], tuple[Skip, ...]]:
        """The attempts of a job since a time, newest first, and its skips, oldest first.

        At most the newest `MOST_TRACES` are read: a query about 1970 must not read a history of years.
        """
        runs = await self.attempts(job, since=since, limit=MOST_TRACES)
        skips = await self.store.skips(SkipQuery(job, since=since, limit=MOST_TRACES))
        return tuple(runs), tuple(reversed(skips))

    # -- runs --------------------------------------------------------------------------------------

    async def attempts(
        self,
        job: str | None = None,
        *,
        outcome: Outcome | None = None,
        is_open: bool | None = None,
        since: datetime | None = None,
        limit: int = EVERYTHING,
    ) -> tuple[Attempt, ...]:
        """Attempts, newest first; of the job of a key, or of all."""
        return await self.store.runs(
            RunQuery(job=job, outcome=outcome, is_open=is_open, since=since, limit=limit)
        )

    async def history(self, job: object, limit: object) -> tuple[Attempt, ...]:
        """The latest attempts of a job, also of a removed one, or, without one, of all; newest first."""
        if isinstance(limit, bool) or not isinstance(limit, int) or not 0 <= limit <= maxsize:
            raise InvalidJobError("limit", limit, "must be a number that is not negative", hint="such as 20")
        key = None if job is None else (await self.find(job, with_removed=True)).key
        return await self.attempts(key, limit=limit)

    async def run(self, run: object) -> list[Attempt]:
        """The attempts of a run, oldest first. Its key may name the job by its name alone.

        A job without a run means its latest one.
        """
        view, key = await self._named(run)
        if found := await self.attempts_of(view.key, key) or await self._begun(view.key, key):
            return found
        hint = f"foliot run list --job {view.key} shows what is remembered"
        raise RunNotFoundError(shorten(run), hint=hint)

    async def _named(self, run: object) -> tuple[JobView, str]:
        """The job of a run, and the run's whole key."""
        if not isinstance(run, str) or not run.isprintable():
            raise RunNotFoundError(shorten(run))
        job = run[: max(run.rfind("@"), run.rfind("!"), 0)]
        try:
            if exact := await self.store.jobs(JobQuery(keys=frozenset((job,)), with_removed=True)):
                return exact[0], run
            view = await self.find(job or run, with_removed=True)
        except JobNotFoundError as error:
            key = "a run key is source/name@2026-11-15T07:00:00Z or source/name!request; see foliot run list"
            raise RunNotFoundError(run, hint=error.hint if job else key) from None
        if job:
            return view, view.key + run[len(job) :]
        if not (newest := await self.attempts(view.key, limit=1)):
            raise RunNotFoundError(run, hint="it has not run yet, as far as history goes back")
        return view, newest[0].run_key

    async def _begun(self, job: str, key: str) -> list[Attempt]:
        """The attempts of the only run, among the latest thousand, whose request begins with this text."""
        _, mark, request = key[len(job) :].partition("!")
        if not mark or len(request) < _LEAST_OF_A_REQUEST:
            return []
        attempts = await self.store.runs(RunQuery(job=job, limit=_PAGE))
        found = {a.run_key for a in attempts if a.request is not None and a.request.startswith(request)}
        return await self.attempts_of(job, found.pop()) if len(found) == 1 else []

    async def attempts_of(self, job: str, key: str) -> list[Attempt]:
        """The attempts of a run, by its whole key, oldest first; none if it is unknown."""
        found = await self.store.runs(RunQuery(job=job, run_key=key, limit=EVERYTHING))
        return sorted(found, key=lambda attempt: attempt.number)

    async def log(self, attempt: object) -> str:
        """The output of an attempt."""
        if not isinstance(attempt, Attempt):
            hint = "one of those that history() gives"
            raise InvalidJobError("attempt", attempt, "is no attempt", hint=hint)
        output = await self.store.output(*attempt.key)
        return output.text if output else ""

    async def finished(self, run: object, *, timeout: timedelta | None = None) -> Attempt:  # noqa: ASYNC109
        """Wait for a run to end; returns its last attempt.

        After the timeout WaitTimeoutError; the run continues.
        A run that is to be tried again has not ended.
        """
        view, key = await self._named(run)
        begin, limit = self.clock.monotonic(), timedelta.max if timeout is None else timeout
        while (last := await self.last(view.key, key)) is not None and last.is_open:
            waited = timedelta(seconds=self.clock.monotonic() - begin)
            if waited >= limit:
                raise WaitTimeoutError(key, limit, last.state)
            # The end of a long run may be noticed later: a thousand waiting callers must not keep a store
            # busy.
            await self._wait(key, min(max(_LOOK_EVERY, waited / 20), _LOOK_AT_LEAST_EVERY, limit - waited))
        return last or (await self.run(run))[-1]

    async def last(self, job: str, key: str) -> Attempt | None:
        """The last attempt of a run. While it is open, the job's record has it, and no history is read."""
        for view in await self.store.jobs(JobQuery(keys=frozenset((job,)), with_removed=True)):
            for attempt in view.record.attempts if view.record else ():
                if attempt.run_key == key:
                    return attempt
        found = await self.attempts_of(job, key)
        return found[-1] if found else None


def readable(view: JobView) -> Record:
    """The record of a job; StoreError if it cannot be read."""
    if view.record is None or view.damage is not None:
        raise StoreError(f"{view.key} cannot be read: {view.damage}", hint="let its source declare it anew")
    return view.record


def _close_source(source: str, known: Collection[str]) -> str:
    """A suggestion for a source name. The source of a repository has a hash behind its name."""
    begins = [name for name in known if name.startswith(f"{source}-")]
    close = begins or get_close_matches(source, known, n=1)
    return f"did you mean {close[0]}?" if close else "foliot source list shows all"


def can_start(view: NodeView, queue: str, kind: str, now: datetime) -> bool:
    """Whether a node is alive, not draining, and serves a queue and a kind of action."""
    node = view.node
    is_at_work = view.until >= now and not node.is_draining
    return is_at_work and queue in node.queues and serves(node.kinds, kind)
