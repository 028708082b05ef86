"""Why: one answer for any job and any instant, from what is stored and what the rule says."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.damage import Damage
from foliot.model.job import Action, Job
from foliot.model.state import Record, Skip, State
from foliot.model.version import Version
from foliot.model.view import Outage
from foliot.protocols import JobView
from foliot.schedules import Cron, Every
from foliot.why import GroupCount, Verdict, Why, explain, rule_text, told_last

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
NOON = Cron("0 12 * * *")
JOB = Job(source="s", name="n", schedule=NOON, action=Action(kind="k"))
STATE = State(
    token=1,
    created_at=NOW - 10 * 24 * HOUR,
    wake_at=NOW + 24 * HOUR,
    served_until=NOW,
    next_at=NOW + 24 * HOUR,
)
RAN = Attempt(
    "s/n", 1, Trigger.SCHEDULE, AttemptState.ENDED, NOW - 24 * HOUR, node="a",
    started_at=NOW - 24 * HOUR + timedelta(seconds=0.25),
    outcome=Outcome.FAILED, error="ValueError: no\n  at x",
)  # fmt: skip
RUNNING = Attempt("s/n", 1, Trigger.SCHEDULE, AttemptState.RUNNING, NOW, node="b", claimed_at=NOW)
PENDING = RUNNING._replace(state=AttemptState.PENDING, wake_at=NOW + HOUR, reason="retry 1")
SKIP = Skip("s/n", NOW - 72 * HOUR, NOW - 48 * HOUR, "the job was paused")


def answer(
    at: datetime | None = None, job: Job = JOB, attempts: Any = (), **state: Any
) -> tuple[Verdict, str]:
    view = JobView(job.key, Record(job, STATE._replace(**state), tuple(attempts)))
    why = explain(view, [RAN], [SKIP], kinds={"k"}, now=NOW, at=at)
    assert str(why) == why.text
    return why.verdict, why.text


AGAIN = "the clock was set back, and all occurrences until 2026-11-15T14:00:00Z were served before"


def test_a_job_that_waits_for_a_time_to_come_again_says_so() -> None:
    hourly = replace(JOB, schedule=Every(HOUR))
    back = {"served_until": NOW + 2 * HOUR, "next_at": NOW + 3 * HOUR}
    assert answer(job=hourly, **back) == (
        Verdict.WILL_RUN,
        f"2026-11-15T15:00:00Z is next, by @every 1h; {AGAIN}",
    )
    assert answer(NOW + HOUR, job=hourly, **back) == (Verdict.WILL_NOT, AGAIN)
    assert answer(NOW + 3 * HOUR, job=hourly, **back)[0] is Verdict.WILL_RUN


def test_an_occurrence_that_has_run_before_its_time_came_again_has_run() -> None:
    view = JobView(JOB.key, Record(JOB, STATE))
    ran = RAN._replace(scheduled_for=NOW + 24 * HOUR, started_at=NOW + 24 * HOUR)
    why = explain(view, [ran], [], kinds={"k"}, now=NOW, at=NOW + 24 * HOUR)
    assert why.verdict is Verdict.RAN


UNTAKEN = (
    "2026-11-15T11:00:00Z is due, by 0 12 * * *; no node has taken it yet: it needs a node with the queue"
)
NEXT = [
    ({}, Verdict.WILL_RUN, "2026-11-16T12:00:00Z is next, by 0 12 * * *"),
    ({"next_at": NOW}, Verdict.WILL_RUN, "2026-11-15T12:00:00Z is due, by 0 12 * * *"),
    (
        {"next_at": NOW - HOUR},
        Verdict.WILL_RUN,
        f"{UNTAKEN} default, the action k, and a free slot",
    ),
    (
        {"next_at": NOW - HOUR, "job": replace(JOB, revision="0123456789abcdef", queue="slow")},
        Verdict.WILL_RUN,
        f"{UNTAKEN} slow, the action k of revision 0123456789ab, and a free slot",
    ),
    ({"next_at": None}, Verdict.WILL_NOT, "no occurrence is left"),
    ({"paused_at": NOW}, Verdict.WILL_NOT, "it is paused since 2026-11-15T12:00:00Z"),
    ({"removed_at": NOW}, Verdict.WILL_NOT, "it was removed at 2026-11-15T12:00:00Z"),
    ({"job": replace(JOB, enabled=False)}, Verdict.WILL_NOT, "its definition switches it off"),
    (
        {"job": replace(JOB, action=Action(kind="other"))},
        Verdict.WILL_NOT,
        "its action other is not registered in this program",
    ),
    (
        {"attempts": [RUNNING]},
        Verdict.RUNS,
        "s/n@2026-11-15T12:00:00Z runs since 2026-11-15T12:00:00Z on node b",
    ),
    (
        {"attempts": [PENDING]},
        Verdict.WAITS,
        "s/n@2026-11-15T12:00:00Z waits until 2026-11-15T13:00:00Z: retry 1",
    ),
    (
        {"attempts": [PENDING._replace(wake_at=None)]},
        Verdict.WAITS,
        "s/n@2026-11-15T12:00:00Z waits until its job is free: retry 1",
    ),
]


@pytest.mark.parametrize(("facts", "verdict", "text"), NEXT)
def test_what_is_next(facts: Any, verdict: Verdict, text: str) -> None:
    assert answer(**facts) == (verdict, text)


ALL = "so were all from 2026-11-12T12:00:00Z to 2026-11-13T12:00:00Z"
AT = [
    (-24, Verdict.RAN, "attempt 1 failed on node a, started 0.250 s after its time: ValueError: no"),
    (-48, Verdict.SKIPPED, f"skipped: the job was paused; {ALL}"),
    (-72, Verdict.SKIPPED, f"skipped: the job was paused; {ALL}"),
    (-60, Verdict.WILL_NOT, "2026-11-13T00:00:00Z is no occurrence of 0 12 * * *"),
    (-1, Verdict.WILL_NOT, "2026-11-15T11:00:00Z is no occurrence of 0 12 * * *"),
    (-24 * 11, Verdict.WILL_NOT, "the job is known only since 2026-11-05T12:00:00Z"),
    (-24 * 5, Verdict.UNKNOWN, "its history does not go back so far"),
    (24, Verdict.WILL_RUN, "2026-11-16T12:00:00Z is an occurrence of 0 12 * * *"),
    (
        25,
        Verdict.WILL_NOT,
        "2026-11-16T13:00:00Z is no occurrence of 0 12 * * *; the next one after it is 2026-11-17T12:00:00Z",
    ),
]


@pytest.mark.parametrize(("hours", "verdict", "text"), AT)
def test_an_instant(hours: int, verdict: Verdict, text: str) -> None:
    assert answer(NOW + hours * HOUR) == (verdict, text)


def test_an_occurrence_that_nobody_has_taken_yet() -> None:
    assert answer(NOW, served_until=NOW - 24 * HOUR)[0] is Verdict.WAITS


def test_what_lies_ahead_hangs_on_more_than_the_rule() -> None:
    at = NOW + 24 * HOUR
    assert answer(at, paused_at=NOW) == (
        Verdict.WILL_NOT,
        "unless that changes: it is paused since 2026-11-15T12:00:00Z",
    )
    ending = replace(JOB, repeat_until=NOW + HOUR)
    assert answer(at, job=ending) == (Verdict.WILL_NOT, "it repeats only until 2026-11-15T13:00:00Z")


def test_a_run_that_stands_for_several_occurrences() -> None:
    catch_up = RAN._replace(covers_from=NOW - 96 * HOUR, error=None, outcome=Outcome.SUCCEEDED)
    view = JobView("s/n", Record(JOB, STATE))
    why = explain(view, [catch_up], [], kinds=None, now=NOW, at=NOW - 72 * HOUR)
    assert why.text == (
        "served by the run of 2026-11-14T12:00:00Z: "
        "attempt 1 succeeded on node a, started 0.250 s after its time"
    )
    between = explain(view, [catch_up], [], kinds=None, now=NOW, at=NOW - 71 * HOUR)
    assert between.text == "2026-11-12T13:00:00Z is no occurrence of 0 12 * * *"


def past(runs: list[Attempt], skips: list[Skip], at: datetime, job: Job = JOB) -> tuple[Verdict, str]:
    view = JobView(job.key, Record(job, STATE))
    why = explain(view, runs, skips, kinds=None, now=NOW, at=at)
    return why.verdict, why.text


def test_a_run_that_was_tried_again_is_told_with_all_its_attempts() -> None:
    at = RAN.scheduled_for
    again = RAN._replace(
        number=2, trigger=Trigger.RETRY, node="b", outcome=Outcome.SUCCEEDED, error=None, started_at=at + HOUR
    )
    pending = PENDING._replace(scheduled_for=at, number=3, reason="the attempt before it failed")
    first = "attempt 1 failed on node a, started 0.250 s after its time: ValueError: no"
    second = "attempt 2 succeeded on node b, started at 2026-11-14T13:00:00Z"
    assert past([again, RAN], [], at) == (Verdict.RAN, f"{second}; {first}")
    waits = "attempt 3 waits until 2026-11-15T13:00:00Z: the attempt before it failed"
    assert past([pending, again, RAN], [], at) == (Verdict.WAITS, f"{waits}; {second}; {first}")
    many = [RAN._replace(number=number, error=None, started_at=None) for number in range(9, 0, -1)]
    assert past(many, [], at)[1].endswith("attempt 5 failed on node a; 4 before")


def test_an_attempt_that_never_started_is_no_run() -> None:
    dropped = RAN._replace(
        node=None,
        started_at=None,
        outcome=Outcome.CANCELLED,
        error=None,
        reason="a newer occurrence took its place",
    )
    assert past([dropped], [], dropped.scheduled_for) == (
        Verdict.SKIPPED,
        "attempt 1 never started: a newer occurrence took its place",
    )


@pytest.mark.parametrize(
    ("end", "until"), [(HOUR, "until 2026-11-13T13:00:00Z"), (None, "until now")], ids=["ended", "open"]
)
def test_a_skip_names_the_run_that_was_in_the_way(end: timedelta | None, until: str) -> None:
    at = NOW - 48 * HOUR
    long = RAN._replace(
        scheduled_for=at - 24 * HOUR, claimed_at=at - 24 * HOUR,
        state=AttemptState.ENDED if end else AttemptState.RUNNING, finished_at=at + end if end else None,
    )  # fmt: skip
    other = RAN._replace(scheduled_for=at - 48 * HOUR, claimed_at=at - 48 * HOUR, finished_at=at - 47 * HOUR)
    skip = Skip("s/n", at, at, "a run was still open")
    assert past([long, other], [skip], at) == (
        Verdict.SKIPPED,
        f"skipped: s/n@2026-11-12T12:00:00Z (from 2026-11-12T12:00:00Z {until}) was still open",
    )
    assert past([other], [skip], at)[1] == "skipped: a run was still open"


@pytest.mark.parametrize("year", [2020, 2027], ids=["past", "future"])
def test_a_time_that_the_clocks_leave_out(year: int) -> None:
    """At 1:00 UTC of the last Sunday in March, 2:00 becomes 3:00 in Berlin."""
    job = replace(JOB, schedule=Cron("30 2 * * *", timezone="Europe/Berlin"))
    day = {2020: 29, 2027: 28}[year]
    verdict, text = past([], [], datetime(year, 3, day, 1, 30, tzinfo=UTC), job)
    assert verdict is Verdict.WILL_NOT
    assert text.startswith(f"02:30 of {year}-03-{day} does not exist in Europe/Berlin: its clocks go forward")
    assert "no occurrence" in past([], [], datetime(year, 3, day, 1, 31, tzinfo=UTC), job)[1]


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (Cron("0 12 * * *"), "0 12 * * *"),
        (Cron("0 12 * * *", timezone="Etc/UTC"), "0 12 * * *"),
        (Cron("0 12 * * *", timezone="Europe/Berlin"), "0 12 * * * (Europe/Berlin)"),
        (Every("90s"), "@every 1m30s"),
    ],
)
def test_a_rule_is_told_with_its_zone(rule: Cron | Every, text: str) -> None:
    assert rule_text(rule) == text


def test_what_comes_while_the_job_is_paused_waits_for_nobody() -> None:
    assert answer(NOW, served_until=NOW - 24 * HOUR, paused_at=NOW - HOUR) == (
        Verdict.WILL_NOT,
        "it is paused since 2026-11-15T11:00:00Z",
    )


@pytest.mark.parametrize(
    ("own", "of_source", "told"), [("abc", "def", "abc"), ("", "def", "def"), ("", None, None)]
)
@pytest.mark.parametrize("at", [None, NOW - 24 * HOUR, NOW + 24 * HOUR])
def test_an_answer_names_the_rule_and_the_revision(
    own: str, of_source: str | None, told: str | None, at: datetime | None
) -> None:
    view = JobView("s/n", Record(replace(JOB, revision=own), STATE))
    why = explain(view, [RAN], [SKIP], kinds=None, now=NOW, at=at, revision=of_source)
    assert (why.rule, why.revision) == ("0 12 * * *", told)


# The job was hourly for eight days; it was removed for one, and came back at noon only.
HOURLY = replace(JOB, schedule=Every(HOUR), revision="abc")
GONE_AT, BACK_AT = NOW - 50 * HOUR, NOW - 26 * HOUR
VERSIONS = (Version(2, JOB, BACK_AT), Version(1, HOURLY, STATE.created_at, GONE_AT, "def"))


def answer_of_then(at: datetime, *runs: Attempt) -> Why:
    view = JobView(JOB.key, Record(JOB, STATE._replace(version=2, defined_at=BACK_AT)))
    return explain(
        view, runs, [SKIP], kinds={"k"}, now=NOW, at=at, revision="now", versions=VERSIONS
    )  # fmt: skip


def test_an_instant_is_explained_by_the_rule_of_that_time() -> None:
    old = answer_of_then(NOW - 55 * HOUR)
    assert (old.verdict, old.text) == (
        Verdict.SKIPPED,
        "skipped: the job was paused; so were all from 2026-11-12T12:00:00Z to 2026-11-13T12:00:00Z",
    )
    assert (old.rule, old.revision, old.version, old.is_replaced) == ("@every 1h", "abc", 1, True)
    new = answer_of_then(NOW - 25 * HOUR)
    assert (new.text, new.rule) == ("2026-11-14T11:00:00Z is no occurrence of 0 12 * * *", "0 12 * * *")
    assert (new.revision, new.version, new.is_replaced) == ("now", 2, False)


def test_a_run_is_explained_by_the_definition_that_started_it() -> None:
    ran = RAN._replace(scheduled_for=NOW - 24 * HOUR)
    assert answer_of_then(NOW - 24 * HOUR, ran._replace(version=1)).version == 1
    assert answer_of_then(NOW - 24 * HOUR, ran._replace(version=2)).version == 2
    assert answer_of_then(NOW - 24 * HOUR, ran).version is None, "an older program did not count"


def test_an_instant_at_which_the_job_was_not_there() -> None:
    assert answer_of_then(NOW - 40 * HOUR)[:2] == (
        Verdict.WILL_NOT,
        "the job was removed at 2026-11-13T10:00:00Z, and came back at 2026-11-14T10:00:00Z",
    )


def test_what_is_to_come_is_explained_by_the_present_rule() -> None:
    why = answer_of_then(NOW + HOUR)
    assert (why.verdict, why.rule, why.version) == (Verdict.WILL_NOT, "0 12 * * *", 2)


def test_a_record_that_cannot_be_read() -> None:
    why = explain(JobView("s/n", None, damage=Damage("not JSON")), [], [], kinds=None, now=NOW)
    assert (why.verdict, why.text) == (
        Verdict.WILL_NOT,
        "its record cannot be read: not JSON; declare it anew",
    )


FULL = GroupCount("db", 1, 1)
IN_A_GROUP = replace(JOB, group="db")
DUE: dict[str, Any] = {"next_at": NOW, "wake_at": NOW, "served_until": NOW - 24 * HOUR}


@pytest.mark.parametrize(
    ("group", "attempts", "verdict", "text"),
    [
        (FULL, (), Verdict.WAITS, "is due, by 0 12 * * *, and waits for group db (1 of 1 running)"),
        (FULL._replace(running=7, limit=5), (), Verdict.WAITS, "waits for group db (7 of 5 running)"),
        (FULL._replace(limit=None), (), Verdict.WAITS, "group db, for which no running node has a limit"),
        (FULL._replace(running=0), (), Verdict.WILL_RUN, "2026-11-15T12:00:00Z is due, by 0 12 * * *"),
        (FULL, (RUNNING,), Verdict.RUNS, "runs since"),
        (FULL, (PENDING,), Verdict.WAITS, "waits until 2026-11-15T13:00:00Z: retry 1"),
        (
            FULL,
            (PENDING._replace(wake_at=NOW),),
            Verdict.WAITS,
            "waits for group db (1 of 1 running): retry 1",
        ),
    ],
)
def test_a_job_that_waits_for_its_group_says_so(
    group: GroupCount, attempts: Any, verdict: Verdict, text: str
) -> None:
    view = JobView(IN_A_GROUP.key, Record(IN_A_GROUP, STATE._replace(**DUE), tuple(attempts)))
    why = explain(view, [], [], kinds={"k"}, now=NOW, group=group)
    assert (why.verdict, text in why.text) == (verdict, True), why.text


def test_an_occurrence_that_waits_for_its_group_says_so() -> None:
    view = JobView(IN_A_GROUP.key, Record(IN_A_GROUP, STATE._replace(**DUE)))
    why = explain(view, [], [], kinds={"k"}, now=NOW + HOUR, at=NOW, group=FULL)
    assert why.text == "it has come, and waits for group db (1 of 1 running)"


def test_a_job_that_is_not_due_does_not_speak_of_its_group() -> None:
    view = JobView(IN_A_GROUP.key, Record(IN_A_GROUP, STATE))
    assert "group" not in explain(view, [], [], kinds={"k"}, now=NOW, group=FULL).text


OUTAGE = Outage(NOW - 30 * HOUR, NOW - 20 * HOUR)
OUT = "; as far as the store knows, no node was running from 2026-11-14T06:00:00Z to 2026-11-14T16:00:00Z"


def fate(skips: Any = (), runs: Any = (), job: Job = JOB, outage: Outage = OUTAGE) -> str:
    view = JobView(job.key, Record(job, STATE))
    at = NOW - 24 * HOUR
    return explain(view, runs, skips, kinds={"k"}, now=NOW, at=at, outages=[outage]).text


def test_what_was_missed_in_an_outage_says_from_when_to_when_it_lasted() -> None:
    missed = Skip("s/n", NOW - 24 * HOUR, NOW - 24 * HOUR, "missed by more than its grace")
    assert fate([missed]) == f"skipped: missed by more than its grace{OUT}"
    assert fate([missed._replace(reason="the job was paused")]) == "skipped: the job was paused"
    before = Outage(NOW - 60 * HOUR, NOW - 50 * HOUR)
    assert fate([missed], outage=before) == "skipped: missed by more than its grace"


def test_a_run_that_had_to_wait_for_the_end_of_an_outage_says_so() -> None:
    late = RAN._replace(claimed_at=NOW - 20 * HOUR)
    assert fate(runs=[late]).endswith(OUT)
    assert OUT not in fate(runs=[RAN._replace(claimed_at=NOW - 24 * HOUR)])  # the last before it broke off
    as_it_ended = Outage(OUTAGE.first, NOW - 24 * HOUR)  # a node was there again when its time came
    assert "no node" not in fate(runs=[RAN._replace(claimed_at=NOW - 24 * HOUR)], outage=as_it_ended)
    tried_again = RAN._replace(number=2, claimed_at=NOW - 20 * HOUR)
    in_time = RAN._replace(claimed_at=NOW - 24 * HOUR)
    assert OUT not in fate(runs=[tried_again, in_time])


def test_what_happened_last_tells_of_an_outage() -> None:
    missed = Skip("s/n", NOW - 24 * HOUR, NOW - 24 * HOUR, "missed by more than its grace")
    assert (told_last(None, missed, UTC, [OUTAGE]) or "").endswith(OUT)
    late = RAN._replace(claimed_at=NOW - 20 * HOUR)
    assert (told_last(late, None, UTC, [OUTAGE]) or "").endswith(OUT)
    assert OUT not in (told_last(late._replace(request="r"), None, UTC, [OUTAGE]) or "")
    assert OUT not in (told_last(None, missed, UTC, [OUTAGE], 9 * HOUR) or "")  # its splay ends after it
