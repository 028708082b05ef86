"""The rules about alerts: a sound history has no finding, and each way to spoil it has its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from foliot.model.alert import Alert, AlertKind
from foliot.model.attempt import Outcome, Trigger
from foliot.model.outbox import AlertState, ChannelAlert
from foliot.model.policy import Expect, Misfire, MisfireMode, Notify, OnLost
from foliot_proof.history import Code, Definition, History, Operation, Rule, Told, check, from_lines, to_lines
from foliot_proof.history.facts import Host as HostFact
from foliot_proof.history.facts import Trouble, Verdict
from history.case_builder import DAY, JOB, CaseBuilder, clock

CHANNELS = ("ops", "admins")
KINDS = ("failure", "recovery", "missed", "slow", "silent", "late")
NOTIFY = Notify(CHANNELS, on=KINDS, remind=None)
LAST = "23:50"


def key(slot: str, number: int = 1) -> str:
    return f"{JOB}@2026-03-02T{slot}:00Z#{number}"


class AlertCase:
    """A history with alerts, told by hand. `told` and `outbox` are in the order in which they were told."""

    def __init__(self, *outcomes: str, notify: Notify = NOTIFY, **policy: Any) -> None:
        self.case = CaseBuilder(LAST).declare("09:55", "0 * * * *", notify=notify, **policy)
        for hour in range(10, 24):
            outcome = outcomes[hour - 10] if hour - 10 < len(outcomes) else "ok"
            if outcome != "-":
                self.case.run(f"{hour}:00", outcome=Outcome.SUCCEEDED if outcome == "ok" else Outcome.FAILED)
        self.told: list[Told] = []
        self.outbox: list[ChannelAlert] = []

    def tell(self, kind: str, episode: str, at: str, attempt: str = "", **facts: Any) -> AlertCase:
        """Both channels are told of something, under the id that its facts give."""
        run, _, number = (attempt or episode).partition("#")
        id_ = facts.pop("id", f"{kind} {episode} {attempt}")
        for channel in facts.pop("channels", CHANNELS):
            told = Told(
                channel, JOB, id_, AlertKind(kind), episode, 0, run, int(number or 0), clock(at), "a",
                clock(at) + timedelta(seconds=5),
            )._replace(**facts)  # fmt: skip
            self.told.append(told)
            alert = Alert(id_, clock(at), told.kind, JOB, episode=episode)
            self.outbox.append(ChannelAlert(channel, alert, AlertState.SENT, told.at))
        return self

    def history(self) -> History:
        return self.case.history(told=tuple(self.told), outbox=tuple(dict.fromkeys(self.outbox)))

    def codes(self) -> set[Code]:
        return set(check(self.history()).codes)


def sound() -> AlertCase:
    """Two failures in a row, and the recovery; and a second episode that is told twice."""
    case = AlertCase("ok", "fail", "fail", "ok", "fail")
    case.tell("failure", key("11:00"), "11:00:30")
    case.tell("recovery", key("11:00"), "13:00:30", key("13:00"))
    case.tell("failure", key("14:00"), "14:00:30").tell("failure", key("14:00"), "14:00:30")
    return case.tell("recovery", key("14:00"), "15:00:30", key("15:00"))


def drop(kind: str, episode: str, channel: str = "ops") -> Callable[[AlertCase], None]:
    """Neither the channel nor the outbox knows of it."""

    def spoil(case: AlertCase) -> None:
        case.told = [t for t in case.told if (t.kind, t.episode, t.channel) != (kind, episode, channel)]
        case.outbox = [
            o for o in case.outbox if (o.alert.kind, o.alert.episode, o.channel) != (kind, episode, channel)
        ]

    return spoil


def rename_one(case: AlertCase) -> None:
    case.told[-3] = case.told[-3]._replace(id="another")
    case.outbox.append(case.outbox[-3]._replace(alert=case.outbox[-3].alert._replace(id="another")))


def test_a_sound_history_has_no_finding_and_survives_as_lines() -> None:
    history = sound().history()
    assert not check(history).violations
    assert from_lines(to_lines(history)) == history


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (drop("failure", key("11:00")), Code.ALERT_LOST),
        (drop("failure", key("14:00"), "admins"), Code.ALERT_LOST),
        (drop("recovery", key("11:00")), Code.ALERT_LOST),
        (lambda case: case.told.pop(0), Code.ALERT_LOST),
        (lambda case: case.outbox.pop(0), Code.ALERT_INVENTED),
        (rename_one, Code.ALERT_RENAMED),
        (lambda case: case.tell("failure", key("12:00"), "12:00:30"), Code.ALERT_REPEATED),
        (lambda case: case.tell("failure", key("16:00"), "16:00:30"), Code.ALERT_INVENTED),
        (lambda case: case.tell("recovery", key("16:00"), "17:00:30", key("17:00")), Code.ALERT_INVENTED),
        (
            lambda case: case.tell("recovery", key("14:00"), "15:00:30", key("14:00")),
            Code.ALERT_INVENTED,
        ),
        (
            lambda case: case.tell("missed", "2026-03-02T12:00:00Z..2026-03-02T13:00:00Z", "13:30"),
            Code.ALERT_INVENTED,
        ),
        (lambda case: case.tell("slow", key("12:00"), "12:30"), Code.ALERT_INVENTED),
        (lambda case: case.tell("late", key("12:00"), "12:30"), Code.ALERT_INVENTED),
        (lambda case: case.tell("silent", "2026-03-02T10:00:30Z", "12:30"), Code.ALERT_INVENTED),
    ],
)
def test_a_spoiled_history_is_found_out(spoil: Callable[[AlertCase], object], code: Code) -> None:
    case = sound()
    spoil(case)
    assert code in case.codes()


def test_fewer_failures_than_are_asked_for_are_not_told() -> None:
    policy: dict[str, Any] = {"notify": Notify(CHANNELS, on=("failure", "recovery"), after=2, remind=None)}
    assert AlertCase("fail", "ok", "fail", "ok", **policy).codes() == set()
    assert AlertCase("fail", "fail", "ok", **policy).codes() == {Code.ALERT_LOST}
    hasty = AlertCase("fail", "ok", **policy).tell("failure", key("10:00"), "10:00:30")
    hasty.tell("recovery", key("10:00"), "11:00:30", key("11:00"))
    assert hasty.codes() == {Code.ALERT_INVENTED}


def test_what_a_person_cancels_need_not_be_told() -> None:
    case = AlertCase("fail")
    case.case.change(
        Operation.CANCEL, "10:00:10", subject=key("10:00").partition("#")[0], verdict=Verdict.APPLIED
    )
    assert Code.ALERT_LOST not in case.codes()


def test_a_run_that_is_tried_again_has_not_failed() -> None:
    case = AlertCase("-", on_lost=OnLost.RESTART)
    case.case.run("10:00", outcome=Outcome.LOST, lost_at="10:01").fault(Trouble.DOWN, "10:00:20", "10:00:40")
    case.case.run("10:00", start="10:01:01", number=2, trigger=Trigger.LOST, node="b")
    assert not {code for code in case.codes() if code.startswith("ALERT")}
    case.tell("failure", key("10:00"), "10:01")
    assert Code.ALERT_INVENTED in case.codes()


def test_a_range_that_was_missed_is_told() -> None:
    def missed() -> AlertCase:
        case = AlertCase("ok", "-", "-", misfire=Misfire(mode=MisfireMode.SKIP))
        case.case.outage("10:30", "12:30").skip("11:00", "12:00", "missed by more than its grace")
        return case

    assert missed().codes() == {Code.ALERT_LOST}
    told = missed().tell("missed", "2026-03-02T11:00:00Z..2026-03-02T12:00:00Z", "12:30:05")
    told.tell("recovery", "2026-03-02T11:00:00Z..2026-03-02T12:00:00Z", "13:00:30", key("13:00"))
    assert told.codes() == set()


def test_a_slow_run_is_told() -> None:
    expect = Expect(finish_within=timedelta(minutes=10))
    case = AlertCase("-", expect=expect)
    case.case.run("10:00", takes=1200)
    assert case.codes() == {Code.ALERT_LOST}
    case.tell("slow", key("10:00"), "10:10").tell("recovery", key("10:00"), "10:20", key("10:00"))
    assert case.codes() == set()


def test_a_silence_is_told() -> None:
    expect = Expect(success_every=timedelta(hours=2))
    outcomes = ("ok", "fail", "fail", "fail", "ok")
    notify = Notify(CHANNELS, on=("silent",), remind=None)
    assert AlertCase(*outcomes, expect=expect, notify=notify).codes() == {Code.ALERT_LOST}
    told = AlertCase(*outcomes, expect=expect, notify=notify).tell(
        "silent", "2026-03-02T10:00:30Z", "12:00:30"
    )
    assert told.codes() == set()


def test_nobody_is_to_blame_if_no_node_with_the_channel_lived() -> None:
    case = AlertCase("fail").tell("failure", key("10:00"), "10:00:30", channels=("ops",))
    case.tell("recovery", key("10:00"), "11:00:30", key("11:00"), channels=("ops",))
    assert case.codes() == {Code.ALERT_LOST}
    hosts = (HostFact("a", None, ("ops",)), HostFact("b", None, ("ops",)))
    assert not check(replace(case.history(), hosts=hosts)).violations


@pytest.mark.parametrize(
    ("starts_at", "codes"), [("10:20", set()), ("10:00", {Code.EARLY}), ("10:40", {Code.LATE})]
)
def test_a_splayed_job_starts_when_its_splay_says(starts_at: str, codes: set[Code]) -> None:
    definition = Definition(Rule("0 10 * * *"), offset=timedelta(minutes=20))
    case = CaseBuilder("11:00").change(Operation.DECLARE, DAY, definition=definition)
    assert set(check(case.run("10:00", start=starts_at).history()).codes) == codes
