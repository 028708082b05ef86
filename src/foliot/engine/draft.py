"""A decision in the making: what changes about one job, step by step, and when to look next."""

from __future__ import annotations

from datetime import datetime

from foliot.engine.calendar import Window, before, due_window, next_occurrence
from foliot.engine.chaining import follow_up
from foliot.engine.watching import Watching
from foliot.model.alert import AlertKind
from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger, check_transition
from foliot.model.decision import Decision, Event, Happening
from foliot.model.outbox import ChannelAlert
from foliot.model.policy import Notify, OverlapMode
from foliot.model.splay import offset_of
from foliot.model.state import Problem, Record, Skip

_AGAIN = (Trigger.RETRY, Trigger.LOST)
_FAILURES = (Problem.FAILED, Problem.TIMED_OUT)
_QUEUED = (Trigger.SCHEDULE, Trigger.CATCH_UP)
_TELLS_NONE = Notify(())  # for a job with a ping but no channels

# Names an attempt within its job, as its key does in the whole store, and costs no text.
Name = tuple[datetime, str | None, int]


class Draft:
    """A decision in progress. It starts from a record; steps change it; `decide` returns what to write."""

    def __init__(self, record: Record, now: datetime) -> None:
        self.job, self.before, self.attempts_before = record
        attempts = self.attempts_before
        self.state = self.before
        self.policy = record.job.policy
        self.now = now
        self.offset = offset_of(record.job)
        self.come_until = now - self.offset if self.offset else now  # occurrences up to here have come
        self.open = {_name(attempt): attempt for attempt in attempts if attempt.is_open}
        # Occurrences that have a run. After a clock was set back by hours, the state no longer shows it.
        self.ran = {attempt.scheduled_for for attempt in attempts if attempt.request is None}
        self.changed: dict[Name, Attempt] = {}
        self.skips: list[Skip] = []
        self.events: list[Event] = []
        self.skipped: list[tuple[AlertKind, Skip]] = []  # what may cause an alert
        self.wrote: set[tuple[str, int]] = set()  # keys of ended attempts with output
        self.alerts: tuple[ChannelAlert, ...] = ()
        self._started: set[tuple[str, int]] = set()

    # -- questions ---------------------------------------------------------------------------------

    @property
    def is_live(self) -> bool:
        """Whether its occurrences run: it is declared, enabled, and not paused."""
        state = self.state
        return self.job.enabled and state.removed_at is None and state.paused_at is None

    @property
    def was_asleep(self) -> bool:
        """Whether the job has no time to wake.

        If an occurrence is due nevertheless, a claim has seen it and found the job busy.
        """
        watch = self.before.watch
        return (self.before if watch is None else watch).wake_at is None

    @property
    def is_free(self) -> bool:
        """Whether one more attempt may run."""
        places = self.places
        return places is None or places > 0

    @property
    def places(self) -> int | None:
        """How many more attempts may run; None means no limit."""
        most = self.policy.overlap.most
        return None if most is None else most - sum(attempt.is_running for attempt in self.open.values())

    @property
    def is_busy(self) -> bool:
        """Whether no further run may open. A run that waits for its retry is open, too."""
        most = self.policy.overlap.most
        if most is None:
            return False
        held = (a for a in self.open.values() if a.is_running or a.trigger in _AGAIN)
        return len({(a.scheduled_for, a.request) for a in held}) >= most

    @property
    def waiting(self) -> list[Attempt]:
        """Attempts that wait for their job to be free."""
        return [a for a in self.open.values() if a.state is AttemptState.PENDING and a.wake_at is None]

    @property
    def queued(self) -> list[Attempt]:
        """Occurrences with a pending run."""
        pending = (a for a in self.open.values() if a.state is AttemptState.PENDING)
        return [attempt for attempt in pending if attempt.trigger in _QUEUED]

    # -- steps -------------------------------------------------------------------------------------

    def open_attempt(self, attempt: Attempt, what: Happening) -> None:
        """Add an attempt; its `reason` says why it exists."""
        name = _name(attempt)
        self.open[name] = self.changed[name] = attempt
        self.tell(what, attempt.reason, attempt)

    def change(self, attempt: Attempt, **fields: object) -> Attempt:
        """Change an attempt, as the table of transitions allows. An attempt that ends is no longer open."""
        changed = attempt._replace(**fields)  # type: ignore[arg-type]  # names are checked by _replace
        if changed.state is not attempt.state:
            check_transition(attempt.state, changed.state)
        name = _name(attempt)
        self.changed[name] = changed
        if changed.is_open:
            self.open[name] = changed
        else:
            del self.open[name]
        return changed

    def drop(self, attempt: Attempt, reason: str, *, is_told: bool = False) -> None:
        """End a pending attempt, so that it never starts. `is_told`: its run has failed by that."""
        ended = self.change(
            attempt,
            state=AttemptState.ENDED,
            outcome=Outcome.CANCELLED,
            wake_at=None,
            finished_at=self.now,
            reason=reason,
        )
        self.tell(Happening.ENDED, reason, ended)
        if attempt.trigger in _AGAIN:  # the run ends here, with the result of its earlier attempts
            problem = Problem.FAILED if attempt.trigger is Trigger.RETRY else Problem.LOST
            self.note_problem(attempt, problem, is_told=is_told)

    def note_problem(self, attempt: Attempt, problem: Problem, *, is_told: bool) -> None:
        """Note that a run has ended without success, unless another attempt of it is open.

        It is told unless a person, or the next occurrence under `replace`, wanted its end.
        """
        run = attempt.scheduled_for, attempt.request
        if any((a.scheduled_for, a.request) == run for a in self.open.values()):
            return
        failures = self.state.failures_in_row + (problem in _FAILURES)
        self.state = self.state._replace(failures_in_row=failures, last_problem=problem.value)
        if is_told and problem is not Problem.CANCELLED:
            end = next(e for e in reversed(self.events) if e.what is Happening.ENDED)  # the attempt's own
            self.events.append(end._replace(what=Happening.FAILED_FOR_GOOD))

    def start(self, attempt: Attempt, node: str) -> None:
        """Give a pending attempt to a node."""
        timeout = self.policy.timeout
        started = self.change(
            attempt,
            state=AttemptState.RUNNING,
            wake_at=None,
            node=node,
            token=self.before.token + 1 + len(self._started),
            claimed_at=self.now,
            deadline_at=None if timeout is None else self.now + timeout,
            version=self.state.version,
        )
        name = started.run_key
        self.state = self.state._replace(
            fired_count=self.state.fired_count + (attempt.number == 1),
            last_attempt_at=self.now,
            last_run=name,
        )
        self._started.add(started.key)
        self.tell(Happening.STARTED, started.reason, started)

    def release(self) -> list[Attempt]:
        """Let waiting attempts start, because the job is free. Returns them."""
        waited = self.waiting if self.is_free and not self.is_busy else []
        for attempt in waited:
            self.change(attempt, wake_at=self.now)
        return waited

    def skip(self, first: datetime, last: datetime, reason: str, told_as: AlertKind | None = None) -> None:
        """Record occurrences that will not run."""
        skip = Skip(self.job.key, first, last, reason)
        self.skips.append(skip)
        if told_as is not None:
            self.skipped.append((told_as, skip))
        self.tell(Happening.SKIPPED, reason)
        if skip.problem is not None:
            self.state = self.state._replace(last_problem=skip.problem.value)

    def skip_all_but(self, window: Window, first_kept: datetime, reason: str, told_as: AlertKind) -> None:
        """Record the occurrences of a window before one."""
        if window.first < first_kept:
            self.skip(window.first, before(self.job, first_kept) or window.first, reason, told_as)

    def serve(self, until: datetime, following: datetime | None) -> None:
        """Move the high-water mark of served occurrences.

        The caller's time may be older than the mark: another node has served meanwhile, or the clock was set
        back.
        """
        mark = self.state.served_until
        served = until if mark is None else max(mark, until)
        if following is not None and following <= served:
            following = next_occurrence(self.job, served)
        self.state = self.state._replace(served_until=served, next_at=following)

    def end_pause(self, passed: datetime, reason: str) -> None:
        """End the pause. Occurrences up to `passed` are skipped."""
        first = self.state.next_at
        self.state = self.state._replace(paused_at=None, paused_reason=None, paused_until=None)
        if self.job.enabled:
            if first is not None and first <= passed:
                window = due_window(self.job, first, passed)
                self.skip(window.first, window.last, "the job was paused")
            self.serve(passed, next_occurrence(self.job, passed))
        self.tell(Happening.RESUMED, reason)

    def end_pause_in_time(self) -> None:
        """End a pause whose time has come. An occurrence at exactly that time runs."""
        until = self.state.paused_until
        if until is not None and until <= self.now and self.state.removed_at is None:
            self.end_pause(until - self.offset - until.resolution, "its pause has ended")

    def tell(self, what: Happening, reason: str, attempt: Attempt | None = None) -> None:
        """Note an event."""
        key, number = attempt.key if attempt else (None, 0)
        is_splayed = self.offset and what is Happening.STARTED and attempt and attempt.request is None
        offset = self.offset if is_splayed else None
        ping = self.policy.ping if what is Happening.STARTED else None
        self.events.append(Event(what, self.job.key, self.now, reason, key, number, attempt, offset, ping))

    # -- the end -----------------------------------------------------------------------------------

    def decide(self, *, looks_at_once: bool = False) -> Decision:
        """What to write. `looks_at_once`: a claim shall look at due occurrences at once."""
        alert_at = self._watch()
        if self.policy.then:
            self.alerts += follow_up(self, self.policy.then)
        has_served = self.state.fired_count > 0 or bool(self.skips)
        is_over = self.state.next_at is None and not self.open and has_served
        if self.job.auto_remove and is_over and self.is_live:
            # A tombstone: its source may still declare it, and then it must not start from the beginning.
            self.tell(Happening.FINISHED, "no occurrence is left, and the job removes itself")
            self.state = self.state._replace(removed_at=self.now, watch=None)
            alert_at = None
        if self.state.removed_at is not None and not self.open and not self.policy.remembers:
            return self._decision(remove=True)
        wake_at = self._wake_at(looks_at_once=looks_at_once)
        if (watch := self.state.watch) is not None:
            self.state = self.state._replace(watch=watch._replace(wake_at=wake_at))
        times = [at for at in (wake_at, alert_at) if at is not None]
        self.state = self.state._replace(wake_at=min(times, default=None))
        return self._decision(remove=False)

    def _watch(self) -> datetime | None:
        """Decide which alerts to send, and when to check again. A removed job sends none."""
        if not self.policy.is_watched or self.state.removed_at is not None:
            if (watch := self.state.watch) is not None:
                self.state = self.state._replace(watch=watch.left(self.now))
            return None
        watching = Watching(self, self.policy.notify or _TELLS_NONE)
        watching.look()
        self.alerts = tuple(watching.alerts)
        self.state = self.state._replace(watch=watching.watch)
        return watching.watch.alert_at

    def _decision(self, *, remove: bool) -> Decision:
        # A write that changes an attempt also changes the token, so that two writers always notice each
        # other.
        if self.changed or self.state != self.before:
            self.state = self.state._replace(token=self.before.token + max(1, len(self._started)))
        else:
            self.state = self.before
        events = tuple(event for event in self.events if not self._has_not_waited(event))
        changed, skips = tuple(self.changed.values()), tuple(self.skips)
        return Decision(self.state, changed, skips, events, remove, alerts=self.alerts)

    def _has_not_waited(self, event: Event) -> bool:
        """An attempt that starts in the decision that opened it has not waited."""
        return event.what is Happening.WAITS and (event.run_key, event.number) in self._started

    def _wake_at(self, *, looks_at_once: bool) -> datetime | None:
        """When a claim must look at the job: at its next occurrence, or when a pending attempt may start."""
        times = []
        if self.is_free:
            times += [a.wake_at for a in self.open.values() if a.wake_at is not None]
        if self.state.paused_until is not None and self.state.removed_at is None:
            times.append(self.state.paused_until)
        next_at = self.state.next_at
        if self.is_live and next_at is not None:
            keeps_one = self.policy.overlap.mode is OverlapMode.WAIT and bool(self.waiting)
            # An occurrence that is due but has no run waits for the busy job: the end of the run decides
            # about it.
            if looks_at_once or (next_at > self.come_until and not keeps_one):
                times.append(next_at + self.offset)
        return min(times, default=None)


def _name(attempt: Attempt) -> Name:
    return attempt.scheduled_for, attempt.request, attempt.number
