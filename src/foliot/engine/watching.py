"""Which alerts a job sends: the last step of every decision about a job with a `Notify`.

    the decision: what started, ended, was skipped ─┐
    the job's watch: which episodes go on           ├─▶  the new watch, alerts, and when to look again
    what is expected, and the time                 ─┘

| kind | an episode begins | and is over |
|---|---|---|
| failure | `after` runs in a row have ended without success | at a success |
| missed | occurrences are skipped because they were not taken in time | when a run starts |
| late | an occurrence has not started in the time that is expected | when nothing is late |
| slow | a run has not ended in the time that is expected | when nothing is slow |
| silent | no run has succeeded in the time that is expected | at a success |
| flapping | 4 changes between good and bad in 10 runs | after 5 that are alike |

The first success after any of them is a recovery. `skipped` and `output` have one alert for each event, and
no episode. While a job flaps, failures and recoveries are held back; while it is muted, all alerts are. An
episode that still goes on afterwards is sent then.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from datetime import datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from foliot.model.alert import Alert, AlertKind
from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger, format_instant, run_key
from foliot.model.decision import Happening
from foliot.model.outbox import ChannelAlert
from foliot.model.policy import Expect, Notify
from foliot.model.watch import MOST_OUTCOMES, Episode, Watch
from foliot.schedules.duration import format_duration

if TYPE_CHECKING:
    from foliot.engine.draft import Draft

_FIRST_TRIES = (Trigger.SCHEDULE, Trigger.CATCH_UP, Trigger.MANUAL, Trigger.AFTER, Trigger.REBOOT)
_SEEN, _CHANGES, _STEADY = 10, 4, 5
_NO_EXPECTATION = Expect()
_SHOWN = 200
_WELL = "a run has succeeded"


def alert_id(job: str, kind: AlertKind, episode: str, reminder: int) -> str:
    """An id that is the same whenever the same alert is decided."""
    return sha256(f"{job}\n{kind}\n{episode}\n{reminder}".encode()).hexdigest()[:32]


class Watching:
    """The alerts of one decision. The results are `watch` and `alerts`."""

    def __init__(self, draft: Draft, notify: Notify) -> None:
        self._draft = draft
        self._job, self._now, self._state = draft.job, draft.now, draft.state
        self._notify = notify
        self._expect = draft.policy.expect or _NO_EXPECTATION
        self._known = {(a.scheduled_for, a.request, a.number): a for a in draft.attempts_before}
        self.watch = self._resumed(self._state.watch or Watch())
        self._episodes = {episode.kind: episode for episode in self.watch.episodes}
        self._wakes: list[datetime] = []
        self.alerts: list[ChannelAlert] = []

    def look(self) -> None:
        """Check what has happened, and what is overdue."""
        changed = list(self._draft.changed.items())
        started = [a for name, a in changed if a.is_running and not self._was_running(name)]
        ended = [(self._known.get(name), a) for name, a in changed if not a.is_open]
        self._see_starts(started)
        self._see_slow([a for before, a in ended if before is not None and before.is_running])
        self._see_skips()
        self._see_ends(ended)
        self._see_silence()
        self._tell_what_goes_on()
        self._ping(ended)
        episodes = tuple(self._episodes.values())
        self.watch = self.watch._replace(episodes=episodes, alert_at=min(self._wakes, default=None))

    def _resumed(self, watch: Watch) -> Watch:
        """The time of a pause does not count as silence, and neither does that of a job that is off."""
        before, quiet_since = self._draft.before, watch.quiet_since
        if not self._job.enabled:
            return watch._replace(quiet_since=None)
        if quiet_since is None:
            return watch._replace(quiet_since=self._now)
        if before.paused_at is not None and self._state.paused_at is None:
            paused = max(self._now - max(before.paused_at, quiet_since), timedelta(0))
            return watch._replace(quiet_since=quiet_since + paused)
        return watch

    def _was_running(self, name: tuple[datetime, str | None, int]) -> bool:
        before = self._known.get(name)
        return before is not None and before.is_running

    # -- what may be late, or slow, or missed ------------------------------------------------------

    def _see_starts(self, started: list[Attempt]) -> None:
        if started and (missed := self._episodes.get(AlertKind.MISSED)) is not None:
            self._episodes[AlertKind.MISSED] = missed._replace(is_over=True)
        within = self._expect.start_within
        if within is None or AlertKind.LATE not in self._notify.on:
            self._episodes.pop(AlertKind.LATE, None)
            return
        first_tries = [a for a in started if a.number == 1 and a.trigger in _FIRST_TRIES]
        begun = [a for a in first_tries if self._now > self._due_at(a) + within]
        waiting = dict(sorted(self._waiting_starts()))
        late = [(at, key) for at, key in waiting.items() if at + within <= self._now]
        if late:
            why = f"it should have started at {format_instant(late[0][0])}, and {self._why_not()}"
            self._begin(AlertKind.LATE, late[0][1], late[0][0], why=why, run=late[0][1])
        elif begun:
            at = self._due_at(begun[0])
            why = f"it should have started at {format_instant(at)}, and started {_span(self._now - at)} later"
            self._begin(AlertKind.LATE, begun[0].run_key, at, begun[0], why=why)
        self._end_if(AlertKind.LATE, is_over=not late)
        self._wakes += [at + within for at in waiting if at + within > self._now][:1]

    def _waiting_starts(self) -> Iterable[tuple[datetime, str]]:
        """The runs that have not started: when each should have started, and its key."""
        for attempt in self._draft.open.values():
            is_first = attempt.number == 1 and attempt.trigger in _FIRST_TRIES
            if is_first and attempt.state is AttemptState.PENDING:
                yield self._due_at(attempt), attempt.run_key
        if self._draft.is_live and (next_at := self._state.next_at) is not None:
            at = self._not_before_it_was_known(next_at + self._draft.offset)
            yield at, run_key(self._job.key, next_at, None)

    def _due_at(self, attempt: Attempt) -> datetime:
        """When an attempt should start: for an occurrence, its time plus the splay."""
        at = attempt.covers_from or attempt.scheduled_for
        return self._not_before_it_was_known(at if attempt.request else at + self._draft.offset)

    def _not_before_it_was_known(self, at: datetime) -> datetime:
        """A run for a time before the job was declared is not late: count from the declaration."""
        return max(at, self._state.defined_at or self._state.created_at)

    def _why_not(self) -> str:
        running = [attempt for attempt in self._draft.open.values() if attempt.is_running]
        return f"{running[0].run_key} is still open" if running else "no node has started it"

    def _see_slow(self, ended: list[Attempt]) -> None:
        within = self._expect.finish_within
        if within is None or AlertKind.SLOW not in self._notify.on:
            self._episodes.pop(AlertKind.SLOW, None)
            return
        running = [a for a in self._draft.open.values() if a.is_running]
        ends = [(a, a.claimed_at + within) for a in running if a.claimed_at is not None]
        slow = [a for a, end in ends if end <= self._now]
        done = [a for a in ended if a.claimed_at and a.finished_at and a.finished_at > a.claimed_at + within]
        for attempt in (slow or done)[:1]:
            word = "runs" if slow else "ran"
            why = f"it {word} for longer than {format_duration(within)}"
            since = attempt.claimed_at or self._now
            self._begin(AlertKind.SLOW, _name(attempt), since, attempt, why=why)
        self._end_if(AlertKind.SLOW, is_over=not slow)
        self._wakes += [end for _, end in ends if end > self._now]

    def _see_skips(self) -> None:
        for kind, skip in self._draft.skipped:
            name = f"{format_instant(skip.first)}..{format_instant(skip.last)}"
            if kind is AlertKind.MISSED:
                self._episodes.pop(kind, None)  # each skipped range is an alert of its own
                self._begin(kind, name, skip.first, why=skip.reason)
            else:
                self._tell(Episode(kind, name, skip.first), why=skip.reason)

    # -- how runs end ------------------------------------------------------------------------------

    def _see_ends(self, ended: list[tuple[Attempt | None, Attempt]]) -> None:
        failed = {e.run_key for e in self._draft.events if e.what is Happening.FAILED_FOR_GOOD}
        for before, attempt in ended:
            if attempt.key in self._draft.wrote:
                written = Episode(AlertKind.OUTPUT, _name(attempt), self._now)
                self._tell(written, attempt, why="it wrote something")
            if attempt.outcome is Outcome.SUCCEEDED:
                self._see_success(attempt)
            elif attempt.run_key in failed or (
                before is not None and before.state is AttemptState.RUNNING and not self._goes_on(attempt)
            ):
                self._see_failure(attempt)

    def _goes_on(self, attempt: Attempt) -> bool:
        run = attempt.scheduled_for, attempt.request
        return any((a.scheduled_for, a.request) == run for a in self._draft.open.values())

    def _see_failure(self, attempt: Attempt) -> None:
        at = attempt.finished_at or self._now
        since = self.watch.failing_since or at
        self.watch = self.watch._replace(failed_runs=self.watch.failed_runs + 1, failing_since=since)
        self._see_outcome("-", attempt)
        if self.watch.failed_runs >= self._notify.after:
            self._begin(AlertKind.FAILURE, _name(attempt), since, attempt, why=_why_failed(attempt))

    def _see_success(self, attempt: Attempt) -> None:
        at = attempt.finished_at or self._now
        quiet_since = max(self.watch.quiet_since or at, at) if self._job.enabled else None
        self.watch = self.watch._replace(failed_runs=0, failing_since=None, quiet_since=quiet_since)
        flapping = self._episodes.get(AlertKind.FLAPPING)
        closed = [e for e in self._episodes.values() if _ends_with_success(e)]
        for episode in closed:
            del self._episodes[episode.kind]
        self._see_outcome("+", attempt)
        if AlertKind.FLAPPING in self._episodes:
            return
        told = [e for e in (*closed, flapping) if e is not None and e.told_at is not None]
        if told:
            ended = min(told, key=lambda e: e.since)
            self._tell(ended._replace(kind=AlertKind.RECOVERY, reminders=0), attempt, why=_WELL)

    def _see_outcome(self, mark: str, attempt: Attempt) -> None:
        outcomes = (self.watch.outcomes + mark)[-MOST_OUTCOMES:]
        self.watch = self.watch._replace(outcomes=outcomes)
        last, kind = outcomes[-_SEEN:], AlertKind.FLAPPING
        if kind not in self._notify.on:
            self._episodes.pop(kind, None)
        elif kind in self._episodes:
            if len(outcomes) >= _STEADY and len(set(outcomes[-_STEADY:])) == 1:
                del self._episodes[kind]
                self.watch = self.watch._replace(outcomes=outcomes[-_STEADY:])  # it begins anew
        elif sum(a != b for a, b in itertools.pairwise(last)) >= _CHANGES:
            why = f"its runs succeed and fail by turns: {last}"
            self._begin(kind, _name(attempt), attempt.finished_at or self._now, attempt, why=why)

    def _see_silence(self) -> None:
        every, quiet_since = self._expect.success_every, self.watch.quiet_since
        if every is None or AlertKind.SILENT not in self._notify.on:
            self._episodes.pop(AlertKind.SILENT, None)
        elif self._draft.is_live and quiet_since is not None and AlertKind.SILENT not in self._episodes:
            if quiet_since + every > self._now:
                self._wakes.append(quiet_since + every)
                return
            why = f"no run has succeeded for {format_duration(every)}"
            self._begin(AlertKind.SILENT, format_instant(quiet_since), quiet_since, why=why)

    # -- telling -----------------------------------------------------------------------------------

    def _begin(
        self,
        kind: AlertKind,
        name: str,
        since: datetime,
        attempt: Attempt | None = None,
        **facts: Any,
    ) -> None:
        """An episode begins, or goes on."""
        if kind not in self._notify.on:
            return
        known = self._episodes.get(kind)
        if known is not None:
            self._episodes[kind] = known._replace(is_over=False)
            return
        episode = Episode(kind, name, since)
        if not self._is_held_back(kind):
            self._tell(episode, attempt, **facts)
            episode = episode._replace(told_at=self._now)
        self._episodes[kind] = episode

    def _end_if(self, kind: AlertKind, *, is_over: bool) -> None:
        """End an episode. One without an alert leaves no trace."""
        episode = self._episodes.get(kind)
        if not is_over or episode is None:
            return
        if episode.told_at is None:
            del self._episodes[kind]
        else:
            self._episodes[kind] = episode._replace(is_over=True)

    @property
    def _is_muted(self) -> bool:
        return self.watch.is_muted(self._now)

    def _is_held_back(self, kind: AlertKind) -> bool:
        return self._is_muted or (kind is AlertKind.FAILURE and AlertKind.FLAPPING in self._episodes)

    def _tell_what_goes_on(self) -> None:
        """Send alerts that were held back, and reminders."""
        if self.watch.muted_until is not None and not self._is_muted:
            self.watch = self.watch._replace(muted_until=None, muted_reason=None)
        for kind, episode in list(self._episodes.items()):
            if kind not in self._notify.on:
                del self._episodes[kind]
            elif episode.is_over:
                continue
            elif self._is_held_back(kind):
                self._wakes += [self.watch.muted_until] if self.watch.muted_until else []
            elif episode.told_at is None:
                self._again(episode, f"it goes on since {format_instant(episode.since)}")
            elif self._notify.remind is not None and self._may_recover:
                remind_at = episode.told_at + self._notify.remind
                if remind_at <= self._now:
                    reminder = episode._replace(reminders=episode.reminders + 1)
                    self._again(reminder, f"it still goes on, since {format_instant(episode.since)}")
                    remind_at = self._now + self._notify.remind
                self._wakes.append(remind_at)

    @property
    def _may_recover(self) -> bool:
        """Whether a recovery is still possible: a job that will not run again sends no reminders for ever."""
        return self._state.next_at is not None or bool(self._draft.open)

    def _again(self, episode: Episode, why: str) -> None:
        self._tell(episode, why=why)
        self._episodes[episode.kind] = episode._replace(told_at=self._now)
        if episode.told_at is None and self._notify.remind is not None and self._may_recover:
            self._wakes.append(self._now + self._notify.remind)

    def _tell(
        self, episode: Episode, attempt: Attempt | None = None, *, why: str, run: str | None = None
    ) -> None:
        kind = episode.kind
        if kind not in self._notify.on or self._is_muted:
            return
        # A recovery has the name of the episode that it ends, but only one success is reported.
        name = _name(attempt) if attempt and kind is AlertKind.RECOVERY else episode.name
        alert = Alert(
            alert_id(self._job.key, kind, name, episode.reminders), self._now, kind, self._job.key,
            run=attempt.run_key if attempt else run,
            attempt=attempt.number if attempt else None,
            outcome=attempt.outcome if attempt else None,
            exit_code=attempt.exit_code if attempt else None,
            error=attempt.error if attempt else None,
            failures_in_row=self.watch.failed_runs,
            since=episode.since,
            next_at=self._state.next_at if self._draft.is_live else None,
            node=attempt.node if attempt else None,
            revision=self._job.revision or None,
            why=why,
            episode=episode.name,
            reminder=episode.reminders,
        )  # fmt: skip
        self.alerts += [ChannelAlert(channel, alert) for channel in self._notify.to]

    def _ping(self, ended: list[tuple[Attempt | None, Attempt]]) -> None:
        """Ping the ends of attempts. A mute does not stop pings: outside it would look like a dead job."""
        ping = self._draft.policy.ping
        for before, attempt in ended:
            if ping is None or before is None or not before.is_running:
                continue
            kind = AlertKind.TRIED if self._goes_on(attempt) else AlertKind.ENDED
            alert = Alert(
                alert_id(self._job.key, kind, _name(attempt), 0), self._now, kind, self._job.key,
                run=attempt.run_key, attempt=attempt.number, outcome=attempt.outcome,
                exit_code=attempt.exit_code, error=attempt.error, node=attempt.node,
            )  # fmt: skip
            self.alerts.append(ChannelAlert(ping, alert))


def _name(attempt: Attempt) -> str:
    """A name that no two attempts share; a run that is repeated later may fail again."""
    return f"{attempt.run_key}#{attempt.number}"


def _ends_with_success(episode: Episode) -> bool:
    """Whether a success ends the episode. It does not end `late` and `slow`: other runs may be open."""
    goes_on = episode.kind in (AlertKind.LATE, AlertKind.SLOW) and not episode.is_over
    return episode.kind is not AlertKind.FLAPPING and not goes_on


def _why_failed(attempt: Attempt) -> str:
    error = (attempt.error or "").partition("\n")[0][:_SHOWN]
    if attempt.outcome is Outcome.LOST:
        return attempt.reason
    return f"{attempt.outcome}: {error}" if error else f"its run {attempt.outcome}"


def _span(duration: timedelta) -> str:
    return format_duration(duration - timedelta(microseconds=duration.microseconds))
