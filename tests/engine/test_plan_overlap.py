"""An occurrence comes while a run is open: skip, wait, replace, parallel."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from engine.plan_cases import Case, case
from foliot.model.policy import OnLost, Overlap, OverlapMode, Retry, parallel
from foliot.model.presets import API, CODE, DECLARATIVE, ROLLCRON

WAIT = replace(ROLLCRON, overlap=Overlap(mode=OverlapMode.WAIT))
REPLACE = replace(ROLLCRON, overlap=Overlap(mode=OverlapMode.REPLACE))
PARALLEL = replace(ROLLCRON, overlap=parallel())
TWO = replace(ROLLCRON, overlap=parallel(2))
SLOW_RETRY = Retry(max=3, delay=timedelta(seconds=90))

SKIP_CASES = [
    case(
        "ROLL-10 skip: what came during the run is one skip range, recorded at its end",
        ROLLCRON,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:01
        10:01    claim   | asleep
        10:01    show    | served 10:00; next 10:01; asleep
        10:03:30 claim   | -
        10:03:40 ok      | end 10:00 succeeded; skip 10:01..10:03 (a run was still open); wake 10:04
        10:03:40 show    | served 10:03; next 10:04; wake 10:04
        10:03:40 told    | declared started ended skipped
        10:04    claim   | start 10:04 schedule; wake 10:05
        """,
    ),
    case(
        "ROLL-10 skip: the end of the run and the occurrence fall together",
        ROLLCRON,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:01
        10:01    ok      | end 10:00 succeeded; wake 10:01
        10:01    claim   | start 10:01 schedule; wake 10:02
        """,
    ),
    case(
        "skip: an occurrence that no claim saw come during the run is met after it",
        CODE,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:01
        10:01:20 ok      | end 10:00 succeeded; wake 10:01
        10:01:20 claim   | start 10:01 schedule; wake 10:02
        """,
    ),
    case(
        "skip: a run that waits for its retry is open",
        replace(CODE, retry=SLOW_RETRY),
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:01
        10:00:05 fail    | end 10:00 failed; plan 10:00#2 retry at 10:01:35; wake 10:01
        10:01    claim   | wake 10:01:35
        10:01    show    | served 10:00; next 10:01; wake 10:01:35
        10:01:35 claim   | start 10:00#2 retry; asleep
        10:01:50 ok      | end 10:00#2 succeeded; skip 10:01 (a run was still open); wake 10:02
        """,
    ),
    case(
        "skip: a manual run is an open run",
        CODE,
        """
        09:59:30 declare | wake 10:00
        09:59:50 run a   | plan !a manual at 09:59:50; wake 09:59:50
        09:59:50 claim   | start !a manual; wake 10:00
        10:00    claim   | asleep
        10:00:30 ok      | end !a succeeded; skip 10:00 (a run was still open); wake 10:01
        """,
    ),
]

WAIT_CASES = [
    case(
        "ROLL-09 wait: one waits for the run to end, and starts then",
        WAIT,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:01
        10:01    claim   | wait 10:01 schedule; asleep
        10:01    show    | served 10:01; next 10:02; asleep
        10:01:30 ok      | end 10:00 succeeded; release 10:01; wake 10:01:30
        10:01:30 claim   | start 10:01 schedule; wake 10:02
        10:01:40 ok      | end 10:01 succeeded; wake 10:02
        """,
    ),
    case(
        "rollcron: wait keeps one waiting, further ones are skipped with that reason",
        WAIT,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:01
        10:01    claim   | wait 10:01 schedule; asleep
        10:02    claim   | -
        10:04:30 timeout | end 10:00 timed_out; release 10:01; \
                           skip 10:02..10:04 (a run was still open); wake 10:04:30
        10:04:30 claim   | start 10:01 schedule; wake 10:05
        """,
    ),
    case(
        "wait: whoever looks while one waits leaves the others to the end of the run",
        WAIT,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:01
        10:01    claim   | wait 10:01 schedule; asleep
        10:02    look    | -
        10:09:30 look    | -
        10:09:40 ok      | end 10:00 succeeded; release 10:01; \
                           skip 10:02..10:09 (a run was still open); wake 10:09:40
        """,
    ),
    case(
        "DECL-22 wait: nothing overlaps, and a claim is only for one",
        DECLARATIVE,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:05
        10:05    claim   | wait 10:05 schedule; asleep
        10:12    claim   | -
        10:12    ok      | end 10:00 succeeded; release 10:05; skip 10:10 (a run was still open); wake 10:12
        10:12    claim   | start 10:05 schedule; wake 10:15
        10:13    claim   | -
        """,
        rule="*/5 * * * *",
    ),
    case(
        "wait: a run that waits for its retry is waited for",
        replace(WAIT, retry=SLOW_RETRY),
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:01
        10:00:05 fail    | end 10:00 failed; plan 10:00#2 retry at 10:01:35; wake 10:01
        10:01    claim   | wait 10:01 schedule; wake 10:01:35
        10:01:35 claim   | start 10:00#2 retry; asleep
        10:01:50 ok      | end 10:00#2 succeeded; release 10:01; wake 10:01:50
        10:01:50 claim   | start 10:01 schedule; wake 10:02
        """,
    ),
    case(
        "wait: the node of the run dies, and what waited starts",
        WAIT,
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:01
        10:01    claim   | wait 10:01 schedule; asleep
        10:01:40 lose    | end 10:00 lost; release 10:01; wake 10:01:40
        10:01:40 claim   | start 10:01 schedule; wake 10:02
        """,
    ),
    case(
        "wait: the run is cancelled, and what waited starts when it has ended",
        WAIT,
        """
        09:59:30 declare      | wake 10:00
        10:00    claim        | start 10:00 schedule; wake 10:01
        10:01    claim        | wait 10:01 schedule; asleep
        10:01:10 cancel 10:00 | cancel 10:00; asleep
        10:01:12 cancelled    | end 10:00 cancelled; release 10:01; wake 10:01:12
        10:01:12 claim        | start 10:01 schedule; wake 10:02
        """,
    ),
    case(
        "wait: what waited is cancelled, and the next occurrence may wait in its place",
        WAIT,
        """
        09:59:30 declare      | wake 10:00
        10:00    claim        | start 10:00 schedule; wake 10:01
        10:01    claim        | wait 10:01 schedule; asleep
        10:01:10 cancel 10:01 | drop 10:01 (cancelled by a person); wake 10:02
        10:02    claim        | wait 10:02 schedule; asleep
        10:02:30 ok           | end 10:00 succeeded; release 10:02; wake 10:02:30
        """,
    ),
    case(
        "wait: what waited is cancelled when more has come: the end of the run sees to that",
        WAIT,
        """
        09:59:30 declare      | wake 10:00
        10:00    claim        | start 10:00 schedule; wake 10:01
        10:01    claim        | wait 10:01 schedule; asleep
        10:02:10 cancel 10:01 | drop 10:01 (cancelled by a person); asleep
        10:02:30 ok           | end 10:00 succeeded; wake 10:02
        10:02:30 claim        | start 10:02 schedule; wake 10:03
        """,
    ),
]

REPLACE_CASES = [
    case(
        "ROLL-11 replace: the open run is asked to end, and the new one starts when it is gone",
        REPLACE,
        """
        09:59:30 declare   | wake 10:00
        10:00    claim     | start 10:00 schedule; wake 10:01
        10:01    claim     | cancel 10:00; wait 10:01 schedule; wake 10:02
        10:01    told      | declared started cancel_asked waits
        10:01:04 claim     | -
        10:01:05 cancelled | end 10:00 cancelled; release 10:01; wake 10:01:05
        10:01:05 claim     | start 10:01 schedule; wake 10:02
        """,
    ),
    case(
        "replace: the old run does not end; a newer occurrence takes the place of the successor",
        REPLACE,
        """
        09:59:30 declare   | wake 10:00
        10:00    claim     | start 10:00 schedule; wake 10:01
        10:01    claim     | cancel 10:00; wait 10:01 schedule; wake 10:02
        10:02    claim     | drop 10:01 (a newer occurrence replaced it); wait 10:02 schedule; wake 10:03
        10:02:05 ok        | end 10:00 succeeded; release 10:02; wake 10:02:05
        10:02:05 claim     | start 10:02 schedule; wake 10:03
        """,
    ),
    case(
        "replace: several came since the last look; the latest starts, the others are skipped",
        REPLACE,
        """
        09:59:30 declare   | wake 10:00
        10:00    claim     | start 10:00 schedule; wake 10:01
        10:03:10 claim     | cancel 10:00; wait 10:03 schedule; \
                             skip 10:01..10:02 (a newer occurrence replaced it); wake 10:04
        """,
    ),
    case(
        "replace: the old run's node dies, which ends it",
        replace(REPLACE, on_lost=OnLost.RESTART),
        """
        09:59:30 declare   | wake 10:00
        10:00    claim     | start 10:00 schedule; wake 10:01
        10:01    claim     | cancel 10:00; wait 10:01 schedule; wake 10:02
        10:01:40 lose      | end 10:00 lost; release 10:01; wake 10:01:40
        10:01:40 claim     | start 10:01 schedule; wake 10:02
        """,
    ),
    case(
        "replace: a retry that waits is replaced at once",
        replace(REPLACE, retry=SLOW_RETRY),
        """
        09:59:30 declare   | wake 10:00
        10:00    claim     | start 10:00 schedule; wake 10:01
        10:00:05 fail      | end 10:00 failed; plan 10:00#2 retry at 10:01:35; wake 10:01
        10:01    claim     | drop 10:00#2 (a newer occurrence replaced it); start 10:01 schedule; wake 10:02
        """,
    ),
    case(
        "replace: a failure of the run that is asked to end is not retried",
        replace(REPLACE, retry=SLOW_RETRY),
        """
        09:59:30 declare   | wake 10:00
        10:00    claim     | start 10:00 schedule; wake 10:01
        10:01    claim     | cancel 10:00; wait 10:01 schedule; wake 10:02
        10:01:01 fail      | end 10:00 failed; release 10:01; wake 10:01:01
        """,
    ),
    case(
        "replace: a request that waits is not replaced",
        REPLACE,
        """
        09:59:30 declare   | wake 10:00
        10:00    claim     | start 10:00 schedule; wake 10:01
        10:00:30 run a     | plan !a manual at 10:00:30; wake 10:01
        10:01    claim     | cancel 10:00; wait 10:01 schedule; wake 10:02
        10:01:02 cancelled | end 10:00 cancelled; release 10:01; wake 10:00:30
        10:01:02 claim     | start !a manual; wake 10:02
        10:01:09 ok        | end !a succeeded; wake 10:01:02
        10:01:09 claim     | start 10:01 schedule; wake 10:02
        """,
    ),
]

PARALLEL_CASES = [
    case(
        "ROLL-08 parallel: runs overlap without bound",
        PARALLEL,
        """
        09:59:30 declare  | wake 10:00
        10:00    claim    | start 10:00 schedule; wake 10:01
        10:01    claim    | start 10:01 schedule; wake 10:02
        10:02    claim    | start 10:02 schedule; wake 10:03
        10:02:30 ok 10:01 | end 10:01 succeeded; wake 10:03
        10:02:40 ok 10:00 | end 10:00 succeeded; wake 10:03
        """,
    ),
    case(
        "parallel(2): at its limit an occurrence is skipped",
        TWO,
        """
        09:59:30 declare  | wake 10:00
        10:00    claim    | start 10:00 schedule; wake 10:01
        10:01    claim    | start 10:01 schedule; wake 10:02
        10:02    claim    | asleep
        10:03:30 ok 10:01 | end 10:01 succeeded; skip 10:02..10:03 (a run was still open); wake 10:04
        10:04    claim    | start 10:04 schedule; wake 10:05
        10:05    claim    | asleep
        """,
    ),
    case(
        "parallel(1) is skip",
        replace(API, overlap=parallel(1)),
        """
        09:59:30 declare | wake 10:00
        10:00    claim   | start 10:00 schedule; wake 10:01
        10:01    claim   | asleep
        10:01:30 ok      | end 10:00 succeeded; skip 10:01 (a run was still open); wake 10:02
        """,
    ),
    case(
        "parallel(2): a run that waits for its retry is open",
        replace(TWO, retry=SLOW_RETRY),
        """
        09:59:30 declare    | wake 10:00
        10:00    claim      | start 10:00 schedule; wake 10:01
        10:01    claim      | start 10:01 schedule; wake 10:02
        10:01:10 fail 10:01 | end 10:01 failed; plan 10:01#2 retry at 10:02:40; wake 10:02
        10:02    claim      | wake 10:02:40
        10:02:40 claim      | start 10:01#2 retry; asleep
        10:02:50 ok 10:00   | end 10:00 succeeded; skip 10:02 (a run was still open); wake 10:03
        """,
    ),
]


@pytest.mark.parametrize(
    "case", [*SKIP_CASES, *WAIT_CASES, *REPLACE_CASES, *PARALLEL_CASES], ids=lambda case: case.id
)
def test_an_occurrence_that_finds_a_run_open(case: Case) -> None:
    assert case.played() == case.expected()
