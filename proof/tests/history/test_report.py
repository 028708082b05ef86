"""Reports tell what was wrong, where to begin to read, and how things went."""

from __future__ import annotations

from datetime import timedelta

import pytest

from foliot.model.attempt import Outcome, Trigger
from foliot_proof.history import Code, Trouble, check
from history.case_builder import JOB, CaseBuilder


def test_a_violation_carries_the_jobs_timeline_from_all_logs() -> None:
    case = (
        CaseBuilder()
        .declare(at="10:15")
        .fault(Trouble.DOWN, "10:21", "10:22", host="b")
        .run("10:20", seen=False)
    )
    case.run("10:30", start="10:29:59.95").skip("10:25", reason="told")
    (violation,) = check(case.history()).violations
    assert (violation.code, violation.job) == (Code.FABRICATED, JOB)
    evidence = "\n".join(violation.evidence)
    for part in ("change    declare: applied", "due       10:20:00", "ledger    claim", "witness   start"):
        assert part in evidence
    for part in ("fault     b down", "fault     b down is over", "skip      10:25:00", "succeeded"):
        assert part in evidence
    assert list(violation.evidence) == sorted(violation.evidence)
    assert str(violation).startswith(f"FABRICATED {JOB}: ")


def test_long_timelines_are_cut_to_what_is_near() -> None:
    case = CaseBuilder("10:50").declare("09:59", rule="*/1 * * * *")
    case.runs(*(f"10:{minute:02}" for minute in range(50) if minute != 25))
    (violation,) = check(case.history()).violations
    assert len(violation.evidence) == 40
    assert "10:25:00" in "\n".join(violation.evidence)


def test_the_smallest_failing_job_is_shown() -> None:
    case = CaseBuilder().declare(job="s/busy", rule="* * * * *").declare(job="s/idle", rule="0 * * * *")
    report = check(case.history())
    assert report.codes[Code.MISSED] > 30
    assert [violation.job for violation in report.smallest()] == ["s/idle"]
    assert "s/busy" not in str(report)
    assert "MISSED × " in str(report)


def test_measures() -> None:
    case = CaseBuilder().declare().fault(Trouble.DOWN, "10:00:10", "10:05", host="b")
    case.run("10:00", node="b", outcome=Outcome.LOST, lost_at="10:00:45")
    case.run("10:00", number=2, start="10:00:46", trigger=Trigger.LOST)
    case.run("10:10", start="10:10:01").run("10:20", start="10:20:03").runs("10:30")
    measures = check(case.history()).measures
    assert measures.start_lag.most == timedelta(seconds=3)
    assert measures.start_lag.p50 == timedelta(seconds=1)
    assert measures.recoveries == (timedelta(seconds=36),)
    assert measures.triggers == {"schedule": 4, "lost": 1}
    assert measures.outcomes == {"succeeded": 4, "lost": 1}
    assert measures.unknown_outcomes == 0.2
    assert (measures.occurrences, measures.excused) == (4, 0.0)


@pytest.mark.parametrize(
    ("kind", "host", "expected"),
    [(Trouble.PARTITIONED, None, 11), (Trouble.PAUSED, "a", 11), (Trouble.PAUSED, "b", 36)],
    ids=["the store was away", "nobody else was able", "the dead one stood still, too"],
)
def test_a_recovery_counts_only_time_in_which_somebody_was_able(
    kind: Trouble, host: str | None, expected: int
) -> None:
    case = CaseBuilder().declare().fault(Trouble.DOWN, "10:00:10", "10:05", host="b")
    case.fault(kind, "10:00:12", "10:00:32", host=host)  # and five seconds to get over it
    case.run("10:00", node="b", outcome=Outcome.LOST, lost_at="10:00:45")
    case.run("10:00", number=2, start="10:00:46", trigger=Trigger.LOST)
    assert check(case.history()).measures.recoveries == (timedelta(seconds=expected),)


def test_a_recovery_is_counted_from_the_death_and_not_from_what_was_before_it() -> None:
    case = CaseBuilder().declare().run("10:00", node="b", outcome=Outcome.LOST, lost_at="10:00:55")
    case.fault(Trouble.PARTITIONED, "10:00:12", "10:00:18", host="b").fault(
        Trouble.DOWN, "10:00:20", "10:05", host="b"
    )
    case.run("10:00", number=2, start="10:00:56", trigger=Trigger.LOST)
    assert check(case.history()).measures.recoveries == (timedelta(seconds=36),)


def test_the_lag_without_faults_leaves_out_what_a_fault_or_another_run_explains() -> None:
    case = CaseBuilder(hosts=("a",)).declare().run("10:00", start="10:00:01", end="10:10:30")
    case.run("10:10", start="10:10:31").fault(Trouble.DOWN, "10:15", "10:20:05", host="a")
    measures = check(case.run("10:20", start="10:20:06").run("10:30", start="10:30:02").history()).measures
    assert measures.start_lag.most == timedelta(seconds=31)
    assert (measures.calm_lag.most, measures.calm_lag.starts) == (timedelta(seconds=2), 2)


def test_excuses_are_counted() -> None:
    case = CaseBuilder().declare().runs("10:00", "10:10").outage("10:15", "10:40")
    measures = check(case.history()).measures
    assert measures.excuses == {"nobody could take it": 2}
    assert measures.excused == 0.5


def test_a_clean_report_says_so_and_tells_the_numbers() -> None:
    report = check(CaseBuilder().declare().runs("10:00", "10:10", "10:20", "10:30").history())
    assert report.is_clean
    assert report.smallest() == ()
    assert str(report).splitlines() == [
        "no violations",
        "start lag: p50 0:00:00, p99 0:00:00, most 0:00:00 of 4 starts",
        "… where no fault was: p50 0:00:00, p99 0:00:00, most 0:00:00 of 4",
        "attempts by trigger: 4 schedule; by outcome: 4 succeeded",
        "unknown outcomes: 0.0%; zombies: 0",
        "excused: 0.0% of 4 occurrences",
    ]


def test_an_empty_history_is_clean() -> None:
    report = check(CaseBuilder().history())
    assert report.is_clean
    assert report.measures.excused == 0
    assert report.measures.unknown_outcomes == 0
