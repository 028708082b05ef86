"""Who is told of a job, and what is expected of it: as values, and as texts."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta

import pytest

from foliot.errors import DamagedRecordError, InvalidPolicyError
from foliot.model.alert import AlertKind
from foliot.model.policy import USUAL_ALERTS, Expect, Notify, Policy
from foliot.model.policy_codec import decode_policy, encode_policy
from foliot.model.watch import MOST_OUTCOMES, Watch


def test_one_channel_or_several_kinds_as_words_durations_as_texts() -> None:
    notify = Notify("ops", on=["recovery", "failure", "failure"], after=2, remind="12h")

    assert notify == Notify(["ops", "ops"], on=("failure", "recovery"), after=2, remind=timedelta(hours=12))
    assert notify.to == ("ops",)
    assert notify.on == (AlertKind.FAILURE, AlertKind.RECOVERY)
    assert Expect(start_within="10m").start_within == timedelta(minutes=10)  # type: ignore[arg-type]


def test_what_is_usual() -> None:
    notify = Notify("ops")

    assert (notify.on, notify.after, notify.remind) == (USUAL_ALERTS, 1, timedelta(days=1))
    assert not {AlertKind.OUTPUT, AlertKind.SKIPPED} & set(notify.on)


def test_a_job_is_watched_if_a_channel_is_to_be_told() -> None:
    assert Policy(notify=Notify("ops")).is_watched
    assert Policy(ping="hc").is_watched
    assert not Policy(notify=Notify(())).is_watched
    assert not Policy(expect=Expect(success_every=timedelta(hours=1))).is_watched
    assert not Policy().is_watched


WRONG: dict[str, Callable[[], object]] = {
    "notify.to": lambda: Notify("two words"),
    "notify.to slash": lambda: Notify("a/b"),
    "notify.to number": lambda: Notify(5),  # type: ignore[arg-type]
    "notify.on": lambda: Notify("ops", on=["fire"]),
    "notify.after": lambda: Notify("ops", after=0),
    "notify.remind": lambda: Notify("ops", remind="0s"),
    "expect.start_within": lambda: Expect(start_within="soon"),  # type: ignore[arg-type]
    "expect.success_every": lambda: Expect(success_every=timedelta(0)),
    "notify": lambda: Policy(notify="ops"),  # type: ignore[arg-type]
    "ping": lambda: Policy(ping="two words"),
    "expect": lambda: Policy(expect=5),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_named(what: str) -> None:
    with pytest.raises(InvalidPolicyError) as caught:
        WRONG[what]()
    assert caught.value.details["field"] == what.partition(" ")[0]


def test_a_policy_without_them_has_the_text_that_it_has_always_had() -> None:
    text = encode_policy(Policy())

    assert not {"notify", "expect"} & json.loads(text).keys()
    assert decode_policy(text) == Policy()


def test_a_policy_with_them_comes_back() -> None:
    policy = Policy(notify=Notify(["ops", "admins"], remind=None), expect=Expect(finish_within=timedelta(1)))

    assert decode_policy(encode_policy(policy)) == policy


def test_a_text_that_cannot_be_right_is_damage() -> None:
    data = json.loads(encode_policy(Policy(notify=Notify("ops"))))
    for field, wrong in {"to": "ops", "on": ["fire"], "after": -1}.items():
        with pytest.raises(DamagedRecordError, match=rf"notify\.{field}"):
            decode_policy(json.dumps(data | {"notify": data["notify"] | {field: wrong}}))


def test_a_watch_that_remembers_too_much_is_cut() -> None:
    assert Watch.from_json('{"outcomes":"+-x' + "+" * 40 + '"}').outcomes == "+" * MOST_OUTCOMES


def test_a_ping_is_kept_and_a_policy_without_one_has_the_text_of_before() -> None:
    assert decode_policy(encode_policy(Policy(ping="hc"))) == Policy(ping="hc")
    assert "ping" not in encode_policy(Policy())


def test_the_kinds_that_pings_are_made_of_are_nobodys_choice() -> None:
    assert not {AlertKind.ENDED, AlertKind.TRIED} & set(Notify("ops", on=AlertKind).on)
