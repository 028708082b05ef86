"""A decision in the making: what changes about one job, step by step, and when to look next."""

from __future__ import annotations

from datetime import datetime

from foliot.engine.calendar import Window, before, next_occurrence
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
_TELLS_NONE = Notify(())  # of a job that has a ping, and no channels beside

# Names an attempt within its job, as its key does in the whole store, and costs no text.
Name = tuple[datetime, str | None, int]


class Draft:
    """Starts as the record is; each step changes it; `decide` says what is to be written."""

    def __init__(self, record: Record, now: datetime) -> None:
        self.job, self.before, self.attempts_before = record
        attempts = self.attempts_before
        self.state = self.before
        self.policy = record.job.policy
        self.now = now
        self.offset = offset_of(record.job)
        self.come_until = now - self.offset if self.offset else now  # an occurrence up to here has come
        self.open = {_name(attempt): attempt for attempt in attempts if attempt.is_open}
        # Occurrences that have their run; the state has forgotten it if the clock was set back by hours.
        self.ran = {attempt.scheduled_for for attempt in attempts if attempt.request is None}
        self.changed: dict[Name, Attempt] = {}
        self.skips: list[Skip] = []
        self.events: list[Event] = []
        self.skipped: list[tuple[AlertKind, Skip]] = []  # what a channel may be told of
        self.wrote: set[tuple[str, int]] = set()  # keys of attempts that have ended, and wrote something
        self.alerts: tuple[ChannelAlert, ...] = ()
        self._started: set[tuple[str, int]] = set()

    # -- questions ---------------------------------------------------------------------------------

    @property
    def is_live(self) -> bool:
        """Whether its occurrences count: it is declared, enabled, and not paused."""
        state = self.state
        return self.job.enabled and state.removed_at is None and state.paused_at is None

    @property
    def was_asleep(self) -> bool:
        """Whether no node was to look for a run: if one is due all the same, a claim found the job busy."""
        watch = self.before.watch
        return (self.before if watch is None else watch).wake_at is None

    @property
    def is_free(self) -> bool:
        """Whether one more attempt may run."""
        places = self.places
        return places is None or places > 0

    @property
    def places(self) -> int | None:
        """How many more attempts may run; None: no bound."""
        most = self.policy.overlap.most
        return None if most is None else most - sum(attempt.is_running for attempt in self.open.values())

    @property
    def is_busy(self) -> bool:
        """Whether as many runs are open as may be; one that waits for its retry is open too."""
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
        """Occurrences whose run is pending, whether it must wait or not."""
        pending = (a for a in self.open.values() if a.state is AttemptState.PENDING)
        return [attempt for attempt in pending if attempt.trigger in _QUEUED]

    # -- steps -------------------------------------------------------------------------------------

    def open_attempt(self, attempt: Attempt, what: Happening) -> None:
        """Add an attempt; `reason` of it says why."""
        name = _name(attempt)
        self.open[name] = self.changed[name] = attempt
        self.tell(what, attempt.reason, attempt)

    def change(self, attempt: Attempt, **fields: object) -> Attempt:
        """Change an attempt, by the table of transitions; one that ends is open no more."""
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

    def drop(self, attempt: Attempt, reason: str) -> None:
        """End an attempt that was pending, so that it never starts."""
        ended = self.change(
            attempt,
            state=AttemptState.ENDED,
            outcome=Outcome.CANCELLED,
            wake_at=None,
            finished_at=self.now,
            reason=reason,
        )
        self.tell(Happening.ENDED, reason, ended)
        if attempt.trigger in _AGAIN:  # the run is over, and what went before counts
            self.note_problem(attempt, Problem.FAILED if attempt.trigger is Trigger.RETRY else Problem.LOST)

    def note_problem(self, attempt: Attempt, problem: Problem) -> None:
        """A run is over without success, unless another attempt at it is open."""
        run = attempt.scheduled_for, attempt.request
        if any((a.scheduled_for, a.request) == run for a in self.open.values()):
            return
        failures = self.state.failures_in_row + (problem in _FAILURES)
        self.state = self.state._replace(failures_in_row=failures, last_problem=problem.value)

    def start(self, attempt: Attempt, node: str) -> None:
        """Hand a pending attempt to a node."""
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
        """Let what waited for the job to be free start; which ones."""
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
        """Move the high-water mark. It never falls, and what lies before it is never next.

        Who decides may have read the clock before another has served an occurrence, or it was set back.
        """
        mark = self.state.served_until
        served = until if mark is None else max(mark, until)
        if following is not None and following <= served:
            following = next_occurrence(self.job, served)
        self.state = self.state._replace(served_until=served, next_at=following)

    def tell(self, what: Happening, reason: str, attempt: Attempt | None = None) -> None:
        """Note an event."""
        key, number = attempt.key if attempt else (None, 0)
        is_splayed = self.offset and what is Happening.STARTED and attempt and attempt.request is None
        offset = self.offset if is_splayed else None
        ping = self.policy.ping if what is Happening.STARTED else None
        self.events.append(Event(what, self.job.key, self.now, reason, key, number, attempt, offset, ping))

    # -- the end -----------------------------------------------------------------------------------

    def decide(self, *, looks_at_once: bool = False) -> Decision:
        """What is to be written. `looks_at_once`: occurrences that are due are to be met by a claim."""
        alert_at = self._watch()
        has_served = self.state.fired_count > 0 or bool(self.skips)
        is_over = self.state.next_at is None and not self.open and has_served
        if self.job.auto_remove and is_over and self.is_live:
            # A tombstone: while its source goes on declaring it, it must not begin anew.
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
        """See what is to be told, and when there may be more; of a job that was removed, nothing."""
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
        # Whoever changes an attempt changes the token too, so that no two writers miss each other.
        if self.changed or self.state != self.before:
            self.state = self.state._replace(token=self.before.token + max(1, len(self._started)))
        else:
            self.state = self.before
        events = tuple(event for event in self.events if not self._has_not_waited(event))
        changed, skips = tuple(self.changed.values()), tuple(self.skips)
        return Decision(self.state, changed, skips, events, remove, alerts=self.alerts)

    def _has_not_waited(self, event: Event) -> bool:
        """What starts in the decision that opened it has not waited."""
        return event.what is Happening.WAITS and (event.run_key, event.number) in self._started

    def _wake_at(self, *, looks_at_once: bool) -> datetime | None:
        """When somebody must look: at the next occurrence, or when a pending attempt may start."""
        times = []
        if self.is_free:
            times += [a.wake_at for a in self.open.values() if a.wake_at is not None]
        next_at = self.state.next_at
        if self.is_live and next_at is not None:
            keeps_one = self.policy.overlap.mode is OverlapMode.WAIT and bool(self.waiting)
            # What is due and was not met now finds the job busy: the end of the run sees to it.
            if looks_at_once or (next_at > self.come_until and not keeps_one):
                times.append(next_at + self.offset)
        return min(times, default=None)


def _name(attempt: Attempt) -> Name:
    return attempt.scheduled_for, attempt.request, attempt.number
