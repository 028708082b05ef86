"""A run that is asked for because of an event counts once, whatever history remembers."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from engine.plan_cases import make_job
from engine.plan_lives import START
from foliot.engine.plan_command import Follow, Pause, Resume, plan_command
from foliot.engine.plan_definition import plan_declared
from foliot.engine.planner import plan_due, plan_ended
from foliot.model.attempt import Ending, Outcome, Trigger
from foliot.model.decision import Decision
from foliot.model.job import Job
from foliot.model.policy import Notify, Policy
from foliot.model.state import Record, SkipCode
from foliot.model.watch import MOST_ASKED
from foliot.operations import state_of
from foliot.protocols import JobView
from foliot.schedules import Cron, Never, Schedule
from foliot.why import explain

MINUTE = timedelta(minutes=1)
BOOT = Follow("boot-web1-abc", Trigger.REBOOT, "its host has started")
RULES = [Never(), Never(at_boot=True), Cron("0 2 * * *")]


def declared(rule: Schedule, policy: Policy | None = None) -> Record:
    job = make_job(rule, policy or Policy())
    return Record(job, plan_declared(job, None, START).state)


def after(record: Record, decision: Decision, job: Job | None = None) -> Record:
    held = {attempt.key: attempt for attempt in record.attempts}
    held |= {attempt.key: attempt for attempt in decision.attempts}
    return Record(job or record.job, decision.state, tuple(a for a in held.values() if a.is_open))


def run_through(record: Record, now: datetime) -> Record:
    """The run that waits starts, and succeeds."""
    record = after(record, plan_due(record, now, "n1"))
    (attempt,) = record.attempts
    ending = Ending(record.job.key, *attempt.key, attempt.token, Outcome.SUCCEEDED, now, now)
    return after(record, plan_ended(record, [ending], now))


@pytest.mark.req("OWN-21")
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("policy", [Policy(), Policy(notify=Notify("ops"))])
def test_it_runs_once_even_when_history_has_forgotten_the_run(rule: Schedule, policy: Policy) -> None:
    record = declared(rule, policy)
    record = after(record, plan_command(record, BOOT, START))
    (attempt,) = record.attempts
    assert (attempt.trigger, attempt.request, attempt.wake_at) == (Trigger.REBOOT, BOOT.request, START)
    assert record.state.wake_at == START
    record = run_through(record, START + MINUTE)
    assert record.attempts == ()  # and no store is asked: the state alone remembers

    again = plan_command(record, BOOT, START + 2 * MINUTE)

    assert again.is_nothing(record)


def test_the_next_boot_takes_the_place_of_the_last_of_the_same_host() -> None:
    record = declared(Never(at_boot=True))
    for request in ("boot-web1-abc", "boot-web-1-abc", "boot-web1-def"):
        record = after(record, plan_command(record, replace(BOOT, request=request), START))
    assert record.state.watch is not None
    assert record.state.watch.asked == ("boot-web-1-abc", "boot-web1-def")


def test_what_is_remembered_has_a_bound() -> None:
    record = declared(Never())
    for number in range(MOST_ASKED + 5):
        record = after(record, plan_command(record, replace(BOOT, request=f"after-{number}"), START))
    assert record.state.watch is not None
    assert len(record.state.watch.asked or ()) == MOST_ASKED
    assert len(record.attempts) == MOST_ASKED + 5


@pytest.mark.req("OWN-21")
def test_a_paused_job_records_a_skip_and_does_not_run_later() -> None:
    record = declared(Never(at_boot=True))
    record = after(record, plan_command(record, Pause(), START))
    decision = plan_command(record, BOOT, START + MINUTE)
    (skip,) = decision.skips
    assert (skip.code, skip.reason) == (SkipCode.PAUSED, "the job was paused: its host has started")
    record = after(record, decision)
    record = after(record, plan_command(record, Resume(), START + 2 * MINUTE))
    assert record.attempts == ()
    assert plan_command(record, BOOT, START + 3 * MINUTE).is_nothing(record)


def test_a_job_that_is_switched_off_records_a_skip() -> None:
    record = declared(Never(at_boot=True))
    off = replace(record.job, enabled=False)
    record = after(record, plan_declared(off, record, START), off)
    (skip,) = plan_command(record, BOOT, START + MINUTE).skips
    assert skip.code is SkipCode.SWITCHED_OFF


def test_a_job_without_a_time_is_not_finished() -> None:
    record = declared(Never(at_boot=True))
    assert state_of(JobView(record.job.key, record)) == ("ok",)


@pytest.mark.req("OWN-21")
def test_why_tells_that_there_is_no_time() -> None:
    def told(rule: Schedule) -> str:
        record = declared(rule)
        view = JobView(record.job.key, record)
        return explain(view, (), (), kinds=None, now=START).text

    assert told(Never(at_boot=True)) == "its schedule is @reboot: it runs once after each boot"
    assert told(Never()) == "its schedule is never: it runs only when it is asked for"
