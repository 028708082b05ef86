"""What the job of a channel remembers: a mute, and sources in trouble."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from foliot.app.channel_memory import Trouble, plan_mute, plan_notice, plan_trouble, plan_well
from foliot.app.delivery import delivery_job
from foliot.engine.plan_command import RunNow, plan_command
from foliot.engine.plan_definition import plan_declared
from foliot.engine.planner import plan_due
from foliot.model.alert import Alert, AlertKind
from foliot.model.decision import Decision
from foliot.model.state import Record

NOW = datetime(2026, 11, 16, 10, tzinfo=UTC)
HOUR = timedelta(hours=1)
AWAY = Trouble("ops-1", "the remote is away", NOW - HOUR, "3f2a")


def record() -> Record:
    job = delivery_job("ops")
    return Record(job, plan_declared(job, None, NOW).state)


def after(before: Record, decision: Decision) -> Record:
    return before._replace(state=decision.state)


def told(decision: Decision) -> list[Alert]:
    assert {one.channel for one in decision.alerts} <= {"ops"}
    return [one.alert for one in decision.alerts]


def test_a_source_in_trouble_is_told_once_again_after_a_day_and_when_it_is_well() -> None:
    first = plan_trouble(record(), AWAY, NOW)
    known = after(record(), first)
    (alert,) = told(first)
    assert (alert.kind, alert.job, alert.why, alert.revision) == (
        AlertKind.SOURCE,
        "ops-1",
        "the remote is away",
        "3f2a",
    )
    assert plan_trouble(known, AWAY._replace(why="it is away still"), NOW + HOUR) == Decision(known.state)
    reminded = plan_trouble(known, AWAY, NOW + 24 * HOUR)
    (reminder,) = told(reminded)
    assert (reminder.reminder, reminder.episode) == (1, alert.episode)
    well = plan_well(after(known, reminded), "ops-1", "77aa", NOW + 25 * HOUR)
    (recovery,) = told(well)
    assert (recovery.kind, recovery.since, recovery.episode) == (
        AlertKind.RECOVERY,
        AWAY.since,
        alert.episode,
    )
    assert well.state.watch is None
    assert len({alert.id, reminder.id, recovery.id}) == 3


def test_a_source_that_was_well_is_not_told_to_be() -> None:
    there = record()
    assert plan_well(there, "ops-1", None, NOW) == Decision(there.state)


def test_two_nodes_that_see_the_same_trouble_tell_it_once() -> None:
    known = after(record(), plan_trouble(record(), AWAY, NOW))
    later = AWAY._replace(since=NOW)
    assert not plan_trouble(known, later, NOW).alerts
    assert told(plan_trouble(known, later._replace(source="other"), NOW))


def test_a_notice_has_one_id_for_each_revision() -> None:
    first, again = (told(plan_notice(record(), AWAY._replace(since=at), at))[0] for at in (NOW, NOW + HOUR))
    other = told(plan_notice(record(), AWAY._replace(revision="77aa"), NOW))[0]
    assert first.id == again.id != other.id


def test_a_mute_and_a_trouble_outlive_the_runs_of_the_delivery() -> None:
    there = after(record(), plan_trouble(record(), AWAY, NOW))
    there = after(there, plan_mute(there, NOW + HOUR, "we know"))
    asked = plan_command(there, RunNow("r"), NOW)
    there = Record(there.job, asked.state, asked.attempts)
    started = plan_due(there, NOW, "n1")
    watch = started.state.watch
    assert watch is not None
    assert (watch.muted_reason, len(watch.episodes)) == ("we know", 1)
    assert started.attempts[0].is_running


def test_the_end_of_a_mute_leaves_no_trace() -> None:
    there = after(record(), plan_mute(record(), NOW + HOUR, ""))
    assert plan_mute(there, None, "").state.watch is None
