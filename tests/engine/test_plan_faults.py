"""Faults that were mended, in few events: a job that comes back, payloads, losses, lateness, debts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engine.plan_cases import Case, Life, case, instant, make_job
from foliot.engine.plan_command import Backfill, Resume, plan_command
from foliot.engine.plan_definition import plan_declared
from foliot.engine.planner import plan_due
from foliot.engine.retry import MOST_LOSSES
from foliot.model.attempt import Outcome, Trigger
from foliot.model.decision import Happening
from foliot.model.job import Action, Job
from foliot.model.policy import FirstSeen, Misfire, MisfireMode, OnChange, OnLost, Overlap, OverlapMode, Retry
from foliot.model.presets import API, BEAT, CODE, DECLARATIVE, ROLLCRON
from foliot.model.state import Record
from foliot.schedules import Cron, Once

HOURLY = "0 * * * *"
FIVE = "*/5 * * * *"
LAST = replace(CODE, on_change=OnChange.LAST)
PAST = make_job(Once(instant("09:00")), BEAT, auto_remove=True)
RESTART_SKIP = replace(ROLLCRON, on_lost=OnLost.RESTART)
WAIT = replace(RESTART_SKIP, overlap=Overlap(mode=OverlapMode.WAIT))
REPLACE = replace(RESTART_SKIP, overlap=Overlap(mode=OverlapMode.REPLACE))

COMES_BACK = [
    case(
        "a one-time job that its source still declares does not run twice",
        PAST,
        """
        10:00 declare | wake 09:00
        10:00 claim   | start 09:00 catch_up; asleep
        10:01 ok      | end 09:00 succeeded; removed
        10:01 told    | declared started ended finished
        10:30 declare | -
        10:30 claim   | -
        10:30 told    | -
        10:40 remove  | -
        10:50 declare | -
        """,
    ),
    case(
        "a one-time job that has removed itself runs again when it is given another time",
        PAST,
        """
        10:00 declare       | wake 09:00
        10:00 claim         | start 09:00 catch_up; asleep
        10:01 ok            | end 09:00 succeeded; removed
        10:30 declare later | wake 11:00
        11:00 claim         | start 11:00 schedule; asleep
        11:01 ok            | end 11:00 succeeded; removed
        """,
        later=replace(PAST, schedule=Once(instant("11:00"))),
    ),
    case(
        "a one-time job that is removed while it runs, and back, is still retried",
        PAST,
        """
        10:00 declare | wake 09:00
        10:00 claim   | start 09:00 catch_up; asleep
        10:01 remove  | asleep
        10:02 declare | asleep
        10:03 fail    | end 09:00 failed; plan 09:00#2 retry at 10:03:01; wake 10:03:01
        """,
    ),
    case(
        "a job that forgets is gone when it removes itself",
        replace(PAST, policy=replace(BEAT, remembers=False)),
        """
        10:00 declare | wake 09:00
        10:00 claim   | start 09:00 catch_up; asleep
        10:01 ok      | end 09:00 succeeded; gone
        """,
    ),
]

LOSSES = [
    case(
        "retry.max counts retries: a restart after a loss uses none up",
        replace(CODE, retry=Retry(max=1, delay="10s", backoff=2)),
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 11:00
        10:01    lose    | end 10:00 lost; plan 10:00#2 lost at 10:01; wake 10:01
        10:01    claim   | start 10:00#2 lost; wake 11:00
        10:02    fail    | end 10:00#2 failed; plan 10:00#3 retry at 10:02:10; wake 10:02:10
        10:02:10 claim   | start 10:00#3 retry; wake 11:00
        10:03    lose    | end 10:00#3 lost; plan 10:00#4 lost at 10:03; wake 10:03
        10:03    claim   | start 10:00#4 lost; wake 11:00
        10:04    fail    | end 10:00#4 failed; wake 11:00
        """,
        rule=HOURLY,
    ),
    case(
        "wait, misfire skip: what was missed with the node does not wait for the restart",
        WAIT,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:05
        10:33    lose    | end 10:00 lost; plan 10:00#2 lost at 10:33; wake 10:05
        10:33    claim   | start 10:00#2 lost; skip 10:05..10:30 (missed by more than its grace); wake 10:35
        10:34    ok      | end 10:00#2 succeeded; wake 10:35
        """,
        rule=FIVE,
    ),
    case(
        "wait, misfire skip: of what came, the one that is still in time waits",
        WAIT,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:05
        10:30:20 claim   | wait 10:30 schedule; \
                           skip 10:05..10:25 (a later occurrence came before it could start); asleep
        10:31    ok      | end 10:00 succeeded; release 10:30; wake 10:31
        """,
        rule=FIVE,
    ),
    case(
        "replace, misfire skip: what was missed by more than its grace replaces nothing",
        REPLACE,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:05
        10:33    claim   | skip 10:05..10:30 (missed by more than its grace); wake 10:35
        10:33    lose    | end 10:00 lost; plan 10:00#2 lost at 10:33; wake 10:33
        10:33    claim   | start 10:00#2 lost; wake 10:35
        10:35    claim   | cancel 10:00#2; wait 10:35 schedule; wake 10:40
        """,
        rule=FIVE,
    ),
    case(
        "wait, misfire once: what was missed with the node causes one run after the restart",
        replace(WAIT, misfire=Misfire(mode=MisfireMode.ONCE)),
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:05
        10:33    lose    | end 10:00 lost; plan 10:00#2 lost at 10:33; wake 10:05
        10:33    claim   | wait 10:05 schedule; start 10:00#2 lost; asleep
        10:34    ok      | end 10:00#2 succeeded; release 10:05; \
                           skip 10:10..10:30 (a run was still open); wake 10:34
        """,
        rule=FIVE,
    ),
]

# 10:00 and 10:30 have run by the old rule, 0,30; nobody looked until 12:50.
DEBTS = [
    case(
        "on_change last: what the old rule owed and the new one does not have is skipped",
        LAST,
        """
        09:59:30 declare       | wake 10:00
        10:00    claim         | start 10:00 schedule; wake 10:30
        10:01    ok            | end 10:00 succeeded; wake 10:30
        12:50    declare later | skip 10:30..12:30 (its definition changed before it could start); wake 13:00
        12:50    show          | served 12:50; next 13:00; wake 13:00
        """,
        rule="0,30 * * * *",
        later=make_job("0 13 * * *", LAST),
    ),
    case(
        "on_change last: what the old rule had before and after what the new one owes is skipped",
        LAST,
        """
        09:59:30 declare      | wake 10:00
        10:00    claim        | start 10:00 schedule; wake 10:30
        10:01    ok           | end 10:00 succeeded; wake 10:30
        12:50    declare once | skip 10:30 (its definition changed before it could start); \
                                skip 12:00..12:30 (its definition changed before it could start); wake 10:40
        12:50    claim        | start 11:40 catch_up covers 10:40; wake 2026-03-03T10:40
        """,
        rule="0,30 * * * *",
        once=make_job("40 10,11 * * *", LAST),
    ),
    case(
        "on_change last: an occurrence of both rules is owed, not skipped",
        LAST,
        """
        09:59:30 declare       | wake 10:00
        10:00    claim         | start 10:00 schedule; wake 10:30
        10:01    ok            | end 10:00 succeeded; wake 10:30
        12:50    declare hours | skip 10:30 (its definition changed before it could start); \
                                 skip 12:30 (its definition changed before it could start); wake 11:00
        12:50    claim         | start 12:00 catch_up covers 11:00; wake 13:00
        """,
        rule="0,30 * * * *",
        hours=make_job(HOURLY, LAST),
    ),
]


@pytest.mark.parametrize("case", [*COMES_BACK, *LOSSES, *DEBTS], ids=lambda case: case.id)
def test_a_fault_that_was_mended(case: Case) -> None:
    assert case.played() == case.expected()


# -- definitions -------------------------------------------------------------------------------------


def test_what_a_newer_node_wrote_outlives_an_older_one_that_declares_the_same() -> None:
    life, job = Life(), make_job(HOURLY)
    newer = replace(job, extra={"colour": "red", "policy": {"retry": {"budget": 3}}})
    life.declare(newer, instant("09:59:30"))
    life.declare(replace(job, revision="2"), instant("09:59:40"))
    assert life.steps[-1].decision.state is life.steps[0].decision.state
    assert life.steps[-1].decision.events == ()
    assert (life.there.job.extra, life.there.job.revision) == (newer.extra, "2")


def test_what_a_newer_node_wrote_outlives_a_change_and_a_removal() -> None:
    life, job = Life(), make_job(HOURLY)
    life.declare(replace(job, extra={"colour": "red"}), instant("09:59:30"))
    life.declare(make_job(FIVE), instant("09:59:40"))
    life.remove(instant("09:59:50"))
    life.declare(job, instant("09:59:55"))
    assert life.there.job == replace(job, extra={"colour": "red"})
    life.declare(replace(job, extra={"colour": "blue"}), instant("09:59:56"))
    assert life.there.job.extra == {"colour": "blue"}


@pytest.mark.parametrize(("before", "after"), [(1, True), (1, 1.0), ([0], [False])], ids=repr)
def test_a_payload_that_only_python_takes_for_equal_is_a_change(before: object, after: object) -> None:
    life, job = Life(), make_job(HOURLY)
    life.declare(replace(job, action=Action(kind="noop", data={"n": before})), instant("09:59:30"))
    life.declare(replace(job, action=Action(kind="noop", data={"n": after})), instant("09:59:40"))
    assert [event.what for event in life.steps[-1].decision.events] == [Happening.CHANGED]


# -- runs that take their nodes along ----------------------------------------------------------------


def lose_often(life: Life, count: int) -> None:
    for second in range(count):
        life.claim(instant(f"10:00:{second:02}"))
        life.lose(life.running[0], instant(f"10:00:{second:02}"))


def test_a_run_that_takes_every_node_along_is_given_up_and_says_so() -> None:
    life = Life()
    life.declare(make_job(HOURLY), instant("09:59:30"))
    lose_often(life, MOST_LOSSES)
    assert life.open == ()
    assert [attempt.outcome for attempt in life.ended] == [Outcome.LOST] * MOST_LOSSES
    assert "given up" in life.ended[-1].reason
    assert "given up" in life.steps[-1].decision.events[-1].reason
    life.claim(instant("11:00"))
    assert [attempt.run_key for attempt in life.running] == ["tests/job@2026-03-02T11:00:00Z"]


@pytest.mark.parametrize("outcome", [Outcome.INTERRUPTED, Outcome.FAILED])
def test_losses_count_only_in_a_row(outcome: Outcome) -> None:
    life = Life()
    life.declare(make_job(HOURLY, replace(CODE, retry=Retry(max=1, delay="1s"))), instant("09:59:30"))
    lose_often(life, MOST_LOSSES - 1)
    life.claim(instant("10:00:30"))
    life.end(life.running[0], instant("10:00:30"), outcome)
    life.claim(instant("10:00:40"))
    life.lose(life.running[0], instant("10:00:40"))
    (restart,) = life.open
    assert (restart.trigger, restart.losses) == (Trigger.LOST, 1)


def test_a_rerun_that_a_person_asked_for_has_all_its_retries() -> None:
    life, now = Life(), instant("10:30")
    policy = replace(API, retry=Retry(max=1, delay="1s"), first_seen=FirstSeen.NOW)
    life.declare(make_job(HOURLY, policy), now)
    for second in (0, 1):
        life.claim(instant(f"10:30:0{second}"))
        life.end(life.running[0], instant(f"10:30:0{second}"), Outcome.FAILED)
    assert not life.open
    life.command(Backfill(instant("10:00"), instant("10:00"), {instant("10:00"): 2}, rerun=True), now)
    life.claim(now)
    life.end(life.running[0], now, Outcome.FAILED)
    (retry,) = life.open
    assert (retry.number, retry.trigger, retry.retries) == (4, Trigger.RETRY, 1)


def test_declarative_tasks_restart_as_often_as_anything_does() -> None:  # DECL-24, DECL-31
    life = Life()
    life.declare(make_job(HOURLY, DECLARATIVE), instant("10:00"))
    lose_often(life, MOST_LOSSES - 1)
    assert [attempt.trigger for attempt in life.open] == [Trigger.LOST]


@pytest.mark.parametrize("late", ["changed", "resumed", "switched on", "back"])
def test_who_reads_the_clock_too_early_does_not_bring_back_what_was_served(late: str) -> None:
    """A release reads the time, a node serves an occurrence, and then the release's write lands."""
    noon = datetime(2026, 3, 2, 12, tzinfo=UTC)
    early, after = noon - timedelta(seconds=1), noon + timedelta(seconds=1)
    job = Job(source="s", name="n", schedule=Cron("0 * * * *"), action=Action(kind="k"))
    state = plan_declared(job, None, noon - timedelta(minutes=30)).state
    served = plan_due(Record(job, state), after, "a")
    record = Record(job, served.state)
    assert served.state.served_until == noon
    if late == "changed":
        decision = plan_declared(replace(job, schedule=Cron("0,30 * * * *")), record, early)
    elif late == "switched on":
        off = replace(job, enabled=False)
        decision = plan_declared(job, Record(off, served.state._replace(next_at=None)), early)
    elif late == "back":
        gone = served.state._replace(removed_at=noon, next_at=None)
        decision = plan_declared(job, Record(job, gone), early)
    else:
        paused = Record(job, served.state._replace(paused_at=noon))
        decision = plan_command(paused, Resume(), early)
    assert decision.state.next_at is not None
    assert decision.state.next_at > noon
