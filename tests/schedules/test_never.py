"""A job without a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from foliot.errors import DamagedRecordError, NaiveInstantError
from foliot.model.codec import decode_job, encode_job
from foliot.model.job import Action, Job
from foliot.schedules import Never, Schedule
from foliot.schedules.explain import explain
from foliot.schedules.lint import lint

NOW = datetime(2026, 11, 15, tzinfo=UTC)


@pytest.mark.req("OWN-21")
@pytest.mark.parametrize("rule", [Never(), Never(at_boot=True)])
def test_it_has_no_occurrence(rule: Schedule) -> None:
    assert rule.next_after(NOW) is rule.previous(NOW) is None
    assert rule.upcoming(NOW, 5) == []
    assert rule.count(NOW - timedelta(days=9999), NOW) == 0
    assert not rule.matches(NOW)
    assert lint(rule, NOW) == []
    with pytest.raises(NaiveInstantError):
        rule.next_after(NOW.replace(tzinfo=None))


def test_it_says_itself() -> None:
    assert [str(Never()), str(Never(at_boot=True))] == ["never", "@reboot"]
    assert explain(Never()) == "only when it is asked for"
    assert explain(Never(at_boot=True)) == "once after each boot"


@pytest.mark.parametrize("rule", [Never(), Never(at_boot=True)])
def test_it_is_stored_and_read_again(rule: Schedule) -> None:
    job = Job(source="s", name="a", schedule=rule, action=Action(kind="x"))
    assert decode_job(encode_job(job)).schedule == rule


@pytest.mark.parametrize("schedule", ['{"never":"at noon"}', '{"moon":"full"}'])
def test_what_a_newer_version_wrote_is_left_to_nodes_that_know_it(schedule: str) -> None:
    job = Job(source="s", name="a", schedule=Never(), action=Action(kind="x"))
    text = encode_job(job).replace('{"never":"never"}', schedule)
    with pytest.raises(DamagedRecordError) as caught:
        decode_job(text)
    assert caught.value.flaw == "unknown_here"
