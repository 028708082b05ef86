"""What a job's ping is told: each end of an attempt, whatever else is told or held back."""

from __future__ import annotations

from datetime import timedelta

from engine.plan_cases import Life, instant, make_job
from engine.test_plan_alerts import MINUTES, alerts_of, begun, play
from foliot.engine.plan_command import Mute
from foliot.model.decision import Happening
from foliot.model.outbox import ChannelAlert
from foliot.model.policy import Notify, Policy, Retry

PINGED = Policy(ping="hc")


def told_to(life: Life, channel: str) -> list[ChannelAlert]:
    return [one for step in life.steps for one in step.decision.alerts if one.channel == channel]


def test_every_end_is_told_and_nothing_else() -> None:
    life = begun(make_job(MINUTES, PINGED))

    assert play(life, "10:00 ok", "10:01 ok", "10:02 fail", "10:03 lose") == [
        "10:00 ended", "10:01 ended", "10:02 ended", "10:03 tried",
    ]  # fmt: skip
    assert {one.channel for step in life.steps for one in step.decision.alerts} == {"hc"}
    assert len({alert.id for alert in alerts_of(life)}) == 4
    assert [alert.outcome for alert in alerts_of(life)] == ["succeeded", "succeeded", "failed", "lost"]


def test_an_attempt_that_will_be_tried_again_is_no_end() -> None:
    life = begun(make_job(MINUTES, Policy(ping="hc", retry=Retry(max=1, delay="5s"))))

    assert play(life, "10:00 fail", "10:00:06 fail") == ["10:00 tried", "10:00:06 ended"]
    first, second = alerts_of(life)
    assert (first.run, first.attempt) == (second.run, 1)
    assert second.attempt == 2


def test_a_cancelled_run_has_an_end_that_was_asked_for() -> None:
    life = begun(make_job(MINUTES, PINGED))
    play(life, "10:00 claim", "10:00:10 cancel")

    assert alerts_of(life) == []


def test_the_event_of_a_start_names_the_ping_and_no_other_does() -> None:
    life = begun(make_job(MINUTES, PINGED))
    play(life, "10:00 ok")

    named = {event.what: event.ping for step in life.steps for event in step.decision.events}
    assert named[Happening.STARTED] == "hc"
    assert {ping for what, ping in named.items() if what is not Happening.STARTED} == {None}


def test_a_muted_job_is_pinged_for_silence_outside_would_be_an_alarm() -> None:
    life = begun(make_job(MINUTES, Policy(ping="hc", notify=Notify("ops"))))
    life.command(Mute(instant("10:00") + timedelta(hours=1)), instant("09:59:40"))
    play(life, "10:00 fail", "10:01 ok")

    assert told_to(life, "ops") == []
    assert len(told_to(life, "hc")) == 2
