"""What is told of a job: as the planner decides it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from engine.plan_cases import Life, brief, instant, make_job
from foliot.engine.plan_command import Cancel, Look, Mute, Pause, Resume, RunNow, Unmute, plan_command
from foliot.errors import CommandRefusedError
from foliot.model.alert import Alert, AlertKind
from foliot.model.attempt import Outcome
from foliot.model.job import Job
from foliot.model.policy import (
    Expect,
    Misfire,
    MisfireMode,
    Notify,
    OnLost,
    Overlap,
    OverlapMode,
    Policy,
    Retry,
    parallel,
)
from foliot.model.splay import offset_of
from foliot.schedules import Every, Schedule

OPS = Notify("ops", remind=None)
MINUTES = "* * * * *"


def watched(rule: Schedule | str = MINUTES, notify: Notify = OPS, **fields: Any) -> Job:
    return make_job(rule, Policy(notify=notify, **fields))


def begun(job: Job, at: str = "09:59:30") -> Life:
    life = Life()
    life.declare(job, instant(at))
    return life


def play(life: Life, *script: str) -> list[str]:
    """Times and events, such as `10:00 fail` for a run that starts and fails; what each one tells."""
    told = []
    for line in script:
        at, _, event = line.partition(" ")
        count, now = len(life.steps), instant(at)
        match event:
            case "ok" | "fail" | "lose":
                life.claim(now)
                end(life, event, at)
            case "end ok" | "end fail":
                end(life, event.removeprefix("end "), at)
            case "claim" | "look":
                getattr(life, event)(now)
            case "pause":
                life.command(Pause(), now)
            case "resume":
                life.command(Resume(), now)
            case "cancel":
                life.command(Cancel(life.open[0].run_key), now)
            case _:
                raise AssertionError(event)
        alerts = [a.alert for step in life.steps[count:] for a in step.decision.alerts]
        told.append(f"{at} {' '.join(map(short, alerts))}".rstrip())
    return told


def end(life: Life, event: str, at: str) -> None:
    if event == "lose":
        life.lose(life.running[0], instant(at))
    else:
        life.end(life.running[0], instant(at), Outcome.SUCCEEDED if event == "ok" else Outcome.FAILED)


def short(alert: Alert) -> str:
    return alert.kind.value + (f"#{alert.reminder}" if alert.reminder else "")


def alerts_of(life: Life) -> list[Alert]:
    return [told.alert for step in life.steps for told in step.decision.alerts]


# -- failures ----------------------------------------------------------------------------------------


def test_a_failure_is_told_once_and_its_end_once() -> None:
    life = begun(watched())

    assert play(life, "10:00 fail", "10:01 fail", "10:02 ok", "10:03 ok", "10:04 fail") == [
        "10:00 failure", "10:01", "10:02 recovery", "10:03", "10:04 failure",
    ]  # fmt: skip
    failure, recovery, another = alerts_of(life)
    assert failure.episode == recovery.episode != another.episode
    assert len({failure.id, recovery.id, another.id}) == 3
    assert (failure.outcome, failure.error, failure.failures_in_row) == (Outcome.FAILED, "it failed", 1)
    assert (failure.why, failure.run) == ("failed: it failed", "tests/job@2026-03-02T10:00:00Z")
    assert recovery.since == failure.since == instant("10:00")


def test_each_channel_is_told() -> None:
    life = begun(watched(notify=Notify(("ops", "admins"))))
    play(life, "10:00 fail")

    told = life.steps[-1].decision.alerts
    assert [one.channel for one in told] == ["ops", "admins"]
    assert told[0].alert == told[1].alert


def test_a_run_fails_when_its_retries_are_used_up() -> None:
    life = begun(watched(Every("1h"), retry=Retry(max=1, delay="10s")), "09:00")

    assert play(life, "10:00 fail", "10:00:10 fail", "11:00 fail", "11:00:10 ok") == [
        "10:00", "10:00:10 failure", "11:00", "11:00:10 recovery",
    ]  # fmt: skip


def test_only_the_nth_failure_in_a_row_is_told() -> None:
    life = begun(watched(notify=Notify("ops", after=3)))

    script = ("10:00 fail", "10:01 ok", "10:02 fail", "10:03 fail", "10:04 fail", "10:05 fail")
    told = play(life, *script)
    assert told == ["10:00", "10:01", "10:02", "10:03", "10:04 failure", "10:05"]
    assert alerts_of(life)[0].since == instant("10:02")


def test_a_lost_run_fails_if_it_is_given_up_only() -> None:
    given_up, restarted = begun(watched(on_lost=OnLost.GIVE_UP)), begun(watched())

    assert play(given_up, "10:00 lose") == ["10:00 failure"]
    assert play(restarted, "10:00 lose", "10:00:01 ok") == ["10:00", "10:00:01"]


def test_a_retry_that_a_new_occurrence_replaces_leaves_a_failed_run() -> None:
    life = begun(watched(retry=Retry(max=None, delay="90s", is_preempted=True)))

    assert play(life, "10:00 fail", "10:01 claim", "10:01:05 end ok") == [
        "10:00", "10:01 failure", "10:01:05 recovery",
    ]  # fmt: skip


def test_a_persons_cancel_alerts_nobody() -> None:
    life = begun(watched(retry=Retry(max=1, delay="90s")))
    assert play(life, "10:00 claim", "10:00:05 cancel", "10:00:06 end fail") == [
        "10:00",
        "10:00:05",
        "10:00:06",
    ]
    assert play(life, "10:01 fail", "10:01:05 cancel") == ["10:01", "10:01:05"]
    assert alerts_of(life) == []


def test_the_next_occurrence_that_replaces_a_run_alerts_nobody() -> None:
    life = begun(watched(overlap=Overlap(mode=OverlapMode.REPLACE)))

    assert play(life, "10:00 claim", "10:01 claim", "10:01:01 end fail") == ["10:00", "10:01", "10:01:01"]


def test_a_job_that_removes_itself_tells_that_it_failed() -> None:
    life = begun(make_job(policy=Policy(notify=OPS), auto_remove=True, repeat_until=instant("10:00")))

    assert play(life, "10:00 fail") == ["10:00 failure"]
    assert life.there.state.removed_at is not None
    assert life.there.state.watch is None


def test_what_runs_when_its_job_is_removed_is_not_told() -> None:
    life = begun(watched())
    play(life, "10:00 claim")
    life.remove(instant("10:00:10"))
    assert life.there.state.watch is None
    assert play(life, "10:00:20 end fail") == ["10:00:20"]


# -- what goes on ------------------------------------------------------------------------------------


def test_a_reminder_has_a_number_and_the_episode() -> None:
    life = begun(watched(Every("1h"), notify=Notify("ops", remind="30m")), "09:00")

    told = play(
        life, "10:00 fail", "10:29 claim", "10:30 claim", "11:00 claim", "11:01 end ok", "11:31 claim"
    )
    assert told == ["10:00 failure", "10:29", "10:30 failure#1", "11:00 failure#2", "11:01 recovery", "11:31"]
    first, second, third, last = alerts_of(life)
    assert len({first.id, second.id, third.id, last.id}) == 4
    assert first.episode == second.episode == third.episode == last.episode


def test_a_job_that_flaps_is_told_once_until_it_is_steady() -> None:
    life = begun(watched())
    runs = ["fail", "ok", "fail", "ok", "fail", "ok", "ok", "ok", "ok", "ok", "fail"]

    told = play(life, *(f"10:{minute:02} {run}" for minute, run in enumerate(runs)))
    assert [line.partition(" ")[2] for line in told] == [
        "failure", "recovery", "failure", "recovery", "flapping", "", "", "", "", "recovery", "failure",
    ]  # fmt: skip


def test_a_job_that_flaps_and_then_fails_is_told_to_fail() -> None:
    life = begun(watched())
    runs = ["fail", "ok", "fail", "ok", "fail", "fail", "fail", "fail", "fail", "ok"]

    told = play(life, *(f"10:{minute:02} {run}" for minute, run in enumerate(runs)))
    assert [line.partition(" ")[2] for line in told][4:] == ["flapping", "", "", "", "failure", "recovery"]


# -- late, slow, silent, missed ----------------------------------------------------------------------


@pytest.mark.req("OWN-03")
def test_a_splayed_job_is_late_by_the_start_that_its_splay_gives() -> None:
    policy = Policy(notify=OPS, expect=Expect(start_within=timedelta(minutes=1)), splay=timedelta(minutes=50))
    job = make_job("0 * * * *", policy)
    start = instant("10:00") + offset_of(job)
    assert offset_of(job) > timedelta(minutes=2), "else this shows nothing"
    life = begun(job, "09:59:30")
    for at in (instant("10:01:30"), start, start + timedelta(seconds=59)):
        life.command(Look(), at)
        assert alerts_of(life) == []
    life.command(Look(), start + timedelta(minutes=1))
    assert [alert.kind for alert in alerts_of(life)] == [AlertKind.LATE]


def test_what_does_not_start_in_time_is_late() -> None:
    expect = Expect(start_within=timedelta(seconds=20))
    life = begun(watched(Every("1h"), overlap=Overlap(mode=OverlapMode.WAIT), expect=expect), "09:00")

    assert play(life, "10:00 claim", "11:00 claim", "11:00:19 claim", "11:00:20 claim", "11:30 claim") == [
        "10:00", "11:00", "11:00:19", "11:00:20 late", "11:30",
    ]  # fmt: skip
    (late,) = alerts_of(life)
    assert late.run == "tests/job@2026-03-02T11:00:00Z"
    assert late.why is not None
    assert "tests/job@2026-03-02T10:00:00Z is still open" in late.why
    # The end of the first run does not mean that the second is no longer late; its own success does.
    assert play(life, "11:40 end ok", "11:41 ok") == ["11:40", "11:41 recovery"]


def test_a_start_that_comes_too_late_is_told_though_nobody_looked_before() -> None:
    life = begun(watched(Every("1h"), expect=Expect(start_within=timedelta(minutes=5))), "09:00")

    assert play(life, "10:07 claim", "10:08 end ok") == ["10:07 late", "10:08 recovery"]
    assert alerts_of(life)[0].since == instant("10:00")


def test_what_is_asked_for_by_its_first_declaration_is_not_late() -> None:
    expect = Expect(start_within=timedelta(minutes=5))
    life = begun(watched("0 9 * * *", first_seen="now", expect=expect))

    assert play(life, "10:00 ok") == ["10:00"]


def test_a_run_that_takes_too_long_is_slow_and_goes_on() -> None:
    life = begun(watched(Every("1h"), expect=Expect(finish_within=timedelta(minutes=2))), "09:00")

    assert play(life, "10:00 claim", "10:01:59 claim", "10:02 claim", "10:03 claim", "10:05 end ok") == [
        "10:00", "10:01:59", "10:02 slow", "10:03", "10:05 recovery",
    ]  # fmt: skip
    assert play(life, "11:00 claim", "11:10 end fail") == ["11:00", "11:10 slow failure"]


def test_a_job_without_success_is_silent_and_paused_time_does_not_count() -> None:
    life = begun(watched(Every("30m"), notify=OPS, expect=Expect(success_every=timedelta(hours=1))), "09:00")

    told = play(
        life, "09:30 ok", "09:40 pause", "11:00 claim", "12:00 resume", "12:49:59 claim", "12:50 claim"
    )
    assert told == ["09:30", "09:40", "11:00", "12:00", "12:49:59", "12:50 silent"]


def test_what_a_job_that_is_switched_off_does_not_do_is_no_silence() -> None:
    job = watched(Every("30m"), expect=Expect(success_every=timedelta(hours=1)))
    life = begun(job, "09:00")
    off = make_job(Every("30m"), job.policy, enabled=False)
    life.declare(off, instant("09:10"))
    life.claim(instant("11:00"))
    life.declare(job, instant("12:00"))
    assert alerts_of(life) == []
    life.look(instant("13:00"))
    assert [alert.kind for alert in alerts_of(life)] == [AlertKind.SILENT]


def test_each_range_that_nobody_took_in_time_is_missed() -> None:
    life = begun(watched(misfire=Misfire(mode=MisfireMode.SKIP, grace=timedelta(seconds=5))))

    assert play(life, "10:00 ok", "10:03:30 claim", "10:04:30 claim", "10:05 claim", "10:05:01 end ok") == [
        "10:00", "10:03:30 missed", "10:04:30 missed", "10:05", "10:05:01 recovery",
    ]  # fmt: skip
    assert len({alert.id for alert in alerts_of(life)}) == 3


def test_what_an_open_run_was_in_the_way_of_is_told_if_it_is_asked_for_only() -> None:
    for notify, told in ((OPS, "10:01:30"), (Notify("ops", on=AlertKind), "10:01:30 skipped")):
        life = begun(watched(notify=notify))
        assert play(life, "10:00 claim", "10:01 claim", "10:01:30 end ok")[-1] == told


def test_what_a_run_writes_is_told_if_it_is_asked_for() -> None:
    from foliot.engine.planner import plan_ended  # noqa: PLC0415 - Life has no words for outputs
    from foliot.model.attempt import Ending  # noqa: PLC0415

    life = begun(watched(notify=Notify("ops", on=["output"])))
    life.claim(instant("10:00"))
    run = life.running[0]
    ending = Ending(run.job, run.run_key, 1, run.token, Outcome.SUCCEEDED, None, instant("10:01"))

    silent = plan_ended(life.there, [ending], instant("10:01"))
    loud = plan_ended(life.there, [ending._replace(has_output=True)], instant("10:01"))
    assert [len(silent.alerts), [told.alert.kind for told in loud.alerts]] == [0, [AlertKind.OUTPUT]]


# -- definitions -------------------------------------------------------------------------------------


def test_a_job_that_tells_no_channel_has_no_watch_and_is_plain() -> None:
    for policy in (Policy(), Policy(expect=Expect(start_within=timedelta(1))), Policy(notify=Notify(()))):
        life = begun(make_job(policy=policy))
        play(life, "10:00 fail", "10:01 ok")
        assert alerts_of(life) == []
        assert all(step.decision.state.watch is None for step in life.steps)


def test_a_watch_begins_and_ends_with_the_definition() -> None:
    life = begun(make_job())
    play(life, "10:00 claim")
    life.declare(watched(), instant("10:00:10"))
    assert play(life, "10:00:20 end fail") == ["10:00:20 failure"]
    life.declare(make_job(), instant("10:00:30"))
    assert life.there.state.watch is None


def test_requests_count_too() -> None:
    life = begun(watched(Every("1h"), overlap=parallel()), "09:00")
    life.command(RunNow("now"), instant("09:10"))

    assert play(life, "09:10 fail") == ["09:10 failure"]


@pytest.mark.parametrize("remind", [None, "5m"])
def test_a_job_at_rest_wakes_for_reminders_only(remind: str | None) -> None:
    life = begun(watched(Every("1h"), notify=Notify("ops", remind=remind)), "09:00")
    play(life, "10:00 fail")

    assert brief(life.there.state.wake_at) == ("10:05" if remind else "11:00")


# -- mute --------------------------------------------------------------------------------------------


def test_a_mute_holds_back_what_is_told_when_it_ends() -> None:
    life = Life()
    life.declare(make_job(Every("1h"), Policy(notify=Notify("ops", remind=None))), instant("09:30"))
    life.command(Mute(instant("12:30"), "we know"), instant("09:31"))
    life.claim(instant("10:00"))
    life.end(life.running[0], instant("10:01"), Outcome.FAILED)
    assert life.steps[-1].decision.alerts == ()
    life.claim(instant("12:30"))
    kinds = [told.alert.kind for step in life.steps for told in step.decision.alerts]
    assert kinds == [AlertKind.FAILURE]
    watch = life.there.state.watch
    assert watch is not None
    assert (watch.muted_until, watch.muted_reason) == (None, None)


def test_unmuting_tells_at_once_and_a_job_without_channels_cannot_be_muted() -> None:
    life = Life()
    life.declare(make_job(Every("1h"), Policy(notify=Notify("ops"))), instant("09:30"))
    life.command(Mute(instant("23:00")), instant("09:31"))
    life.claim(instant("10:00"))
    life.end(life.running[0], instant("10:01"), Outcome.FAILED)
    life.command(Unmute(), instant("10:02"))
    assert [told.alert.kind for told in life.steps[-1].decision.alerts] == [AlertKind.FAILURE]
    life.declare(make_job(Every("1h")), instant("10:03"))
    with pytest.raises(CommandRefusedError):
        plan_command(life.there, Mute(instant("23:00")), instant("10:04"))
