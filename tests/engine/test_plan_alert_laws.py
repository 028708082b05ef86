"""Laws of alerts that hold for every policy and every sequence of events."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from hypothesis import assume, given

from engine.plan_cases import Life, Step
from engine.plan_lives import Player, jobs, lives, numbers
from foliot.engine.plan_command import Command
from foliot.errors import CommandRefusedError
from foliot.model.alert import Alert, AlertKind
from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.decision import Happening
from foliot.model.job import Job
from foliot.model.policy import Notify

PLAIN = Notify("ops", on=("failure", "recovery"), remind="7m")
TROUBLE = set(AlertKind) - {AlertKind.RECOVERY, AlertKind.OUTPUT, AlertKind.SKIPPED}


def told(step: Step) -> list[Alert]:
    channels = {one.channel for one in step.decision.alerts}
    return [one.alert for one in step.decision.alerts if one.channel == min(channels)]


def failed_runs(step: Step) -> list[str]:
    """The runs of a job that is there which are over without success, though nobody asked them to end."""
    was_there = step.before is not None and step.before.state.removed_at is None and step.what != "remove"
    return runs_over(step) if was_there else []


def runs_over(step: Step) -> list[str]:
    """The runs that are over without success, though nobody asked them to end: as a reader would say it."""
    before = {a.key: a for a in (step.before.attempts if step.before else ())}
    still = {a.run_key for a in (step.after.attempts if step.after else ())}
    over = [
        a.run_key
        for a in step.decision.attempts
        if a.key in before
        and before[a.key].state is AttemptState.RUNNING
        and a.state is AttemptState.ENDED
        and a.outcome is not Outcome.SUCCEEDED
        and a.run_key not in still
    ]
    preempted = [e.run_key for e in step.decision.events if e.what is Happening.RETRY_PREEMPTED and e.run_key]
    replaced = [
        a.run_key
        for a in step.decision.attempts
        if a.key in before
        and before[a.key].state is AttemptState.PENDING
        and a.trigger in (Trigger.RETRY, Trigger.LOST)
        and a.reason == "a newer occurrence replaced it"
        and a.run_key not in still
    ]
    return [*over, *preempted, *replaced]


def every_alert_has_an_id_of_its_own(life: Life) -> None:
    """A definition that comes back may decide the same once more: the outbox knows the id."""
    seen: set[tuple[str, str]] = set()
    for step in life.steps:
        if step.what == "declare":
            seen.clear()
        for one in step.decision.alerts:
            assert (one.channel, one.alert.id) not in seen
            seen.add((one.channel, one.alert.id))


def alerts_come_with_a_change_of_the_state(life: Life) -> None:
    for step in life.steps:
        if step.decision.alerts:
            assert step.before is not None
            assert step.decision.remove or step.decision.state is not step.before.state


def a_recovery_ends_something_that_was_told(life: Life) -> None:
    troubles: set[str | None] = set()
    for alert in (alert for step in life.steps for alert in told(step)):
        if alert.kind is AlertKind.RECOVERY:
            assert alert.episode in troubles
            troubles.discard(alert.episode)
        elif alert.kind in TROUBLE:
            troubles.add(alert.episode)


def what_a_person_cancels_alerts_nobody(life: Life) -> None:
    """It may be the moment of a reminder, which tells of an earlier failure."""
    for step in life.steps:
        if step.what == "cancel":
            new = {alert.kind for alert in told(step) if not alert.reminder}
            assert not new & {AlertKind.FAILURE, AlertKind.RECOVERY}


def somebody_looks_when_there_may_be_something_to_tell(life: Life) -> None:
    for step in life.steps:
        state = step.decision.state
        if state.watch is not None and step.after is not None:
            times = [at for at in (state.watch.wake_at, state.watch.alert_at) if at is not None]
            assert state.wake_at == min(times, default=None)
            if step.decision.state is not (step.before and step.before.state):
                assert state.watch.alert_at is None or state.watch.alert_at > step.at


@given(lives())
def test_laws_of_alerts(life: Life) -> None:
    every_alert_has_an_id_of_its_own(life)
    alerts_come_with_a_change_of_the_state(life)
    a_recovery_ends_something_that_was_told(life)
    what_a_person_cancels_alerts_nobody(life)
    somebody_looks_when_there_may_be_something_to_tell(life)


@given(jobs(), numbers)
def test_each_failure_is_told_and_none_is_invented(job: Job, happens: list[int]) -> None:
    """Without `after` and flapping: after a run that failed, the newest that was told is a failure."""
    player = Player(
        replace(job, policy=replace(job.policy, notify=PLAIN)), without=frozenset(("switch", "remove"))
    )
    for number in happens:
        player.happen(number)
    is_failing = False
    for step in player.life.steps:
        if step.what == "declare":
            is_failing = is_failing and step.decision.state.watch is not None
        failed, alerts = failed_runs(step), told(step)
        for alert in alerts:
            if alert.kind is AlertKind.FAILURE and not alert.reminder:
                assert alert.run in failed
            is_failing = alert.kind is AlertKind.FAILURE
        if failed and not any(a.outcome is Outcome.SUCCEEDED for a in step.decision.attempts):
            assert is_failing


@given(lives())
def test_each_run_that_has_failed_for_good_is_an_event_of_its_own(life: Life) -> None:
    for step in life.steps:
        events = [e for e in step.decision.events if e.what is Happening.FAILED_FOR_GOOD]
        assert sorted(str(e.run_key) for e in events) == sorted(set(runs_over(step)))
        assert all(e.attempt and e.attempt.state is AttemptState.ENDED for e in events)


class Twins(Life):
    """A life that is watched, and beside it the same life without a watch."""

    def __init__(self) -> None:
        super().__init__()
        self.plain = Life()

    def declare(self, job: Job, at: datetime) -> None:
        super().declare(job, at)
        self.plain.declare(replace(job, policy=replace(job.policy, notify=None)), at)

    def remove(self, at: datetime) -> None:
        super().remove(at)
        self.plain.remove(at)

    def look(self, at: datetime) -> None:
        super().look(at)
        self.plain.look(at)

    def end(
        self, attempt: Attempt, at: datetime, outcome: Outcome, finished_at: datetime | None = None
    ) -> None:
        super().end(attempt, at, outcome, finished_at)
        self.plain.end(self._twin(attempt), at, outcome, finished_at)

    def lose(self, attempt: Attempt, at: datetime) -> None:
        super().lose(attempt, at)
        self.plain.lose(self._twin(attempt), at)

    def command(self, command: Command, at: datetime) -> None:
        super().command(command, at)
        self.plain.command(command, at)

    def _twin(self, attempt: Attempt) -> Attempt:
        (found,) = (a for a in self.plain.open if a.key == attempt.key)
        return found


@given(jobs(), numbers)
def test_a_watch_changes_nothing_but_what_is_told(job: Job, happens: list[int]) -> None:
    assume(job.policy.is_watched)
    player, twins = Player(job), Twins()
    player.life = twins
    twins.declare(job, player.now)
    for number in happens:
        try:
            player.happen(number)
        except CommandRefusedError:
            return
    for step, other in zip(twins.steps, twins.plain.steps, strict=True):
        watched, plain = step.decision, other.decision
        assert [a._replace(token=0) for a in watched.attempts] == [
            a._replace(token=0) for a in plain.attempts
        ]
        assert (watched.skips, watched.remove) == (plain.skips, plain.remove)
        assert [e.what for e in watched.events] == [e.what for e in plain.events]
        state = watched.state
        wake_at = state.wake_at if state.watch is None else state.watch.wake_at
        same = state._replace(watch=None, wake_at=wake_at, token=plain.state.token)
        assert watched.remove or same == plain.state
