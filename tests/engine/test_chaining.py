"""Chains: each run of a parent that is over for good owes one run of each child."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engine.plan_cases import make_job
from engine.plan_lives import START
from engine.test_follow import after
from foliot.engine.herd import plan_alike
from foliot.engine.plan_command import Cancel, RunNow, plan_command
from foliot.engine.plan_definition import plan_declared
from foliot.engine.planner import plan_due, plan_ended, plan_lost
from foliot.errors import InvalidPolicyError
from foliot.model.alert import AlertKind
from foliot.model.attempt import Ending, Outcome
from foliot.model.chain import Link, On, parent_of, request_after
from foliot.model.codec import decode_job, encode_job
from foliot.model.decision import Decision
from foliot.model.policy import OnLost, Overlap, OverlapMode, Policy, Retry
from foliot.model.state import Record
from foliot.protocols import JobView
from foliot.schedules import Cron, Never
from foliot.why import explain

HOURLY = Cron("0 * * * *")
ALL = tuple(Link(f"on-{on}", on) for on in On)
MINUTE = timedelta(minutes=1)


def due(policy: Policy) -> Record:
    """A job with three followers, whose run has just started."""
    job = make_job(HOURLY, replace(policy, then=ALL))
    record = Record(job, plan_declared(job, None, START).state)
    at = record.state.next_at
    assert at is not None
    return after(record, plan_due(record, at, "n1"))


def ended(record: Record, outcome: Outcome, **facts: object) -> Decision:
    (attempt,) = [one for one in record.attempts if one.is_running]
    at = (attempt.claimed_at or START) + MINUTE
    ending = Ending(record.job.key, *attempt.key, attempt.token, outcome, at, at, **facts)  # type: ignore[arg-type]
    return plan_ended(record, [ending], at)


def channels(decision: Decision) -> set[str]:
    assert all(one.alert.kind is AlertKind.AFTER for one in decision.alerts)
    return {one.channel.rpartition("/")[2] for one in decision.alerts}


@pytest.mark.req("OWN-21")
@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome.SUCCEEDED, {"on-success", "on-end"}),
        (Outcome.FAILED, {"on-failure", "on-end"}),
        (Outcome.TIMED_OUT, {"on-failure", "on-end"}),
        (Outcome.INTERRUPTED, {"on-failure", "on-end"}),
        (Outcome.CANCELLED, {"on-end"}),
    ],
)
def test_each_follower_has_its_ends(outcome: Outcome, expected: set[str]) -> None:
    record = due(Policy(on_lost=OnLost.GIVE_UP))
    decision = ended(record, outcome)
    assert channels(decision) == expected
    assert decision.state is not record.state, "alerts are written only with a state"
    assert {one.alert.run for one in decision.alerts} == {record.attempts[0].run_key}


@pytest.mark.req("OWN-21")
def test_a_run_that_is_tried_again_is_not_over() -> None:
    record = due(Policy(retry=Retry(max=1, delay="1m")))
    first = ended(record, Outcome.FAILED)
    assert first.alerts == ()
    record = after(record, first)
    (waiting,) = record.attempts
    assert waiting.wake_at is not None
    record = after(record, plan_due(record, waiting.wake_at, "n2"))
    assert channels(ended(record, Outcome.FAILED)) == {"on-failure", "on-end"}
    assert channels(ended(record, Outcome.SUCCEEDED)) == {"on-success", "on-end"}


def test_a_run_that_is_lost_for_good_has_failed() -> None:
    record = due(Policy(on_lost=OnLost.GIVE_UP))
    (attempt,) = record.attempts
    assert channels(plan_lost(record, [attempt.key], START + timedelta(hours=2))) == {"on-failure", "on-end"}
    record = due(Policy(on_lost=OnLost.RESTART))
    (attempt,) = record.attempts
    assert plan_lost(record, [attempt.key], START + timedelta(hours=2)).alerts == ()


def test_a_retry_that_a_person_cancels_leaves_a_failure() -> None:
    record = due(Policy(retry=Retry(max=1, delay="1h")))
    record = after(record, ended(record, Outcome.FAILED))
    (waiting,) = record.attempts
    assert channels(plan_command(record, Cancel(waiting.run_key), START)) == {"on-failure", "on-end"}


def test_a_run_that_never_started_is_followed_by_nothing() -> None:
    record = due(Policy(overlap=Overlap(mode=OverlapMode.WAIT)))
    record = after(record, plan_command(record, RunNow("r1"), START))
    assert len(record.attempts) == 2
    assert plan_command(record, Cancel(f"{record.job.key}!r1"), START).alerts == ()


def test_a_job_with_followers_is_no_member_of_a_herd() -> None:
    job = make_job(HOURLY, Policy(then=ALL))
    assert plan_alike(job, START) is None
    assert plan_alike(make_job(HOURLY, Policy()), START) is not None


def test_links_are_stored_and_texts_without_them_are_as_they_were() -> None:
    job = make_job(Never(), Policy(after=Link("load", On.FAILURE), then=ALL))
    assert decode_job(encode_job(job)) == job
    assert "then" not in encode_job(make_job(Never(), Policy()))


@pytest.mark.parametrize("wrong", [{"after": "load"}, {"then": ("a",)}, {"then": [Link("a")]}])
def test_what_is_no_link_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidPolicyError):
        Policy(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidPolicyError):
        Link("a", "sometimes")  # type: ignore[arg-type]
    with pytest.raises(InvalidPolicyError):
        Link("")


@pytest.mark.req("OWN-21")
def test_why_tells_both_sides() -> None:
    parent = due(Policy())
    now = datetime(2026, 11, 15, tzinfo=UTC)
    child = make_job(Never(), Policy(after=Link("load")))
    record = Record(child, plan_declared(child, None, START).state)

    told = explain(JobView(child.key, record), (), (), kinds=None, now=now).text
    assert told == "it has no time of its own; it runs when a run of load has succeeded"
    told = explain(JobView(parent.job.key, parent), (), (), kinds=None, now=now).text
    assert (
        "; on-failure runs when a run of it has failed for good; on-end runs when a run of it is over" in told
    )
    decision = ended(parent, Outcome.SUCCEEDED)
    (run,) = decision.attempts
    over = explain(
        JobView(parent.job.key, after(parent, decision)), [run], (), kinds=None, now=now, at=run.scheduled_for
    )
    request = request_after(run.run_key)
    source = parent.job.source
    assert f"its end requested {source}/on-success!{request}, {source}/on-end!{request}" in over.text


def test_a_run_knows_its_parent_and_a_forgery_does_not() -> None:
    record = Record(make_job(Never(), Policy()), plan_declared(make_job(Never()), None, START).state)
    key = "s/load@2026-11-15T03:00:00Z"
    named = RunNow(request_after(key), payload=f'{{"after":"{key}"}}')
    for command, parent in (
        (named, key),
        (replace(named, request="after-x"), None),
        (replace(named, payload='{"after":5}'), None),
        (replace(named, payload=None), None),
        (RunNow("r1"), None),
    ):
        (attempt,) = plan_command(record, command, START).attempts
        assert parent_of(attempt) == parent
