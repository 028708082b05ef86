"""What people ask for: run it now, pause, resume, cancel, fill in the past."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from engine.plan_cases import Case, Life, case, instant, make_job
from foliot.engine.plan_command import MOST_BACKFILLED, Backfill, Pause, RunNow
from foliot.errors import CommandRefusedError
from foliot.model.policy import Retry
from foliot.model.presets import API, CODE, DECLARATIVE, ROLLCRON

HOURLY = "0 * * * *"

RUN_NOW = [
    case(
        "a request runs at once, and the schedule is as it was",
        CODE,
        """
        09:59:30 declare | wake 10:00
        09:59:40 run a   | plan !a manual at 09:59:40; wake 09:59:40
        09:59:40 claim   | start !a manual; wake 10:00
        09:59:50 ok      | end !a succeeded; wake 10:00
        09:59:50 show    | served 09:59:30; next 10:00; wake 10:00
        09:59:50 told    | declared requested started ended
        """,
        rule=HOURLY,
    ),
    case(
        "the same request twice is one run",
        CODE,
        """
        09:59:30 declare | wake 10:00
        09:59:40 run a   | plan !a manual at 09:59:40; wake 09:59:40
        09:59:41 run a   | -
        09:59:42 claim   | start !a manual; wake 10:00
        09:59:43 run a   | -
        """,
        rule=HOURLY,
    ),
    case(
        "two requests are two runs, one after the other: a manual run waits, and is never skipped",
        ROLLCRON,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 11:00
        10:10    run a   | plan !a manual at 10:10; wake 11:00
        10:11    run b   | plan !b manual at 10:11; wake 11:00
        10:12    claim   | -
        10:20    ok      | end 10:00 succeeded; wake 10:10
        10:20    claim   | start !a manual; wake 11:00
        10:30    ok      | end !a succeeded; wake 10:11
        10:30    claim   | start !b manual; wake 11:00
        """,
        rule=HOURLY,
    ),
    case(
        "parallel: a request does not wait",
        API,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 11:00
        10:10    run a   | plan !a manual at 10:10; wake 10:10
        10:10    claim   | start !a manual; wake 11:00
        """,
        rule=HOURLY,
    ),
    case(
        "a request and an occurrence fall together: both run",
        CODE,
        """
        09:59:30 declare | wake 10:00
        10:00    run a   | plan !a manual at 10:00; wake 10:00
        10:00    claim   | plan 10:00 schedule at 10:00; start !a manual; wake 11:00
        10:01    ok      | end !a succeeded; wake 10:00
        10:01    claim   | start 10:00 schedule; wake 11:00
        """,
        rule=HOURLY,
    ),
    case(
        "a request of a job that is off runs: only its occurrences are off",
        API,
        """
        09:59:30 declare off | asleep
        09:59:40 run a       | plan !a manual at 09:59:40; wake 09:59:40
        09:59:40 claim       | start !a manual; asleep
        """,
        rule=HOURLY,
    ),
    case(
        "a request that fails is retried as any run is",
        replace(CODE, retry=Retry(max=1, delay="10s")),
        """
        09:59:30 declare | wake 10:00
        09:59:40 run a   | plan !a manual at 09:59:40; wake 09:59:40
        09:59:40 claim   | start !a manual; wake 10:00
        09:59:45 fail    | end !a failed; plan !a#2 retry at 09:59:55; wake 09:59:55
        09:59:55 claim   | start !a#2 retry; wake 10:00
        """,
        rule=HOURLY,
    ),
]

PAUSE = [
    case(
        "paused: occurrences pass without a run; resumed: they are one skip range, and nothing is owed",
        CODE,
        """
        09:59:30 declare | wake 10:00
        09:59:40 pause   | asleep
        10:00    look    | -
        12:00    claim   | -
        12:20    resume  | skip 10:00..12:00 (the job was paused); wake 13:00
        12:20    told    | declared paused skipped resumed
        12:20    claim   | -
        """,
        rule=HOURLY,
    ),
    case(
        "a request starts while the job is paused",
        CODE,
        """
        09:59:30 declare | wake 10:00
        09:59:40 pause   | asleep
        10:10    run a   | plan !a manual at 10:10; wake 10:10
        10:10    claim   | start !a manual; asleep
        10:20    ok      | end !a succeeded; asleep
        10:30    resume  | skip 10:00 (the job was paused); wake 11:00
        """,
        rule=HOURLY,
    ),
    case(
        "pause is the operator's: it survives that the same definition is declared again",
        CODE,
        """
        09:59:30 declare     | wake 10:00
        09:59:40 pause       | asleep
        10:10    declare     | -
        10:20    show        | served 09:59:30; next 10:00; asleep; paused 09:59:40
        """,
        rule=HOURLY,
    ),
    case(
        "pause survives that the job is switched off and on, and is not lifted by it",
        CODE,
        """
        09:59:30 declare     | wake 10:00
        09:59:40 pause       | asleep
        09:59:45 declare off | asleep
        09:59:50 declare     | asleep
        10:20    show        | served 09:59:50; next 10:00; asleep; paused 09:59:40
        """,
        rule=HOURLY,
    ),
    case(
        "paused while running: the run ends in peace",
        CODE,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 11:00
        10:10    pause   | asleep
        11:10    ok      | end 10:00 succeeded; asleep
        11:20    resume  | skip 11:00 (the job was paused); wake 12:00
        """,
        rule=HOURLY,
    ),
    case(
        "pause twice, resume twice: the second does nothing",
        CODE,
        """
        09:59:30 declare | wake 10:00
        09:59:40 pause   | asleep
        09:59:50 pause   | -
        09:59:50 show    | served 09:59:30; next 10:00; asleep; paused 09:59:40
        09:59:55 resume  | wake 10:00
        09:59:56 resume  | -
        """,
        rule=HOURLY,
    ),
]

CANCEL = [
    case(
        "cancelled while pending: it never starts",
        ROLLCRON,
        """
        09:59:30 declare   | wake 10:00
        10:00    claim     | start 10:00 schedule; wake 11:00
        10:10    run a     | plan !a manual at 10:10; wake 11:00
        10:11    cancel !a | drop !a (cancelled by a person); wake 11:00
        10:20    ok        | end 10:00 succeeded; wake 11:00
        10:20    claim     | -
        """,
        rule=HOURLY,
    ),
    case(
        "cancelled while running: asked to end, and neither retried nor restarted",
        DECLARATIVE,
        """
        09:59:30 declare      | wake 10:00
        10:00    claim        | start 10:00 schedule; wake 11:00
        10:10    cancel 10:00 | cancel 10:00; wake 11:00
        10:10    told         | declared started cancel_asked
        10:11    cancel 10:00 | -
        10:12    cancelled    | end 10:00 cancelled; wake 11:00
        """,
        rule=HOURLY,
    ),
    case(
        "cancelled while it waits for its retry: the run is over",
        DECLARATIVE,
        """
        09:59:30 declare        | wake 10:00
        10:00    claim          | start 10:00 schedule; wake 11:00
        10:10    fail           | end 10:00 failed; plan 10:00#2 retry at 10:10:10; wake 10:10:10
        10:10:05 cancel 10:00#2 | drop 10:00#2 (cancelled by a person); wake 11:00
        """,
        rule=HOURLY,
    ),
    case(
        "what is not open cannot be cancelled",
        CODE,
        """
        09:59:30 declare      | wake 10:00
        09:59:40 cancel 10:00 | refused: tests/job@10:00 has no open attempt
        """,
        rule=HOURLY,
    ),
]

BACKFILL = [
    case(
        "occurrences of the past, one run each, one after the other",
        CODE,
        """
        12:30 declare              | wake 13:00
        12:30 backfill 09:30 12:00 | plan 10:00 backfill at 12:30; plan 11:00 backfill at 12:30; \
                                     plan 12:00 backfill at 12:30; wake 12:30
        12:30 claim                | start 10:00 backfill; wake 13:00
        12:31 ok                   | end 10:00 succeeded; wake 12:30
        12:31 claim                | start 11:00 backfill; wake 13:00
        12:31 show                 | served 12:30; next 13:00; wake 13:00
        """,
        rule=HOURLY,
    ),
    case(
        "what has run needs a rerun, which is another attempt at the same run",
        API,
        """
        09:59:30 declare                    | wake 10:00
        10:00    claim                      | start 10:00 schedule; wake 11:00
        10:01    ok                         | end 10:00 succeeded; wake 11:00
        10:10    backfill 09:00 10:00       | refused: 2026-03-02T10:00:00+00:00 has run already
        10:10    backfill 09:00 10:00 rerun | plan 09:00 backfill at 10:10; \
                                              plan 10:00#2 backfill at 10:10; wake 10:10
        """,
        rule=HOURLY,
    ),
    case(
        "what is to come cannot be filled in",
        CODE,
        """
        09:59:30 declare              | wake 10:00
        09:59:40 backfill 09:00 10:00 | refused: only past occurrences can be filled in
        """,
        rule=HOURLY,
    ),
    case(
        "what is due and not yet served cannot be filled in: it will have its own run",
        CODE,
        """
        09:59:30 declare              | wake 10:00
        10:00:05 backfill 09:00 10:00 | refused: only past occurrences can be filled in
        """,
        rule=HOURLY,
    ),
    case(
        "a time without occurrences is nothing to fill",
        CODE,
        """
        12:30 declare              | wake 13:00
        12:30 backfill 11:10 11:50 | -
        """,
        rule=HOURLY,
    ),
    case(
        "skipped occurrences can be filled in",
        ROLLCRON,
        """
        09:59:30 declare              | wake 10:00
        12:20    claim                | skip 10:00..12:00 (missed, and the job had never run before); \
                                        wake 13:00
        12:20    backfill 10:00 11:00 | plan 10:00 backfill at 12:20; plan 11:00 backfill at 12:20; wake 12:20
        """,
        rule=HOURLY,
    ),
]


@pytest.mark.parametrize("case", [*RUN_NOW, *PAUSE, *CANCEL, *BACKFILL], ids=lambda case: case.id)
def test_what_a_person_asks_for(case: Case) -> None:
    assert case.played() == case.expected()


@pytest.mark.parametrize(("extra", "is_refused"), [(0, False), (1, True)])
def test_a_backfill_has_a_limit(extra: int, *, is_refused: bool) -> None:
    life = Life()
    now = instant("2026-03-05T12:00:30")
    life.declare(make_job("* * * * *"), now)
    last = instant("2026-03-05T12:00")
    fill = Backfill(last - timedelta(minutes=MOST_BACKFILLED - 1 + extra), last)
    if is_refused:
        with pytest.raises(CommandRefusedError, match="more than 1000"):
            life.command(fill, now)
    else:
        life.command(fill, now)
        assert len(life.open) == MOST_BACKFILLED


def test_a_request_names_its_run() -> None:
    life = Life()
    life.declare(make_job(HOURLY), instant("09:59:30"))
    life.command(RunNow("ticket-7"), instant("09:59:40"))
    assert life.open[0].run_key == "tests/job!ticket-7"


def test_a_second_pause_with_the_same_end_keeps_its_new_reason() -> None:
    life, end = Life(), instant("12:00")
    life.declare(make_job(HOURLY), instant("09:59:30"))
    life.command(Pause("the disk is full", end), instant("09:59:40"))
    for reason, kept, told in (("a new disk comes", "a new disk comes", 1), ("", "a new disk comes", 0)):
        life.command(Pause(reason, end), instant("09:59:50"))
        state = life.there.state
        assert (state.paused_reason, state.paused_at) == (kept, instant("09:59:40"))
        assert len(life.steps[-1].decision.events) == told
