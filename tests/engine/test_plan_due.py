"""What a claim starts: occurrences that come in time, and occurrences that were missed."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engine.plan_cases import Case, Life, brief, case, instant, make_job
from foliot.model.attempt import Outcome, Trigger
from foliot.model.policy import Misfire, MisfireMode, Policy
from foliot.model.presets import API, BEAT, CODE, DECLARATIVE, ROLLCRON
from foliot.schedules import Every

TICK = timedelta(microseconds=1)
SKIP = replace(CODE, misfire=Misfire(mode=MisfireMode.SKIP))
ALL_3 = replace(CODE, misfire=Misfire(mode=MisfireMode.ALL, limit=3))
EAGER = replace(CODE, misfire=Misfire(grace=timedelta(0)))
NOT_BEFORE_FIRST = replace(CODE, before_first_run=False)

IN_TIME = [
    case(
        "RAT-04 nothing fires before its time; RAT-05 one run at its time, and the state moves on",
        API,
        """
        09:59:30        declare | wake 10:00
        09:59:59.999999 claim   | -
        10:00           claim   | start 10:00 schedule; wake 10:01
        10:00           claim   | -
        10:00           show    | served 10:00; next 10:01; wake 10:01
        10:00           told    | declared started
        """,
    ),
    case(
        "DECL-14 one run at most in a matching minute",
        DECLARATIVE,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 11:00
        10:00:20 ok      | end 10:00 succeeded; wake 11:00
        10:00:40 claim   | -
        10:00:59 look    | -
        """,
        rule="0 * * * *",
    ),
    case(
        "a success in peace leaves the state alone: the happy path costs one state write",
        CODE,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:01
        10:00    show    | served 10:00; next 10:01; wake 10:01
        10:00:05 ok      | end 10:00 succeeded; wake 10:01
        10:00:05 show    | served 10:00; next 10:01; wake 10:01
        10:00:05 told    | declared started ended
        """,
    ),
    case(
        "several in time: one run for the last of them, which covers the others",
        CODE,
        """
        10:00:00.5 declare | wake 10:00:10
        10:00:35   claim   | start 10:00:30 schedule covers 10:00:10; wake 10:00:40
        10:00:35   show    | served 10:00:30; next 10:00:40; wake 10:00:40
        """,
        rule=Every("10s"),
    ),
    case(
        "several in time under skip: one run for the last, and a trace of the others",
        SKIP,
        """
        10:00:00.5 declare | wake 10:00:10
        10:00:35   claim   | start 10:00:30 schedule; skip 10:00:10..10:00:20 \
                             (a later occurrence came before it could start); wake 10:00:40
        """,
        rule=Every("10s"),
    ),
]

GRACE = [
    case(
        "exactly its grace late is in time",
        SKIP,
        """
        09:59:30 declare | wake 10:00
        10:01    claim   | start 10:00 schedule; wake 10:05
        """,
        rule="*/5 * * * *",
    ),
    case(
        "one microsecond more is missed: skip",
        SKIP,
        """
        09:59:30        declare | wake 10:00
        10:01:00.000001 claim   | skip 10:00 (missed by more than its grace); wake 10:05
        10:01:00.000001 show    | served 10:00; next 10:05; wake 10:05
        10:01:00.000001 told    | declared skipped
        """,
        rule="*/5 * * * *",
    ),
    case(
        "one microsecond more is missed: once",
        CODE,
        """
        09:59:30        declare | wake 10:00
        10:01:00.000001 claim   | start 10:00 catch_up; wake 10:05
        """,
        rule="*/5 * * * *",
    ),
    case(
        "no grace at all: the very instant is in time",
        EAGER,
        """
        09:59:30        declare | wake 10:00
        10:00           claim   | start 10:00 schedule; wake 10:05
        10:00:01        ok      | end 10:00 succeeded; wake 10:05
        10:05:00.000001 claim   | start 10:05 catch_up; wake 10:10
        """,
        rule="*/5 * * * *",
    ),
]

MISFIRE = [
    case(
        "RAT-06 missed for hours: one run, and the next counts from now",
        API,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 11:00
        10:00:05 ok      | end 10:00 succeeded; wake 11:00
        16:20    claim   | start 16:00 catch_up covers 11:00; wake 17:00
        16:20    show    | served 16:00; next 17:00; wake 17:00
        """,
        rule="0 * * * *",
    ),
    case(
        "DECL-12 missed occurrences cause one run",
        DECLARATIVE,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 11:00
        10:00:05 ok      | end 10:00 succeeded; wake 11:00
        16:20    declare | -
        16:20    claim   | start 16:00 catch_up covers 11:00; wake 17:00
        16:20:01 ok      | end 16:00 succeeded; wake 17:00
        16:20:02 claim   | -
        """,
        rule="0 * * * *",
    ),
    case(
        "rollcron: missed occurrences are skipped, as one range",
        ROLLCRON,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 11:00
        10:00:05 ok      | end 10:00 succeeded; wake 11:00
        16:20    claim   | skip 11:00..16:00 (missed by more than its grace); wake 17:00
        """,
        rule="0 * * * *",
    ),
    case(
        "all(3): a run for each of the latest three, one after the other, older ones skipped",
        ALL_3,
        """
        09:59:30 declare | wake 10:00
        16:20    claim   | start 14:00 catch_up; plan 15:00 catch_up at 16:20; \
                           plan 16:00 catch_up at 16:20; skip 10:00..13:00 (more than 3 were missed); \
                           wake 17:00
        16:21    ok      | end 14:00 succeeded; wake 16:20
        16:21    claim   | start 15:00 catch_up; wake 17:00
        16:22    ok      | end 15:00 succeeded; wake 16:20
        16:22    claim   | start 16:00 catch_up; wake 17:00
        16:23    ok      | end 16:00 succeeded; wake 17:00
        """,
        rule="0 * * * *",
    ),
    case(
        "all(3): fewer than three missed, and the last of them in time",
        ALL_3,
        """
        09:59:30 declare | wake 10:00
        11:00:10 claim   | start 10:00 catch_up; plan 11:00 schedule at 11:00:10; wake 12:00
        """,
        rule="0 * * * *",
    ),
    case(
        "DECL-13 a job that never ran is not caught up",
        DECLARATIVE,
        """
        09:59:30 declare | wake 10:00
        12:20    claim   | skip 10:00..12:00 (missed, and the job had never run before); wake 13:00
        13:00    claim   | start 13:00 schedule; wake 14:00
        """,
        rule="0 * * * *",
    ),
    case(
        "a job that never ran is caught up if its policy says so",
        CODE,
        """
        09:59:30 declare | wake 10:00
        12:20    claim   | start 12:00 catch_up covers 10:00; wake 13:00
        """,
        rule="0 * * * *",
    ),
    case(
        "a job that never ran, in time: it runs whatever its policy says of catching up",
        NOT_BEFORE_FIRST,
        """
        09:59:30 declare | wake 10:00
        10:00:30 claim   | start 10:00 schedule; wake 11:00
        """,
        rule="0 * * * *",
    ),
]


@pytest.mark.parametrize(
    "case",
    [*IN_TIME, *GRACE, *MISFIRE],
    ids=lambda case: case.id,
)
def test_what_a_claim_starts(case: Case) -> None:
    assert case.played() == case.expected()


OUTAGES = [
    timedelta(minutes=1), timedelta(minutes=1) + TICK, timedelta(minutes=2), timedelta(hours=1),
    timedelta(days=1), timedelta(days=30), timedelta(days=400),
]  # fmt: skip


@pytest.mark.parametrize("outage", OUTAGES, ids=str)
@pytest.mark.parametrize("policy", [API, DECLARATIVE, BEAT, CODE], ids=["api", "declarative", "beat", "code"])
def test_an_outage_of_any_length_gives_one_run(policy: Policy, outage: timedelta) -> None:
    life = _life_before_an_outage(policy)
    life.claim(instant("10:00") + outage)

    (run,) = life.running
    first, last = instant("10:01"), (instant("10:00") + outage).replace(second=0, microsecond=0)
    assert run.scheduled_for == last
    assert (run.covers_from or last) == first
    assert life.skips == []
    assert life.there.state.next_at == last + timedelta(minutes=1)


@pytest.mark.parametrize("outage", OUTAGES[1:], ids=str)
def test_an_outage_of_any_length_is_one_skip_range(outage: timedelta) -> None:
    life = _life_before_an_outage(replace(ROLLCRON, misfire=Misfire(mode=MisfireMode.SKIP, grace=TICK * 0)))
    back_at = instant("10:00:30") + outage
    life.claim(back_at)

    (skip,) = life.skips
    assert (brief(skip.first), skip.last) == ("10:01", back_at.replace(second=0, microsecond=0))
    assert life.running == []


@pytest.mark.parametrize("policy", [API, CODE], ids=["api", "code"])
def test_a_year_of_a_job_that_never_ran_is_one_run_too(policy: Policy) -> None:
    life = Life()
    life.declare(make_job("* * * * *", policy), instant("09:59:30"))
    life.claim(datetime(2027, 3, 2, 9, 0, 30, tzinfo=UTC))

    (run,) = life.running
    assert (run.trigger, brief(run.covers_from)) == (Trigger.SCHEDULE, "10:00")
    assert run.scheduled_for == datetime(2027, 3, 2, 9, 0, tzinfo=UTC)


def _life_before_an_outage(policy: Policy) -> Life:
    """A job of every minute that has run at 10:00."""
    life = Life()
    life.declare(make_job("* * * * *", policy), instant("09:59:30"))
    life.claim(instant("10:00"))
    for attempt in life.running:
        life.end(attempt, instant("10:00:05"), Outcome.SUCCEEDED)
    return life
