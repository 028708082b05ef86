"""What the laws found, in few events: each row says what the documents promise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.plan_cases import Case, Life, case, instant, make_job
from foliot.engine.plan_command import Cancel, RunNow, plan_command
from foliot.engine.planner import plan_ended
from foliot.model.attempt import Ending, Outcome
from foliot.model.policy import FirstSeen, OnChange, Overlap, OverlapMode, Policy, Retry, parallel
from foliot.model.presets import API, BEAT, CODE, DECLARATIVE, ROLLCRON
from foliot.schedules import Once

HOURLY = "0 * * * *"
WAIT = replace(CODE, overlap=Overlap(mode=OverlapMode.WAIT), retry=Retry(max=3, delay="90s"))
REPLACE = replace(CODE, overlap=Overlap(mode=OverlapMode.REPLACE))
LAST = replace(CODE, on_change=OnChange.LAST)

CASES = [
    case(
        "F1 a run that is open is not filled in a second time",
        replace(API, retry=Retry(max=3)),
        """
        09:59:30 declare                    | wake 10:00
        10:00    claim                      | start 10:00 schedule; wake 11:00
        10:10    backfill 10:00 10:00 rerun | refused: tests/job@2026-03-02T10:00:00Z is still open
        """,
        rule=HOURLY,
    ),
    case(
        "F4 DECL-42 the follow-up pre-empts a restart as it does a retry",
        DECLARATIVE,
        """
        10:00    declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:01
        10:01    claim   | wait 10:01 schedule; asleep
        10:01:30 lose    | end 10:00 lost; release 10:01; wake 10:01:30
        10:01:30 claim   | start 10:01 schedule; wake 10:02
        10:01:40 ok      | end 10:01 succeeded; wake 10:02
        10:01:40 claim   | -
        """,
    ),
    case(
        "F5 a retry is cancelled, and what waited for it starts",
        WAIT,
        """
        09:59:30 declare        | wake 10:00
        10:00    claim          | start 10:00 schedule; wake 10:01
        10:00:05 fail           | end 10:00 failed; plan 10:00#2 retry at 10:01:35; wake 10:01
        10:01    claim          | wait 10:01 schedule; wake 10:01:35
        10:01:10 cancel 10:00#2 | drop 10:00#2 (cancelled by a person); release 10:01; wake 10:01:10
        10:01:10 claim          | start 10:01 schedule; wake 10:02
        """,
    ),
    case(
        "F6a on_change last: what was skipped while paused stays skipped",
        LAST,
        """
        09:59:30 declare       | wake 10:00
        10:00    claim         | start 10:00 schedule; wake 11:00
        10:01    ok            | end 10:00 succeeded; wake 11:00
        10:10    pause         | asleep
        12:20    resume        | skip 11:00..12:00 (the job was paused); wake 13:00
        12:21    declare twice | wake 12:30
        """,
        rule=HOURLY,
        twice=make_job("0,30 * * * *", LAST),
    ),
    case(
        "F6b on_change last: an occurrence that waits for its run is not owed again",
        replace(DECLARATIVE, first_seen=FirstSeen.WAIT),
        """
        09:59:30 declare       | wake 10:00
        10:00    claim         | start 10:00 schedule; wake 11:00
        11:00    claim         | wait 11:00 schedule; asleep
        11:10    declare twice | wake 11:30
        11:20    ok            | end 10:00 succeeded; release 11:00; wake 11:20
        """,
        rule=HOURLY,
        twice=make_job("0,30 * * * *", replace(DECLARATIVE, first_seen=FirstSeen.WAIT)),
    ),
    case(
        "F7a paused, then removed: the pause leaves its trace",
        CODE,
        """
        09:59:30 declare | wake 10:00
        09:59:40 pause   | asleep
        12:20    remove  | skip 10:00..12:00 (the job was paused); asleep
        """,
        rule=HOURLY,
    ),
    case(
        "F7b paused, then changed: the pause leaves its trace",
        CODE,
        """
        09:59:30 declare      | wake 10:00
        09:59:40 pause        | asleep
        12:20    declare half | skip 10:00..12:00 (the job was paused); asleep
        """,
        rule=HOURLY,
        half=make_job("30 * * * *"),
    ),
    case(
        "F7c paused, then switched off: the pause leaves its trace",
        CODE,
        """
        09:59:30 declare     | wake 10:00
        09:59:40 pause       | asleep
        12:20    declare off | skip 10:00..12:00 (the job was paused); asleep
        """,
        rule=HOURLY,
    ),
    case(
        "F7d switched off, then removed: the time off leaves its trace",
        CODE,
        """
        09:59:30 declare off | asleep
        12:20    remove      | skip 10:00..12:00 (the job was switched off); asleep
        """,
        rule=HOURLY,
    ),
    case(
        "F7e switched off, changed, and on: the time off leaves its trace, by the rule of the time",
        CODE,
        """
        09:59:30 declare off  | asleep
        12:20    declare half | skip 10:00..12:00 (the job was switched off); asleep
        13:20    declare      | skip 12:30 (the job was switched off); wake 14:00
        """,
        rule=HOURLY,
        half=make_job("30 * * * *", enabled=False),
    ),
    case(
        "F8 DECL-42 a forgetful job that was removed while running is gone when the run has ended",
        DECLARATIVE,
        """
        10:00    declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 11:00
        10:00:05 remove  | asleep
        10:00:10 ok      | end 10:00 succeeded; gone
        """,
        rule=HOURLY,
    ),
    case(
        "F9 BAN-12 a schedule that is off does not fire, not even for a retry",
        BEAT,
        """
        10:00    declare     | wake 10:00
        10:00    claim       | start 10:00 schedule; wake 11:00
        10:00    fail        | end 10:00 failed; plan 10:00#2 retry at 10:00:01; wake 10:00:01
        10:00:00.5 declare off | drop 10:00#2 (the job was switched off); asleep
        """,
        rule=HOURLY,
    ),
    case(
        "F10a DECL-11 if_matching decides when the job is declared, not when it is claimed",
        DECLARATIVE,
        """
        10:00:58 declare | wake 10:00
        10:01:01 claim   | start 10:00 catch_up; wake 11:00
        """,
        rule=HOURLY,
    ),
    case(
        "F10b first_seen now runs at once, whatever the policy for what was missed",
        replace(ROLLCRON, first_seen=FirstSeen.NOW),
        """
        10:30 declare | wake 10:00
        10:30 claim   | start 10:00 catch_up; wake 11:00
        """,
        rule=HOURLY,
    ),
    case(
        "F12 a backfill waits under replace, as a request does",
        REPLACE,
        """
        12:30 declare              | wake 13:00
        12:30 backfill 11:00 12:00 | plan 11:00 backfill at 12:30; plan 12:00 backfill at 12:30; wake 12:30
        12:30 claim                | start 11:00 backfill; wake 13:00
        13:00 claim                | cancel 11:00; wait 13:00 schedule; wake 14:00
        """,
        rule=HOURLY,
    ),
    case(
        "F14 DOC-09 auto_remove: a job whose only occurrence was skipped removes itself too",
        make_job(Once(instant("10:00")), ROLLCRON, auto_remove=True),
        """
        09:59:30 declare | wake 10:00
        10:05    claim   | skip 10:00 (missed, and the job had never run before); removed
        """,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_finding(case: Case) -> None:
    assert case.played() == case.expected()


@pytest.mark.parametrize("command", [RunNow("a"), Cancel("tests/job@2026-03-02T10:00:00Z")], ids=repr)
def test_f2_a_command_and_the_end_of_the_run_see_each_other(command: RunNow | Cancel) -> None:
    """Both load token 7; the end leaves the state alone; so the command must not, or both are written."""
    life = Life()
    life.declare(make_job(HOURLY), instant("09:59:30"))
    life.claim(instant("10:00"))
    record, now = life.there, instant("10:10")
    (attempt,) = life.running
    ending = Ending(
        attempt.job, attempt.run_key, 1, attempt.token, Outcome.SUCCEEDED, attempt.claimed_at, now
    )
    assert plan_ended(record, [ending], now).state is record.state
    assert plan_command(record, command, now).state.token == record.state.token + 1


@pytest.mark.parametrize("policy", [DECLARATIVE, WAIT], ids=["declarative", "wait"])
def test_f3_an_outage_before_the_follow_up_was_claimed_still_gives_one_run(policy: Policy) -> None:
    life = Life()
    life.declare(make_job("* * * * *", policy), instant("10:00"))
    life.claim(instant("10:01"))
    life.claim(instant("10:02"))
    life.end(life.running[0], instant("10:02:30"), Outcome.SUCCEEDED)
    count = len(life.ended)
    for second in range(3):  # back after hours: all runs that are owed now
        life.claim(instant(f"15:00:3{second}"))
        for attempt in life.running:
            life.end(attempt, instant(f"15:00:3{second}"), Outcome.SUCCEEDED)
    (run,) = (attempt for attempt in life.ended[count:] if attempt.claimed_at)
    assert run.scheduled_for == instant("15:00")


def test_f15_every_start_has_a_token_of_its_own() -> None:
    """All at one instant: a run is interrupted and starts again while another one is ready."""
    life, now = Life(), instant("10:00")
    life.declare(make_job(HOURLY, replace(CODE, overlap=parallel())), instant("09:59:30"))
    life.claim(now)
    life.end(life.running[0], now, Outcome.INTERRUPTED)
    life.command(RunNow("a"), now)
    life.claim(now)
    tokens = [attempt.token for attempt in life.running]
    assert len(set(tokens)) == len(tokens)
    assert max(tokens) == life.there.state.token
