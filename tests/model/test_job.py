"""Jobs: what is refused, what cannot be changed, and what counts as the same definition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, cast

import pytest

from foliot.errors import InvalidJobError
from foliot.model.codec import decode_job, encode_job
from foliot.model.frozen import thaw
from foliot.model.job import Action, Job
from foliot.model.policy import Policy
from foliot.schedules import Cron, Once, Schedule
from model.codec_values import BACKUP


def with_data(**data: Any) -> Job:
    return replace(BACKUP, action=Action(kind="shell", data=data))


def circle() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


WEST = timezone(timedelta(hours=-5))
REFUSED: dict[str, tuple[str, Callable[[], object], str]] = {
    "an end without a zone": (
        "repeat_until",
        lambda: replace(BACKUP, repeat_until=datetime(2027, 1, 1)),
        "with a time zone",
    ),
    "an end that is a date": (
        "repeat_until",
        lambda: replace(BACKUP, repeat_until=cast("datetime", datetime(2027, 1, 1).date())),
        "with a time zone",
    ),
    "an end that UTC does not have": (
        "repeat_until",
        lambda: replace(BACKUP, repeat_until=datetime(9999, 12, 31, 23, tzinfo=WEST)),
        "must lie between",
    ),
    "an instant that UTC does not have": (
        "schedule",
        lambda: replace(BACKUP, schedule=Once("9999-12-31T23:59:00-05:00")),
        "must lie between",
    ),
    "an instant before which there is none": (
        "schedule",
        lambda: replace(BACKUP, schedule=Once("0001-01-01T00:00:00+00:00")),
        "must lie between",
    ),
    "a switch that is a number": (
        "enabled",
        lambda: replace(BACKUP, enabled=cast("bool", 1)),
        "True or False",
    ),
    "a switch that is a word": (
        "enabled",
        lambda: replace(BACKUP, enabled=cast("bool", "no")),
        "True or False",
    ),
    "a removal that is a word": (
        "auto_remove",
        lambda: replace(BACKUP, auto_remove=cast("bool", "yes")),
        "True or False",
    ),
    "a name that is a number": ("name", lambda: replace(BACKUP, name=cast("str", 5)), "printable text"),
    "a queue that is a number": ("queue", lambda: replace(BACKUP, queue=cast("str", 5)), "printable text"),
    "data that holds itself": ("action.data", lambda: with_data(a=circle()), "holds itself"),
    "data that is no mapping": (
        "action.data",
        lambda: Action(kind="shell", data=cast("dict[str, Any]", ["a"])),
        "must be a mapping",
    ),
}


@pytest.mark.parametrize(("field", "build", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_job_that_cannot_be_right_is_refused_when_it_is_made(
    field: str, build: Callable[[], object], reason: str
) -> None:
    with pytest.raises(InvalidJobError, match=reason) as caught:
        build()
    assert caught.value.details["field"] == field


@pytest.mark.parametrize("at", ["9999-12-29T18:59:00-05:00", "0001-01-03T00:00:00+05:00"])
def test_instants_close_to_the_ends_of_the_calendar_are_kept(at: str) -> None:
    job = replace(BACKUP, schedule=Once(at))
    assert decode_job(encode_job(job)) == job


# -- data --------------------------------------------------------------------------------------------


def test_whoever_gave_the_data_cannot_change_it_any_more() -> None:
    given: dict[str, Any] = {"to": ["a"], "options": {"cc": ["b"]}}
    action = Action(kind="mail", data=given)
    given["to"].append("c")
    given["options"]["cc"].append("d")
    assert thaw(action.data) == {"to": ["a"], "options": {"cc": ["b"]}}


def test_whoever_holds_the_data_cannot_change_it_at_any_depth() -> None:
    data: Any = Action(kind="mail", data={"to": ["a"], "options": {"cc": ["b", {"x": 1}]}}).data
    for inner, key in ((data, "to"), (data["options"], "cc"), (data["options"]["cc"][1], "x")):
        with pytest.raises(TypeError):
            inner[key] = None
    assert isinstance(data["to"], tuple)
    assert isinstance(data["options"]["cc"], tuple)


def test_a_thawed_copy_is_ones_own() -> None:
    action = Action(kind="mail", data={"to": ["a", {"b": []}]})
    own = thaw(action.data)
    own["to"][1]["b"].append("c")
    assert thaw(action.data) == {"to": ["a", {"b": []}]}


def test_frozen_data_comes_back_from_its_text_and_a_tuple_is_a_list() -> None:
    job = with_data(a=(1, [2, (3,)]), b={"c": [{"d": None}]})
    assert decode_job(encode_job(job)) == job == with_data(a=[1, [2, [3]]], b={"c": [{"d": None}]})


# -- the same definition -----------------------------------------------------------------------------

SAME: dict[str, tuple[Job, Job]] = {
    "made twice": (with_data(a=[1, {"b": None}]), with_data(a=[1, {"b": None}])),
    "in another order": (with_data(a=1, b=2), with_data(b=2, a=1)),
    "read elsewhere": (BACKUP, replace(BACKUP, revision="2")),
    "with fields of a newer version": (BACKUP, replace(BACKUP, extra={"colour": "red"})),
}
DIFFERENT: dict[str, tuple[Job, Job]] = {
    "1 and true": (with_data(n=1), with_data(n=True)),
    "1 and 1.0": (with_data(n=1), with_data(n=1.0)),
    "0 and false, inside": (with_data(n=[{"m": 0}]), with_data(n=[{"m": False}])),
    "one more": (with_data(n=[1]), with_data(n=[1, 1])),
    "a field more": (with_data(n=1), with_data(n=1, m=None)),
    "none and absent": (with_data(n=None), with_data(m=None)),
    "a list and an object": (with_data(n=[]), with_data(n={})),
    "kind": (BACKUP, replace(BACKUP, action=replace(BACKUP.action, kind="http"))),
    "schedule": (BACKUP, replace(BACKUP, schedule=cast("Schedule", Cron("0 4 * * *")))),
    "queue": (BACKUP, replace(BACKUP, queue="other")),
    "policy": (BACKUP, replace(BACKUP, policy=Policy(timeout=timedelta(1)))),
    "enabled": (BACKUP, replace(BACKUP, enabled=False)),
    "repeat_until": (BACKUP, replace(BACKUP, repeat_until=datetime(2027, 1, 1, tzinfo=UTC))),
    "auto_remove": (BACKUP, replace(BACKUP, auto_remove=True)),
}


@pytest.mark.parametrize(("one", "other"), SAME.values(), ids=SAME)
def test_these_say_the_same(one: Job, other: Job) -> None:
    assert one.says_the_same(other)
    assert other.says_the_same(one)


@pytest.mark.parametrize(("one", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_these_do_not(one: Job, other: Job) -> None:
    assert not one.says_the_same(other)
    assert not other.says_the_same(one)
