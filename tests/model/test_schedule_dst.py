"""Rules that say `dst` or speak Vixie's dialect, as they are stored: older programs pass over them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from foliot.errors import DamagedRecordError
from foliot.model.codec import decode_job, encode_job
from foliot.model.job import Action, Job
from foliot.schedules import Cron


def stored(rule: Cron) -> dict[str, Any]:
    job = Job(source="s", name="j", schedule=rule, action=Action(kind="k"))
    assert decode_job(encode_job(job)) == job
    written: dict[str, Any] = json.loads(encode_job(job))["schedule"]
    return written


def test_a_rule_that_is_exact_is_stored_as_ever() -> None:
    assert stored(Cron("@daily")) == {"cron": "@daily", "timezone": "UTC", "dialect": "standard"}


def test_what_is_new_has_a_field_that_older_programs_do_not_know() -> None:
    assert stored(Cron("@daily", dst="once"))["dst"] == "once"
    assert stored(Cron("@daily", dialect="vixie"))["dst"] == "exact"


@pytest.mark.parametrize(("field", "value"), [("dst", "twice"), ("dialect", "quartz")])
def test_a_value_of_a_newer_program_is_unknown_here_and_no_damage(field: str, value: str) -> None:
    job = Job(source="s", name="j", schedule=Cron("@daily", dst="once"), action=Action(kind="k"))
    data = json.loads(encode_job(job))
    data["schedule"][field] = value
    with pytest.raises(DamagedRecordError) as caught:
        decode_job(json.dumps(data))
    assert (caught.value.flaw, caught.value.details["field"]) == ("unknown_here", f"schedule.{field}")
