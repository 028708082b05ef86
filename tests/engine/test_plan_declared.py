"""A definition is declared again, changed, switched off and on, removed, and back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.plan_cases import Case, Life, case, instant, make_job
from foliot.model.policy import Misfire, OnChange, Overlap, OverlapMode, Retry
from foliot.model.presets import API, BEAT, CODE, DECLARATIVE, ROLLCRON
from foliot.schedules import Cron, Once

HOURLY = "0 * * * *"
LAST = replace(CODE, on_change=OnChange.LAST)

CHANGED = [
    case(
        "DECL-24 preserved: the same definition writes nothing",
        DECLARATIVE,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 11:00
        10:00    told    | declared started
        10:00:30 declare | -
        10:01    ok      | end 10:00 succeeded; wake 11:00
        12:00    declare | -
        12:00    told    | ended
        """,
        rule=HOURLY,
    ),
    case(
        "on_change now: a new rule counts from now (ROLL-17, API: changing a cron recomputes)",
        API,
        """
        09:59:30 declare      | wake 10:00
        09:59:40 declare half | wake 10:30
        09:59:40 show         | served 09:59:40; next 10:30; wake 10:30
        09:59:40 told         | declared changed
        10:30    claim        | start 10:30 schedule; wake 11:30
        """,
        rule=HOURLY,
        half=make_job("30 * * * *", API),
    ),
    case(
        "on_change now: what the old rule still owed is skipped, with that reason",
        CODE,
        """
        09:59:30 declare      | wake 10:00
        12:20    declare half | skip 10:00..12:00 (its definition changed before it could start); wake 12:30
        12:20    claim        | -
        """,
        rule=HOURLY,
        half=make_job("30 * * * *"),
    ),
    case(
        "DECL-24 overridden, on_change last: what the new rule missed since the last attempt is owed",
        DECLARATIVE,
        """
        09:59:30 declare      | wake 10:00
        10:00    claim        | start 10:00 schedule; wake 11:00
        10:01    ok           | end 10:00 succeeded; wake 11:00
        10:50    declare half | wake 10:30
        10:50    claim        | start 10:30 catch_up; wake 11:30
        """,
        rule=HOURLY,
        half=make_job("30 * * * *", DECLARATIVE),
    ),
    case(
        "on_change last: nothing is owed if the new rule missed nothing",
        LAST,
        """
        09:59:30 declare      | wake 10:00
        10:00    claim        | start 10:00 schedule; wake 11:00
        10:01    ok           | end 10:00 succeeded; wake 11:00
        10:20    declare half | wake 10:30
        10:20    claim        | -
        """,
        rule=HOURLY,
        half=make_job("30 * * * *", LAST),
    ),
    case(
        "on_change last: a job that never ran counts from now",
        LAST,
        """
        09:59:30 declare      | wake 10:00
        12:20    declare half | skip 10:00..12:00 (its definition changed before it could start); wake 12:30
        """,
        rule=HOURLY,
        half=make_job("30 * * * *", LAST),
    ),
    case(
        "DECL-42 a change of the delay keeps a retry that is owed",
        DECLARATIVE,
        """
        09:59:30 declare      | wake 10:00
        10:00    claim        | start 10:00 schedule; wake 11:00
        10:01    fail         | end 10:00 failed; plan 10:00#2 retry at 10:01:10; wake 10:01:10
        10:01:05 declare slow | wake 10:01:10
        10:01:10 claim        | start 10:00#2 retry; wake 11:00
        10:01:20 fail         | end 10:00#2 failed; plan 10:00#3 retry at 10:06:20; wake 10:06:20
        """,
        rule=HOURLY,
        slow=make_job(HOURLY, replace(DECLARATIVE, retry=Retry(max=None, delay="5m", is_preempted=True))),
    ),
    case(
        "DECL-42 a change of the cron keeps a retry that is owed",
        DECLARATIVE,
        """
        09:59:30 declare      | wake 10:00
        10:00    claim        | start 10:00 schedule; wake 11:00
        10:01    fail         | end 10:00 failed; plan 10:00#2 retry at 10:01:10; wake 10:01:10
        10:01:05 declare half | wake 10:01:10
        10:01:10 claim        | start 10:00#2 retry; wake 10:30
        """,
        rule=HOURLY,
        half=make_job("30 * * * *", DECLARATIVE),
    ),
    case(
        "changed while running: the run goes on, and the new rule counts (ROLL-07 in spirit)",
        ROLLCRON,
        """
        09:59:30 declare      | wake 10:00
        10:00    claim        | start 10:00 schedule; wake 11:00
        10:10    declare half | wake 10:30
        10:30    claim        | asleep
        10:40    ok           | end 10:00 succeeded; skip 10:30 (a run was still open); wake 11:30
        """,
        rule=HOURLY,
        half=make_job("30 * * * *", ROLLCRON),
    ),
    case(
        "changed while a run waits: it keeps its place",
        replace(ROLLCRON, overlap=Overlap(mode=OverlapMode.WAIT)),
        """
        09:59:30 declare      | wake 10:00
        10:00    claim        | start 10:00 schedule; wake 11:00
        11:00    claim        | wait 11:00 schedule; asleep
        11:10    declare half | wake 11:30
        11:15    ok           | end 10:00 succeeded; release 11:00; wake 11:15
        11:15    claim        | start 11:00 schedule; wake 11:30
        """,
        rule=HOURLY,
        half=make_job("30 * * * *", replace(ROLLCRON, overlap=Overlap(mode=OverlapMode.WAIT))),
    ),
    case(
        "only its policy changed: occurrences count on, and the new policy decides",
        CODE,
        """
        09:59:30 declare      | wake 10:00
        12:20    declare lazy | wake 10:00
        12:20    claim        | skip 10:00..12:00 (missed, and the job had never run before); wake 13:00
        """,
        rule=HOURLY,
        lazy=make_job(HOURLY, replace(CODE, before_first_run=False, misfire=Misfire())),
    ),
    case(
        "repeat_until is moved: it counts as a new rule",
        make_job(HOURLY, repeat_until=instant("10:30")),
        """
        09:59:30 declare      | wake 10:00
        10:00    claim        | start 10:00 schedule; asleep
        10:01    ok           | end 10:00 succeeded; asleep
        10:10    declare more | wake 11:00
        """,
        more=make_job(HOURLY),
    ),
]

SWITCHED = [
    case(
        "RAT-07, BAN-12 a job that is off never fires, and is still there",
        API,
        """
        09:59:30 declare     | wake 10:00
        09:59:40 declare off | asleep
        09:59:40 show        | served 09:59:40; next never; asleep
        12:00    claim       | -
        12:00    look        | -
        """,
        rule=HOURLY,
    ),
    case(
        "API: switching on never fires for the time off, and leaves a trace of it",
        API,
        """
        09:59:30 declare     | wake 10:00
        09:59:40 declare off | asleep
        12:20    declare     | skip 10:00..12:00 (the job was switched off); wake 13:00
        12:20    claim       | -
        13:00    claim       | start 13:00 schedule; wake 14:00
        """,
        rule=HOURLY,
    ),
    case(
        "declared off, then switched on: the same",
        BEAT,
        """
        09:59:30 declare off | asleep
        12:20    declare     | skip 10:00..12:00 (the job was switched off); wake 13:00
        """,
        rule=HOURLY,
    ),
    case(
        "switched off with something owed: that is skipped",
        CODE,
        """
        09:59:30 declare     | wake 10:00
        10:20    declare off | skip 10:00 (the job was switched off); asleep
        10:40    declare     | wake 11:00
        """,
        rule=HOURLY,
    ),
    case(
        "switched off while running: the run ends in peace",
        CODE,
        """
        09:59:30 declare     | wake 10:00
        10:00    claim       | start 10:00 schedule; wake 11:00
        10:20    declare off | asleep
        10:40    ok          | end 10:00 succeeded; asleep
        """,
        rule=HOURLY,
    ),
]

REMOVED = [
    case(
        "a job that is removed is a tombstone; declared again, it counts from then",
        CODE,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 11:00
        10:01    ok      | end 10:00 succeeded; wake 11:00
        10:30    remove  | asleep
        10:30    show    | served 10:30; next never; asleep; removed 10:30
        10:30    told    | declared started ended removed
        12:20    declare | wake 13:00
        12:20    show    | served 12:20; next 13:00; wake 13:00
        12:20    told    | declared
        """,
        rule=HOURLY,
    ),
    case(
        "a one-time job that comes back does not fire twice, though its policy is first_seen now",
        BEAT,
        """
        09:00 declare | wake 10:00
        10:00 claim   | start 10:00 schedule; asleep
        10:01 ok      | end 10:00 succeeded; asleep
        10:30 remove  | asleep
        10:40 declare | asleep
        10:40 claim   | -
        """,
        rule=Once(instant("10:00")),
    ),
    case(
        "Beat: back from having been removed it does not run at once a second time",
        BEAT,
        """
        09:30 declare | wake 09:00
        09:30 claim   | start 09:00 catch_up; wake 10:00
        09:31 ok      | end 09:00 succeeded; wake 10:00
        09:40 remove  | asleep
        09:50 declare | wake 10:00
        """,
        rule=HOURLY,
    ),
    case(
        "DECL-42 a declarative task is forgotten, debts and all; added again it is new",
        DECLARATIVE,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 11:00
        10:01    fail    | end 10:00 failed; plan 10:00#2 retry at 10:01:10; wake 10:01:10
        10:01:05 remove  | drop 10:00#2 (the job was removed); gone
        12:20    declare | wake 13:00
        14:20    claim   | skip 13:00..14:00 (missed, and the job had never run before); wake 15:00
        """,
        rule=HOURLY,
    ),
    case(
        "removed with something owed: that is skipped",
        CODE,
        """
        09:59:30 declare | wake 10:00
        12:20    remove  | skip 10:00..12:00 (the job was removed); asleep
        """,
        rule=HOURLY,
    ),
    case(
        "removed while running: what waits is dropped, what runs may end, and nothing follows",
        replace(CODE, overlap=Overlap(mode=OverlapMode.WAIT), retry=Retry(max=3)),
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 11:00
        11:00    claim   | wait 11:00 schedule; asleep
        11:10    remove  | drop 11:00 (the job was removed); asleep
        11:20    fail    | end 10:00 failed; asleep
        11:20    claim   | -
        """,
        rule=HOURLY,
    ),
    case(
        "removed while running, and its node dies: no restart",
        CODE,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 11:00
        10:10    remove  | asleep
        10:20    lose    | end 10:00 lost; asleep
        """,
        rule=HOURLY,
    ),
    case(
        "removed while running, and back before the end: nothing overlaps",
        CODE,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 11:00
        10:10    remove  | asleep
        10:20    declare | wake 11:00
        11:00    claim   | asleep
        11:10    ok      | end 10:00 succeeded; skip 11:00 (a run was still open); wake 12:00
        """,
        rule=HOURLY,
    ),
    case(
        "a tombstone refuses commands",
        CODE,
        """
        09:59:30 declare | wake 10:00
        09:59:40 remove  | asleep
        09:59:50 run a   | refused: the job was removed
        09:59:50 pause   | refused: the job was removed
        """,
        rule=HOURLY,
    ),
]


@pytest.mark.parametrize("case", [*CHANGED, *SWITCHED, *REMOVED], ids=lambda case: case.id)
def test_what_a_definition_does(case: Case) -> None:
    assert case.played() == case.expected()


def test_a_token_is_higher_than_any_of_a_job_that_was_forgotten() -> None:
    life = Life()
    job = make_job(HOURLY, DECLARATIVE)
    life.declare(job, instant("09:59:30"))
    for minute in range(5):
        life.claim(instant(f"1{minute}:00"))
    token = life.there.state.token
    life.record = None  # as after a removal that forgets
    life.declare(job, instant("15:00:00.001"))
    assert life.there.state.token > token


def test_equal_rules_in_other_words_are_no_change() -> None:
    life = Life()
    life.declare(make_job(Cron("0 * * * *")), instant("09:59:30"))
    life.declare(make_job(Cron("0 * * * *", timezone="UTC")), instant("10:30"))
    assert life.steps[-1].decision.state is life.steps[0].decision.state
