"""Many jobs of one call share what they have in common, and are checked all the same."""

from __future__ import annotations

from typing import Any

import pytest

from foliot import Cron, Every, Once
from foliot.app.options import Rules, Template
from foliot.app.registry import Registry
from foliot.errors import FoliotError, InvalidJobError
from foliot.model.job import Action, Job
from foliot.schedules import Schedule

AT = "2030-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("* * * * *", "* * * * *"),
        ("0 7 * * *", Cron("0 7 * * *")),
        (Every("1h"), Every("60m")),
        (Once(AT), Once("2030-01-01T01:00:00+01:00")),
    ],
)
def test_equal_schedules_are_one_object(one: Schedule | str, other: Schedule | str) -> None:
    rules = Rules()
    assert rules.of(one) is rules.of(other) is rules.of(one)


def test_schedules_that_say_something_else_stay_apart() -> None:
    rules = Rules()
    given: list[Schedule | str] = [
        "0 7 * * *",
        Cron("0 7 * * *", timezone="Europe/Berlin"),
        "00 7 * * *",
        Every("1h"),
        Once(AT),
    ]
    assert len({id(rules.of(schedule)) for schedule in given}) == len(given)
    assert [str(rules.of(schedule)) for schedule in given] == [str(schedule) for schedule in given]


@pytest.mark.parametrize("wrong", [[1], None, "no cron", 5])
def test_what_is_no_schedule_is_refused_each_time(wrong: Any) -> None:
    rules = Rules()
    for _ in range(2):
        with pytest.raises(FoliotError):
            rules.of(wrong)


@pytest.mark.parametrize("schedule", [Every("1h"), Once(AT)])
def test_a_job_like_one_before_is_what_it_would_be_by_itself(schedule: Schedule) -> None:
    template, action = Template("s", {"queue": "q", "timeout": "5m"}), Action(kind="k", data={"a": 1})
    first, second = (template.scheduled(name, schedule, action) for name in ("a", "b"))
    alone = Template("s", {"queue": "q", "timeout": "5m"}).scheduled("b", schedule, action)
    assert (second, type(second), hash(second.key)) == (alone, Job, hash(alone.key))
    assert second.policy is first.policy
    with pytest.raises(AttributeError):
        second.name = "c"  # type: ignore[misc] # that is the point


@pytest.mark.parametrize("name", ["", "a\nb", 5, "x" * 201])
def test_a_name_is_checked_also_if_the_rest_is_known(name: Any) -> None:
    template, schedule, action = Template("s", {}), Every("1h"), Action(kind="k")
    template.scheduled("fine", schedule, action)
    with pytest.raises(InvalidJobError, match="name"):
        template.scheduled(name, schedule, action)


def test_a_payload_must_fit_the_function_as_it_is_now() -> None:
    registry = Registry()

    def greet(name: str, times: int = 1) -> None: ...

    registry.add_function("greet", greet)
    for payload in ({"name": "a"}, {"times": 2, "name": "b"}, {"name": "c"}):
        assert registry.action("greet", payload).data == payload
    for wrong in ({}, None, {"name": "a", "size": 1}, {"times": 1}):
        with pytest.raises(InvalidJobError, match="does not fit"):
            registry.action("greet", wrong)

    def changed(size: int) -> None: ...

    changed.__qualname__, changed.__module__ = greet.__qualname__, greet.__module__
    registry.add_function("greet", changed)
    with pytest.raises(InvalidJobError, match="does not fit"):
        registry.action("greet", {"name": "a"})


@pytest.mark.parametrize("value", ["a\0b", "\ud800", float("nan"), 2**63, {1}, object()])
def test_what_json_cannot_say_is_refused_when_it_is_scheduled(value: object) -> None:
    registry = Registry()
    registry.add_function("take", lambda x: x)
    with pytest.raises(InvalidJobError, match=r"payload\.x"):
        registry.action("take", {"x": value})


def test_what_the_caller_does_to_its_payload_later_does_not_change_the_job() -> None:
    registry = Registry()
    registry.add_function("take", lambda x: x)
    payload = {"x": 1}
    action = registry.action("take", payload)
    payload["x"] = 2
    assert action.data == {"x": 1}
