"""What a job does when it is first seen, under every kind of schedule, and when the clocks change."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.plan_cases import Case, case, instant, make_job
from foliot.model.policy import FirstSeen
from foliot.model.presets import API, BEAT, CODE, DECLARATIVE
from foliot.schedules import Cron, Once

FIRST_SEEN = [
    case(
        "RAT-03 wait: the next occurrence is counted from now, and nothing fires",
        API,
        """
        10:00:30 declare | wake 10:05
        10:00:30 show    | served 10:00:30; next 10:05; wake 10:05
        10:00:30 claim   | -
        10:00:30 told    | declared
        """,
        rule="*/5 * * * *",
    ),
    case(
        "DECL-11 if_matching: the present minute matches, so it runs at once",
        DECLARATIVE,
        """
        10:00:59.999999 declare | wake 10:00
        10:00:59.999999 claim   | start 10:00 schedule; wake 10:05
        """,
        rule="*/5 * * * *",
    ),
    case(
        "DECL-11 if_matching: the first instant of the minute",
        DECLARATIVE,
        """
        10:00 declare | wake 10:00
        10:00 claim   | start 10:00 schedule; wake 10:05
        """,
        rule="*/5 * * * *",
    ),
    case(
        "DECL-11 if_matching: the minute is over, so it waits",
        DECLARATIVE,
        """
        10:01 declare | wake 10:05
        10:01 claim   | -
        """,
        rule="*/5 * * * *",
    ),
    case(
        "Beat: first seen now, for the latest occurrence, however old",
        BEAT,
        """
        10:30 declare | wake 10:00
        10:30 claim   | start 10:00 catch_up; wake 11:00
        10:30 told    | declared started
        """,
        rule="0 * * * *",
    ),
    case(
        "now: a job that is switched off waits all the same",
        replace(make_job("0 * * * *", BEAT), enabled=False),
        """
        10:30 declare | asleep
        10:30 show    | served 10:30; next never; asleep
        """,
    ),
    case(
        "now: a time that has not come is waited for",
        replace(CODE, first_seen=FirstSeen.NOW),
        """
        10:30 declare | wake 12:00
        """,
        rule=Once(instant("12:00")),
    ),
]

SCHEDULES = [
    case(
        "once: it fires at its time, and then there is nothing to wait for",
        CODE,
        """
        09:00 declare | wake 10:00
        10:00 claim   | start 10:00 schedule; asleep
        10:01 ok      | end 10:00 succeeded; asleep
        10:01 show    | served 10:00; next never; asleep
        10:01 declare | -
        """,
        rule=Once(instant("10:00")),
    ),
    case(
        "once, missed: it is caught up",
        CODE,
        """
        09:00            declare | wake 10:00
        2026-03-05T12:00 claim   | start 10:00 catch_up; asleep
        """,
        rule=Once(instant("10:00")),
    ),
    case(
        "once, in the past when it is first seen: it waits for ever",
        CODE,
        """
        11:00 declare | asleep
        """,
        rule=Once(instant("10:00")),
    ),
    case(
        "seconds: a rule with seconds is served to the second",
        CODE,
        """
        10:00:00.5 declare | wake 10:00:15
        10:00:15   claim   | start 10:00:15 schedule; wake 10:00:30
        10:00:16   ok      | end 10:00:15 succeeded; wake 10:00:30
        10:00:30.2 claim   | start 10:00:30 schedule; wake 10:00:45
        """,
        rule=Cron("*/15 * * * * *", dialect="seconds"),
    ),
    case(
        "DOC-09 repeat_until: its instant is served, nothing after it is",
        make_job("*/5 * * * *", repeat_until=instant("10:10")),
        """
        10:01 declare | wake 10:05
        10:05 claim   | start 10:05 schedule; wake 10:10
        10:06 ok      | end 10:05 succeeded; wake 10:10
        10:10 claim   | start 10:10 schedule; asleep
        10:11 ok      | end 10:10 succeeded; asleep
        """,
    ),
    case(
        "DOC-09 repeat_until: what was missed is caught up to there and no further",
        make_job("*/5 * * * *", repeat_until=instant("10:12")),
        """
        10:01 declare | wake 10:05
        12:00 claim   | start 10:10 catch_up covers 10:05; asleep
        """,
    ),
    case(
        "DOC-09 auto_remove: removed when its last run has ended",
        make_job(Once(instant("10:00")), auto_remove=True),
        """
        09:00 declare | wake 10:00
        10:00 claim   | start 10:00 schedule; asleep
        10:01 ok      | end 10:00 succeeded; removed
        10:01 told    | declared started ended finished
        """,
    ),
    case(
        "DOC-09 auto_remove: not while a retry is to come",
        make_job(Once(instant("10:00")), replace(CODE, retry=BEAT.retry), auto_remove=True),
        """
        09:00    declare | wake 10:00
        10:00    claim   | start 10:00 schedule; asleep
        10:01    fail    | end 10:00 failed; plan 10:00#2 retry at 10:01:01; wake 10:01:01
        10:01:01 claim   | start 10:00#2 retry; asleep
        10:02    ok      | end 10:00#2 succeeded; removed
        """,
    ),
    case(
        "DOC-09 auto_remove: not while occurrences are to come",
        make_job("*/5 * * * *", auto_remove=True, repeat_until=instant("10:05")),
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:05
        10:01    ok      | end 10:00 succeeded; wake 10:05
        10:05    claim   | start 10:05 schedule; asleep
        10:06    fail    | end 10:05 failed; removed
        """,
    ),
]

CLOCK_CHANGES = [
    case(
        "spring, Berlin: 02:30 does not exist on 29 March, so that day has no run and no catch-up",
        DECLARATIVE,
        """
        2026-03-27T12:00 declare | wake 2026-03-28T01:30
        2026-03-28T01:30 claim   | start 2026-03-28T01:30 schedule; wake 2026-03-30T00:30
        2026-03-28T01:31 ok      | end 2026-03-28T01:30 succeeded; wake 2026-03-30T00:30
        2026-03-29T12:00 claim   | -
        2026-03-30T00:30 claim   | start 2026-03-30T00:30 schedule; wake 2026-03-31T00:30
        """,
        rule=Cron("30 2 * * *", timezone="Europe/Berlin", dialect="posix"),
    ),
    case(
        "autumn, Berlin: 02:30 comes twice on 25 October, and runs twice",
        DECLARATIVE,
        """
        2026-10-24T12:00 declare | wake 2026-10-25T00:30
        2026-10-25T00:30 claim   | start 2026-10-25T00:30 schedule; wake 2026-10-25T01:30
        2026-10-25T00:31 ok      | end 2026-10-25T00:30 succeeded; wake 2026-10-25T01:30
        2026-10-25T01:30 claim   | start 2026-10-25T01:30 schedule; wake 2026-10-26T01:30
        2026-10-25T01:31 ok      | end 2026-10-25T01:30 succeeded; wake 2026-10-26T01:30
        """,
        rule=Cron("30 2 * * *", timezone="Europe/Berlin", dialect="posix"),
    ),
    case(
        "autumn, Berlin: both of a minute that comes twice were missed: one run covers both",
        CODE,
        """
        2026-10-24T12:00 declare | wake 2026-10-25T00:30
        2026-10-25T12:00 claim   | start 2026-10-25T01:30 catch_up covers 2026-10-25T00:30; \
                                   wake 2026-10-26T01:30
        """,
        rule=Cron("30 2 * * *", timezone="Europe/Berlin"),
    ),
]


@pytest.mark.parametrize("case", [*FIRST_SEEN, *SCHEDULES, *CLOCK_CHANGES], ids=lambda case: case.id)
def test_when_a_job_runs(case: Case) -> None:
    assert case.played() == case.expected()
