"""Commands of people on jobs. Every command has a dry run, which returns the same and writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from uuid import uuid4

from foliot.engine.plan_command import (
    MOST_BACKFILLED,
    Backfill,
    Cancel,
    Command,
    Pause,
    Resume,
    RunNow,
    occurrences_between,
    plan_command,
)
from foliot.errors import CommandRefusedError
from foliot.model.attempt import Attempt, Outcome, run_key
from foliot.model.decision import Decision, Event
from foliot.model.job import LONGEST_NAME, is_name
from foliot.model.payload import payload_text
from foliot.model.state import Record
from foliot.operations.definitions import Check, Defined, Definitions
from foliot.operations.effect import Effect, effect_of
from foliot.operations.questions import Questions, Wait, readable
from foliot.protocols import Changes, Clock, JobQuery
from foliot.schedules.schedule import check_aware
from foliot.wiring import FullStore

_UNHAPPY = (Outcome.FAILED, Outcome.TIMED_OUT, Outcome.INTERRUPTED, Outcome.LOST)


class Which(StrEnum):
    """Which occurrences of a period a backfill runs."""

    MISSED = "missed"  # those without a run of their own, or whose run never started
    FAILED = "failed"  # those whose last attempt that started failed, timed out, was interrupted or lost
    ALL = "all"


class Operations(Questions):
    """Queries and commands. `tell` is called with the events of commands; `new_id` names requests."""

    def __init__(  # noqa: PLR0913 - each has a default
        self,
        store: FullStore,
        clock: Clock,
        *,
        home: tuple[str, ...] = (),
        wait: Wait | None = None,
        tell: Callable[[Sequence[Event]], None] = lambda _: None,
        new_id: Callable[[], str] = lambda: uuid4().hex,
    ) -> None:
        super().__init__(store, clock, home=home, wait=wait)
        self._tell = tell
        self._new_id = new_id
        self._definitions: dict[str, Definitions] = {}

    async def define(
        self, source: str, changes: Changes, *, check: Check, dry_run: bool = False
    ) -> Mapping[str, Defined]:
        """Declare and remove single jobs of a source, all or nothing. Returns the result of each job."""
        known = self._definitions.get(source)
        if known is None:
            known = self._definitions[source] = Definitions(self._same_store, source, self._tell, source)
        return await (known.preview if dry_run else known.change)(changes, check)

    async def _same_store(self) -> FullStore:
        return self.store

    async def pause(
        self, job: object, *, reason: str = "", until: datetime | None = None, dry_run: bool = False
    ) -> Effect:
        """Let occurrences pass without a run, until a time or until the job is resumed. Open runs go on.

        The reason is kept until the pause ends.
        """
        record = await self.usable(job)
        if until is not None:
            check_aware(until)
        if reason and not is_name(reason):
            raise CommandRefusedError(record.job.key, _must_be_short("reason"))
        effect = await self._do("pause", record, Pause(reason, until), dry_run=dry_run)
        return effect._replace(reason=reason)

    async def resume(self, job: object, *, dry_run: bool = False) -> Effect:
        """Let a paused job run again, from now on. Occurrences during the pause do not run."""
        return await self._do("resume", await self.usable(job), Resume(), dry_run=dry_run)

    async def trigger(
        self, job: object, *, request: object = None, payload: object = None, dry_run: bool = False
    ) -> Effect:
        """Run a job now, once, whatever its schedule says. The same request counts once.

        `payload` is a JSON object for this run; all its attempts get it.
        """
        record = await self.usable(job)
        command = RunNow("", payload=payload_text(payload))
        return await self._request("trigger", record, request, command, dry_run=dry_run)

    async def rerun(self, run: object, *, request: object = None, dry_run: bool = False) -> Effect:
        """Repeat a run that has ended: a new request, whose reason names that run, with the same payload."""
        last = (await self.run(run))[-1]
        if last.is_open:
            hint = "wait for its end, or cancel it"
            raise CommandRefusedError(last.run_key, f"the run has not ended: it is {last.state}", hint=hint)
        reason = f"triggered manually, to repeat {last.run_key}"
        command = RunNow("", reason, last.payload)
        return await self._request("rerun", await self._owner(last), request, command, dry_run=dry_run)

    async def cancel(self, run: object, *, dry_run: bool = False) -> Effect:
        """Ask a run to end. A waiting run never starts; a running one is asked to stop."""
        view, key = await self._named(run)
        if (last := await self.last(view.key, key)) is None:
            last = (await self.run(run))[-1]  # raises RunNotFoundError if there is no such run
        if not last.is_open:
            raise CommandRefusedError(key, f"the run has ended: {last.outcome}")
        return await self._do("cancel", await self._owner(last), Cancel(key), last, dry_run=dry_run)

    async def backfill(
        self,
        job: object,
        first: datetime,
        last: datetime,
        *,
        which: Which | None = None,
        dry_run: bool = False,
    ) -> Effect:
        """Run occurrences of the past, each under its own key. Without `which`: all, if none has run."""
        check_aware(first)
        check_aware(last)
        record = await self.usable(job)
        if last < first:
            raise CommandRefusedError(record.job.key, "the period ends before it begins")
        numbers: dict[datetime, int] = {}
        started: dict[datetime, Attempt] = {}
        attempts = await self.attempts(record.job.key, since=first)
        for attempt in sorted(attempts, key=lambda attempt: attempt.number):
            if attempt.request is None and not attempt.is_open:
                numbers[attempt.scheduled_for] = attempt.number
                if attempt.node is not None:
                    started[attempt.scheduled_for] = attempt
        only: frozenset[datetime] | None = None
        if which is Which.FAILED:
            only = frozenset(at for at, attempt in started.items() if attempt.outcome in _UNHAPPY)
        elif which is Which.MISSED:
            only = frozenset(occurrences_between(record.job, first, last, MOST_BACKFILLED)) - started.keys()
        command = Backfill(first, last, numbers, which is Which.ALL, only)
        effect = await self._do("backfill", record, command, dry_run=dry_run)
        return effect._replace(reason=which or "")

    # -- inside ------------------------------------------------------------------------------------

    async def _request(
        self,
        command: str,
        record: Record,
        request: object,
        asked: RunNow,
        *,
        dry_run: bool,
    ) -> Effect:
        key, is_new = record.job.key, request is None
        request = self._new_id() if is_new else request
        if not is_name(request):
            raise CommandRefusedError(key, _must_be_short("request"))
        run = run_key(key, record.state.created_at, request)
        if dry_run and not is_new and (served := await self.attempts_of(key, run)):
            return await self._repeated(command, record, served[-1], is_dry_run=True)
        try:
            return await self._do(command, record, replace(asked, request=request), dry_run=dry_run)
        except CommandRefusedError:
            if served := await self.attempts_of(key, run):
                return await self._repeated(command, record, served[-1], is_dry_run=dry_run)
            raise

    async def _repeated(self, command: str, record: Record, last: Attempt, *, is_dry_run: bool) -> Effect:
        """The effect of a request that was made before: none."""
        now = await self.store.now()
        nothing = effect_of(command, record, Decision(record.state), now, is_dry_run=is_dry_run)
        return nothing._replace(attempt=last)

    async def _owner(self, attempt: Attempt) -> Record:
        """The record of an attempt's job, whether the job is removed or not."""
        views = await self.store.jobs(JobQuery(keys=frozenset((attempt.job,)), with_removed=True))
        return readable(views[0])

    async def _do(
        self, name: str, record: Record, command: Command, about: Attempt | None = None, *, dry_run: bool
    ) -> Effect:
        """Let the planner decide, in the store's step, or for a dry run on the record as it is."""
        now = await self.store.now()
        seen = record

        def decide(found: Record) -> Decision:
            nonlocal seen
            seen = found
            return plan_command(found, command, now)

        if dry_run:
            decision = decide(record)
        else:
            decision = await self.store.update(record.job.key, decide)
            self._tell(decision.events)
        effect = effect_of(name, seen, decision, now, is_dry_run=dry_run)
        changed = {attempt.key: attempt for attempt in (*seen.attempts, *decision.attempts)}
        if isinstance(command, RunNow):
            about = next(a for a in changed.values() if a.request == command.request)
        return effect._replace(attempt=None if about is None else changed.get(about.key, about))


def _must_be_short(what: str) -> str:
    return f"a {what} must be a printable text of 1 to {LONGEST_NAME} characters"
