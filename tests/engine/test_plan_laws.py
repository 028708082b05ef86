"""Laws that hold for every policy and every sequence of events, through the pure planner alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from engine.plan_cases import NODE, Life, Step
from engine.plan_lives import lives
from foliot.engine.draft import Draft
from foliot.engine.herd import end_in_peace, is_plain, start_alike
from foliot.engine.plan_definition import PlanDeclared, plan_declared
from foliot.engine.planner import plan_any_due, plan_any_ended, plan_due
from foliot.model.attempt import TRANSITIONS, Attempt, AttemptState, Ending, Outcome, Trigger
from foliot.model.job import Action
from foliot.model.policy import MisfireMode, OverlapMode
from foliot.model.splay import offset_of
from foliot.model.state import Record

MICROSECOND = timedelta(microseconds=1)
LAST = datetime.max.replace(tzinfo=UTC)
AGAIN = (Trigger.RETRY, Trigger.LOST)
SCHEDULED = (Trigger.SCHEDULE, Trigger.CATCH_UP)


def known(step: Step) -> dict[tuple[str, int], Attempt]:
    """The attempts that were open before a step."""
    return {attempt.key: attempt for attempt in (step.before.attempts if step.before else ())}


def started(step: Step) -> list[Attempt]:
    before = known(step)
    attempts = [attempt for attempt in step.decision.attempts if attempt.is_running]
    return [a for a in attempts if a.key not in before or not before[a.key].is_running]


def is_new(step: Step) -> bool:
    """The job begins anew: it was not there, or it was removed and does not remember."""
    return step.before is None or step.decision.state.created_at != step.before.state.created_at


# -- the state ---------------------------------------------------------------------------------------


def the_high_water_mark_never_falls(life: Life) -> None:
    for step in life.steps:
        assert step.decision.state.served_until is not None
        if step.before is not None and not is_new(step):
            assert step.before.state.served_until is not None
            assert step.decision.state.served_until >= step.before.state.served_until


def the_next_occurrence_is_never_one_that_was_served(life: Life) -> None:
    for step in life.steps:
        state = step.decision.state
        assert state.served_until is not None
        assert state.next_at is None or state.next_at > state.served_until, step


def the_token_grows_by_one_exactly_when_something_changes(life: Life) -> None:
    for step in life.steps:
        if step.before is None or step.decision.state is step.before.state:
            continue
        old, new = step.before.state, step.decision.state
        if new._replace(version=old.version, defined_at=old.defined_at) == old:
            continue  # a new version alone leaves the token alone: what runs may end in peace
        assert new.token == old.token + 1
        assert new._replace(token=old.token) != old or step.decision.attempts


def the_version_grows_by_one_exactly_when_the_job_says_something_else(life: Life) -> None:
    for step in life.steps:
        if step.before is None or is_new(step):
            assert (step.decision.state.version, step.decision.state.defined_at) == (1, None)
            continue
        old, new = step.before.state, step.decision.state
        is_back = old.removed_at is not None and new.removed_at is None
        is_changed = step.what == "declare" and not step.job.says_the_same(step.before.job)
        is_other = is_back or (is_changed and old.removed_at is None)
        assert new.version == old.version + is_other, step
        assert new.defined_at == (step.at if is_other else old.defined_at), step


def what_starts_knows_the_version_that_started_it(life: Life) -> None:
    for step in life.steps:
        known = {attempt.key: attempt for attempt in (step.before.attempts if step.before else ())}
        for attempt in step.decision.attempts:
            before = known.get(attempt.key)
            is_started = attempt.is_running and (before is None or not before.is_running)
            version = step.decision.state.version if is_started else before.version if before else 0
            assert attempt.version == version, step


def whoever_opens_or_ends_an_attempt_is_seen_by_others(life: Life) -> None:
    """Stores write if the token is unchanged. Only the end of a lone run may leave it alone."""
    for step in life.steps:
        if step.before is None or step.decision.state.token > step.before.state.token:
            continue
        for attempt in step.decision.attempts:
            assert attempt.outcome is Outcome.SUCCEEDED, step
            assert len(step.before.attempts) == 1


def the_same_question_gets_the_same_answer(life: Life) -> None:
    for step in life.steps:
        if step.what == "look" and step.before:
            assert plan_due(step.before, step.at, NODE) == step.decision


def nothing_is_decided_without_a_reason(life: Life) -> None:
    for step in life.steps:
        decision = step.decision
        assert all(attempt.reason for attempt in decision.attempts)
        assert all(skip.reason for skip in decision.skips)
        assert all(event.reason and event.at == step.at for event in decision.events)
        told = {(event.run_key, event.number) for event in decision.events}
        changed = [a for a in decision.attempts if a.key not in known(step) or not a.is_open]
        assert told.issuperset(attempt.key for attempt in changed)
        assert [e.what.value for e in decision.events].count("skipped") == len(decision.skips)


def looking_again_changes_nothing(life: Life) -> None:
    for step in life.steps:
        if step.what == "look" and step.after and not started(step):
            assert plan_due(step.after, step.at, NODE).state is step.after.state, step


def a_herd_is_decided_as_each_of_its_members(life: Life) -> None:
    """Whenever a plain record is looked at while the decision holds, up to its last microsecond."""
    for step in life.steps:
        record = step.before
        if record is not None and is_plain(record) and (first := record.state.next_at) is not None:
            alike = plan_due.alike(record.job, first)
            if record.job.policy.is_watched:
                assert alike is None
                continue
            assert alike is not None
            for at in (first, step.at, alike.until):
                if first <= at <= alike.until:
                    assert start_alike(record, alike, at, NODE) == plan_any_due(record, at, NODE)
            if alike.until < LAST:
                after = alike.until + MICROSECOND
                assert plan_due(record, after, NODE) == plan_any_due(record, after, NODE)
        for attempt in known(step).values():
            if step.before and attempt.is_running:
                a_success_ends_alike_both_ways(step.before, attempt, step.at)


def a_success_ends_alike_both_ways(record: Record, attempt: Attempt, at: datetime) -> None:
    """But for the token: the quick way writes no state, so there is nothing to fence."""
    ending = Ending(
        attempt.job, attempt.run_key, attempt.number, attempt.token,
        Outcome.SUCCEEDED, attempt.claimed_at, at, "it warned",
    )  # fmt: skip
    quick = end_in_peace(record, ending, at)
    if quick is not None:
        long = plan_any_ended(record, [ending], at)
        assert long.state.token == record.state.token + 1
        assert quick == long._replace(state=long.state._replace(token=record.state.token))
        assert quick.state is record.state
        assert end_in_peace(record, ending._replace(token=attempt.token - 1), at) is None
        assert end_in_peace(record, ending._replace(number=attempt.number + 1), at) is None


def no_run_is_said_to_wait_that_starts_at_once(life: Life) -> None:
    for step in life.steps:
        told = {(event.run_key, event.number) for event in step.decision.events if event.what == "waits"}
        assert told.isdisjoint(attempt.key for attempt in started(step)), step


# -- attempts ----------------------------------------------------------------------------------------


def attempts_move_along_the_table_of_transitions(life: Life) -> None:
    for step in life.steps:
        for attempt in step.decision.attempts:
            old = known(step).get(attempt.key)
            if old is None:
                assert attempt.state in (AttemptState.PENDING, AttemptState.RUNNING), step
            elif old.state is not attempt.state:
                assert attempt.state in TRANSITIONS[old.state], step
            else:
                assert (old.token, old.trigger) == (attempt.token, attempt.trigger), step


def no_two_attempts_share_a_key(life: Life) -> None:
    keys: set[tuple[str, int]] = set()
    for step in life.steps:
        if step.before is None:
            keys.clear()  # the job is forgotten, with its history
        new = [a.key for a in step.decision.attempts if a.key not in known(step)]
        assert not keys.intersection(new), step
        keys.update(new)


def a_run_has_one_open_attempt_at_most(life: Life) -> None:
    for step in life.steps:
        open_ = step.after.attempts if step.after else ()
        assert max(Counter(a.run_key for a in open_).values(), default=0) <= 1, step


def a_decision_starts_one_attempt_at_most_and_within_the_overlap(life: Life) -> None:
    for step in life.steps:
        for attempt in started(step):
            assert step.after is not None
            assert started(step) == [attempt]
            assert (attempt.token, attempt.claimed_at) == (step.decision.state.token, step.at)
            most = step.job.policy.overlap.most
            assert most is None or sum(a.is_running for a in step.after.attempts) <= most, step


@given(lives(changes=False))
def test_wait_and_replace_keep_one_waiting(life: Life) -> None:
    policy = life.steps[0].job.policy
    if policy.overlap.mode in (OverlapMode.WAIT, OverlapMode.REPLACE) and policy.misfire.mode != "all":
        for step in life.steps:
            open_ = step.after.attempts if step.after else ()
            waits = [a for a in open_ if a.state is AttemptState.PENDING and a.trigger in SCHEDULED]
            assert len(waits) <= 1, step


def one_look_owes_one_run_unless_each_is_to_be_caught_up(life: Life) -> None:
    for step in life.steps:
        new = [a for a in step.decision.attempts if a.key not in known(step) and a.trigger in SCHEDULED]
        misfire = step.job.policy.misfire
        assert len(new) <= (misfire.limit if misfire.mode is MisfireMode.ALL else 1), step


def a_person_is_never_ignored(life: Life) -> None:
    for step in life.steps:
        for attempt in step.decision.attempts:
            never_ran = attempt.outcome is Outcome.CANCELLED and attempt.node is None
            if never_ran and attempt.trigger in (Trigger.MANUAL, Trigger.BACKFILL):
                assert step.what in ("cancel", "remove"), step


# -- liveness ----------------------------------------------------------------------------------------


def somebody_looks_while_something_can_start(life: Life) -> None:
    for step in life.steps:
        if step.after is None:
            continue
        state, attempts = step.after.state, step.after.attempts
        draft = Draft(step.after, step.at)
        if draft.is_live and not attempts:
            start = None if state.next_at is None else state.next_at + offset_of(step.after.job)
            assert (state.watch or state).wake_at == start, step
        ready = [a.wake_at for a in attempts if a.wake_at]
        if draft.is_free and ready:
            assert state.wake_at is not None, step
            assert state.wake_at <= min(ready), step


def what_waits_for_a_run_has_one_to_wait_for(life: Life) -> None:
    for step in life.steps:
        open_ = step.after.attempts if step.after else ()
        waiting = [a for a in open_ if a.state is AttemptState.PENDING and a.wake_at is None]
        held = [a for a in open_ if a.is_running or a.trigger in AGAIN]
        assert held or not waiting, step


@given(lives())
def test_a_claim_leaves_nothing_undone(life: Life) -> None:
    now = life.steps[-1].at
    life.claim(now)
    is_open = life.running or any(attempt.trigger in AGAIN for attempt in life.open)
    for job, state, attempts in [life.record] if life.record and not is_open else ():
        assert not [a for a in attempts if a.wake_at and a.wake_at <= now]
        draft = Draft(Record(job, state), now)
        assert not draft.is_live or state.next_at is None or state.next_at > draft.come_until


@given(lives())
def test_everything_comes_to_rest(life: Life) -> None:
    now = max([life.steps[-1].at, *(attempt.wake_at for attempt in life.open if attempt.wake_at)])
    for _ in range(200):
        for attempt in life.running:
            life.end(attempt, now, Outcome.SUCCEEDED)
        if life.record is not None:
            life.claim(now)
    assert not life.open


@given(lives())
def test_laws_of_the_state(life: Life) -> None:
    the_high_water_mark_never_falls(life)
    the_next_occurrence_is_never_one_that_was_served(life)
    the_token_grows_by_one_exactly_when_something_changes(life)
    the_version_grows_by_one_exactly_when_the_job_says_something_else(life)
    what_starts_knows_the_version_that_started_it(life)
    whoever_opens_or_ends_an_attempt_is_seen_by_others(life)
    nothing_is_decided_without_a_reason(life)


@given(lives())
def test_laws_of_looking(life: Life) -> None:
    the_same_question_gets_the_same_answer(life)
    looking_again_changes_nothing(life)
    a_herd_is_decided_as_each_of_its_members(life)
    no_run_is_said_to_wait_that_starts_at_once(life)


@given(lives())
def test_laws_of_attempts(life: Life) -> None:
    attempts_move_along_the_table_of_transitions(life)
    no_two_attempts_share_a_key(life)
    a_run_has_one_open_attempt_at_most(life)
    a_decision_starts_one_attempt_at_most_and_within_the_overlap(life)
    one_look_owes_one_run_unless_each_is_to_be_caught_up(life)
    a_person_is_never_ignored(life)


@given(lives())
def test_laws_of_liveness(life: Life) -> None:
    somebody_looks_while_something_can_start(life)
    what_waits_for_a_run_has_one_to_wait_for(life)


@given(lives(), st.text(min_size=1, max_size=5).filter(str.isprintable))
def test_new_jobs_that_are_alike_get_one_decision(life: Life, name: str) -> None:
    """Neither the name nor the data of the action matters to a job that is not there yet."""
    for step in life.steps:
        decide = PlanDeclared(step.at)
        other = replace(step.job, name=name, action=Action(kind=step.job.action.kind, data={"n": name}))
        alike = decide.new(step.job)
        assert (alike is None) is (step.job.policy.splay is not None)
        assert alike is None or decide(other, None) == alike.decision(other.key)
        assert decide(other, None) == plan_declared(other, None, step.at)
