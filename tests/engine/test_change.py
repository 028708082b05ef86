"""What a plan says of a change: runs, fields, the moment of the change, and what surprises."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from engine.change_stage import MINUTE, NOON, jobs_of, only, planned, record_of, text_of, warned
from foliot.engine.change import Code, Kind, as_served, plan_change
from foliot.engine.plan_command import Pause, plan_command
from foliot.model.attempt import Attempt, AttemptState, Trigger
from foliot.model.policy import Misfire, OnChange
from foliot.model.state import Record
from foliot.protocols import Snapshot

pytestmark = pytest.mark.req("OWN-16")
DAILY = 'a: {schedule: "30 1 * * *", run: ./a}'
LATE = 'a: {schedule: "0 23 * * *", run: ./a}'
HOURLY = 'a: {schedule: "0 * * * *", run: ./a}'


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_nothing_changes() -> None:
    plan = planned(DAILY, DAILY)
    assert (plan.jobs, plan.unchanged, plan.warnings) == ((), 1, ())


def test_runs_that_all_move_by_as_much_are_told_once() -> None:
    change = only(planned(DAILY, LATE))
    assert change.kind is Kind.CHANGED
    assert change.runs[:6] == (7, 7, 0, 0, 0, 7)
    assert text_of(change, Code.MOVED) == "each moves 2 h 30 min earlier"
    assert change.first_difference == (at("2026-11-17T00:30"), at("2026-11-16T22:00"))


def test_within_a_day_the_nearest_partner_counts() -> None:
    change = only(planned('a: {schedule: "0 9 * * *", run: x}', 'a: {schedule: "0 17 * * *", run: x}'))
    assert text_of(change, Code.MOVED) == "each moves 8 h later"
    assert (change.runs.added, change.runs.removed, change.runs.moved) == (1, 1, 6)


def test_a_day_may_have_two_runs() -> None:
    change = only(planned(DAILY, LATE))
    assert text_of(change, Code.TWICE_A_DAY) == "today has two runs: 01:30 (past) and 23:00"
    assert "twice-a-day" in warned(change)


def test_a_day_may_have_no_run() -> None:
    change = only(planned(LATE, DAILY))
    assert text_of(change, Code.DAY_WITHOUT_RUN) == "today has no run: 01:30 is over by then"
    assert "longest-gap" in warned(change)
    gap = text_of(change, Code.LONGEST_GAP)
    assert gap is not None
    assert gap.startswith("the longest time without a run grows from 1 d to 1 d 2 h: Sun 2026-11-15 23:00")


def test_a_job_that_runs_each_hour_surprises_in_neither_way() -> None:
    assert not warned(only(planned(HOURLY, 'a: {schedule: "5 * * * *", run: ./a}')))


@pytest.mark.parametrize(("after", "code"), [("*/30", Code.DENSER), ("0 */2", Code.SPARSER)])
def test_more_and_fewer_runs(after: str, code: Code) -> None:
    rule = f"{after} * * * *" if " " not in after else f"{after} * * *"
    change = only(planned(HOURLY, f'a: {{schedule: "{rule}", run: ./a}}'))
    assert text_of(change, code) == f"168 runs become {change.runs.after}"
    assert change.runs.kept == min(168, change.runs.after)


def test_added_and_removed_jobs() -> None:
    plan = planned(DAILY, HOURLY.replace("a:", "b:"))
    assert [(c.name, c.kind) for c in plan.jobs] == [("b", Kind.ADDED), ("a", Kind.REMOVED)]
    assert text_of(plan.jobs[0], Code.ADDED) == "168 runs, first Mon 2026-11-16 13:00"
    assert text_of(plan.jobs[1], Code.REMOVED) == "7 runs go; history stays 30 days"


def test_a_job_under_another_name_is_a_rename() -> None:
    change = only(planned(DAILY, DAILY.replace("a:", "b:")))
    assert (change.kind, change.old_name, change.name) == (Kind.RENAMED, "a", "b")
    assert change.runs.kept == 7
    assert warned(change) == {"renamed"}


def test_two_jobs_that_say_the_same_are_no_rename() -> None:
    plan = planned(DAILY, DAILY.replace("a:", "b:") + "\n" + DAILY.replace("a:", "c:"))
    assert {change.kind for change in plan.jobs} == {Kind.ADDED, Kind.REMOVED}


def test_switched_off_and_on() -> None:
    off = DAILY.replace("{", "{enabled: false, ")
    assert text_of(only(planned(DAILY, off)), Code.SWITCHED_OFF) == "it is switched off: 7 runs go"
    assert text_of(only(planned(off, DAILY)), Code.SWITCHED_ON) == "it is switched on: 7 runs"


def test_of_variables_only_the_names_are_told() -> None:
    change = only(
        planned(
            'a: {schedule: "@daily", run: x, env: {KEY: hush, OTHER: "1"}}',
            'a: {schedule: "@daily", run: x, env: {KEY: louder, MORE: "1"}}',
        )
    )
    assert text_of(change, Code.ENV_CHANGED) == "variables change: KEY, MORE, OTHER"
    assert "hush" not in str(change)
    assert "louder" not in str(change)


def test_fields_are_told_before_and_after() -> None:
    change = only(
        planned(
            'a: {schedule: "@daily", run: ./x, timeout: 30m}',
            'a: {schedule: "@daily", run: ./y, timeout: 5m, timezone: UTC, concurrency: wait}',
        )
    )
    told = {one.field: (one.before, one.after) for one in change.fields}
    assert told == {
        "timezone": ("Europe/Berlin", "UTC"),
        "run": ("./x", "./y"),
        "concurrency": ("skip", "wait"),
        "timeout": ("30m", "5m"),
    }
    assert text_of(change, Code.COMMAND_CHANGED) == "what it does changes: run"
    assert text_of(change, Code.POLICY_CHANGED) == "how it behaves changes: concurrency, timeout"
    assert text_of(change, Code.ZONE_CHANGED) == "its times are of UTC, not Europe/Berlin"


def test_a_timeout_that_runs_of_the_past_exceed() -> None:
    took = {"a": [MINUTE * n for n in range(1, 21)]}
    before, after = (DAILY.replace("{", f"{{timeout: {t}, ") for t in ("30m", "11m"))
    change = only(planned(before, after, took=took))
    words = "9 of its last 20 successful runs took longer than the new timeout (p95 19 min)"
    assert text_of(change, Code.TIMEOUT_SHORT) == words
    assert text_of(only(planned(before, after)), Code.TIMEOUT_SHORT) is None


def test_overlaps_are_foretold_by_the_durations_of_the_past() -> None:
    after = 'a: {schedule: "*/5 * * * *", run: ./a}'
    change = only(planned(HOURLY, after, took={"a": [7 * MINUTE]}, horizon=timedelta(days=1)))
    told = text_of(change, Code.OVERLAP_LIKELY)
    assert told == "about 143 runs come while one is open, and are skipped (p95 of its runs: 7 min)"
    assert text_of(only(planned(HOURLY, after)), Code.OVERLAP_LIKELY) is None


def test_no_node_serves_it() -> None:
    plan = planned("", DAILY, is_served=lambda _: False)
    assert "unserved" in warned(only(plan))
    assert "unserved" not in warned(only(planned("", DAILY, is_served=lambda _: True)))


def test_changes_of_the_clocks_are_foretold_for_a_year() -> None:
    half_past_two = 'a: {schedule: "30 2 * * *", run: ./a}'
    change = only(planned(DAILY, half_past_two))
    assert {"dst-gap", "dst-fold"} <= warned(change)
    back = only(planned(half_past_two, DAILY))
    assert text_of(back, Code.DST_GAP) == "no run is left out by the clocks any more: 2027-03-28"
    assert not warned(back) & {"dst-gap", "dst-fold"}


def test_findings_of_check_that_are_new_and_that_are_resolved() -> None:
    both = 'a: {schedule: "30 1 1 * MON", run: ./a}'
    assert "both day fields are restricted" in only(planned(DAILY, both)).findings[0]
    assert "both day fields are restricted" in only(planned(both, DAILY)).resolved[0]


def test_many_that_start_at_once_are_a_herd() -> None:
    before = "\n".join(f'j{n}: {{schedule: "{n} 3 * * *", run: ./{n}}}' for n in range(60))
    after = "\n".join(f'j{n}: {{schedule: "0 3 * * *", run: ./{n}}}' for n in range(60))
    plan = planned(before, after)
    assert (plan.herd.before, plan.herd.after) == (1, 60)
    assert plan.herd.top[0] == (at("2026-11-17T02:00"), 1, 60)
    assert [effect.code for effect in plan.effects] == [Code.HERD]
    assert planned(before, after, slots={"default": 100}).effects == ()


def test_a_long_plan_of_a_dense_job_says_where_it_stops_comparing() -> None:
    minutely, twice = (f'a: {{schedule: "{rule}", run: x}}' for rule in ("* * * * *", "@every 30s"))
    change = only(planned(minutely, twice, horizon=timedelta(days=400)))
    assert change.runs.before == 400 * 24 * 60
    assert change.runs.after == 2 * 400 * 24 * 60
    assert change.runs.compared_until is not None
    assert text_of(change, Code.TRUNCATED) is not None


# -- records of a store ----------------------------------------------------------------------------


def with_attempts(record: Record, *attempts: Attempt) -> dict[str, Record]:
    return {record.job.name: record._replace(attempts=attempts)}


def attempt(state: AttemptState, trigger: Trigger = Trigger.SCHEDULE, **fields: object) -> Attempt:
    made = Attempt("ops/a", 1, trigger, state, at("2026-11-16T00:30"))
    return made._replace(**fields)  # type: ignore[arg-type] # names are checked by _replace


def test_what_runs_goes_on_and_what_waits_for_a_retry_uses_the_new_command() -> None:
    running = attempt(AttemptState.RUNNING, node="n", claimed_at=NOON)
    retry = attempt(AttemptState.PENDING, Trigger.RETRY, number=2, wake_at=NOON + MINUTE)
    plan = planned(with_attempts(record_of(DAILY), running, retry), DAILY.replace("./a", "./b"))
    change = only(plan)
    assert (
        text_of(change, Code.OPEN_UNCHANGED) == "ops/a@2026-11-16T00:30:00Z runs on with the old definition"
    )
    told = text_of(change, Code.RETRY_CHANGES)
    assert (
        told
        == "the waiting retry of ops/a@2026-11-16T00:30:00Z at 2026-11-16T11:01:00Z uses the new definition"
    )
    assert len(plan.switch.keeps) == 2


def test_what_waits_to_start_is_dropped_with_its_job() -> None:
    pending = attempt(AttemptState.PENDING, wake_at=NOON)
    plan = planned(with_attempts(record_of(DAILY), pending), "")
    assert plan.switch.drops == ("ops/a@2026-11-16T00:30:00Z",)
    assert warned(only(plan)) == {"drops-pending"}


def test_of_a_paused_job_no_run_moves() -> None:
    record = record_of(DAILY)
    paused = record._replace(state=plan_command(record, Pause(), NOON).state)
    change = only(planned({"a": paused}, LATE))
    assert text_of(change, Code.PAUSED_NO_EFFECT) is not None
    assert (change.runs.before, change.runs.after) == (0, 0)


def test_what_came_and_was_not_served_is_skipped_at_the_switch() -> None:
    record = record_of(HOURLY, NOON - timedelta(hours=3))
    plan = planned({"a": record}, HOURLY.replace("0 *", "30 *"))
    (skip,) = plan.switch.skips
    assert (skip.first, skip.last) == (NOON - timedelta(hours=2), NOON)
    assert text_of(only(plan), Code.SKIPS) is not None


def test_what_the_new_rule_owes_starts_at_once() -> None:
    record = record_of(HOURLY, NOON - timedelta(hours=3))
    policy = replace(record.job.policy, on_change=OnChange.LAST, misfire=Misfire())
    (job,) = (replace(job, policy=policy) for job in jobs_of(HOURLY.replace("0 *", "45 *")))
    records = {"a": record._replace(job=replace(record.job, policy=policy))}
    plan = plan_change("ops", records, Snapshot("r2", (job,)), NOON, NOON + timedelta(days=1))
    assert [start.run for start in plan.switch.starts] == ["ops/a@2026-11-16T10:45:00Z"]
    assert "catch-up-now" in warned(only(plan))


def test_a_later_change_finds_what_comes_until_then_served() -> None:
    record = record_of(HOURLY, NOON)
    later = as_served(record, NOON + timedelta(hours=5, minutes=30))
    assert later.state.served_until == NOON + timedelta(hours=5)
    assert later.state.next_at == NOON + timedelta(hours=6)
