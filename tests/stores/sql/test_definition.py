"""Jobs come back from their texts as they were, though they are put together without the checks."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from foliot.errors import DamagedRecordError
from foliot.model.job import Action, Job
from foliot.model.policy import Policy
from foliot.schedules import Once
from foliot.stores.sql.definition import Reader, Writer

AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
PLAIN = Job(source="shop", name="a/b", schedule=Once(AT), action=Action(kind="post", data={"user": 1}))
# Nothing here is as it would be by itself.
RICH = Job(
    source="shop",
    name="cleanup",
    schedule=Once(AT),
    action=Action(kind="post", data={"user": 1, "tags": ["a", {"b": None}]}),
    queue="slow",
    policy=Policy(timeout=timedelta(minutes=5)),
    enabled=False,
    repeat_until=AT + timedelta(days=1),
    auto_remove=True,
    group="db",
    revision="r1",
    extra={"of": "tomorrow"},
)
BARE = replace(PLAIN, action=Action(kind="post"))


def read(reader: Reader, job: Job) -> Job:
    frame, data, policy = Writer().texts(job)
    return reader.job(job.key, frame, data, policy)


@pytest.mark.parametrize("job", [PLAIN, RICH, BARE])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_a_job_comes_back_in_every_field_however_often_it_is_read(job: Job, times: int) -> None:
    reader = Reader()

    found = [read(reader, job) for _ in range(times)][-1]

    assert type(found) is Job
    assert type(found.action) is Action
    for field in fields(Job):
        assert getattr(found, field.name) == getattr(job, field.name), field.name


def test_what_was_read_is_frozen_at_every_depth() -> None:
    found: Any = read(Reader(), RICH)

    for change in (
        lambda: setattr(found, "name", "x"),
        lambda: setattr(found.action, "kind", "x"),
        lambda: found.action.data.update(user=2),
        lambda: found.action.data["tags"][1].update(b=2),
    ):
        with pytest.raises((AttributeError, TypeError)):
            change()
    assert isinstance(found.action.data["tags"], tuple)


def test_what_is_read_a_second_time_is_kept_until_it_changes() -> None:
    reader = Reader()
    first, second, third = (read(reader, PLAIN) for _ in range(3))

    assert first is not second
    assert third is second
    assert read(reader, replace(PLAIN, queue="slow")).queue == "slow"
    assert read(reader, PLAIN).queue == "default"


def test_jobs_of_two_groups_share_no_frame() -> None:
    writer = Writer()
    frames = {writer.texts(replace(PLAIN, group=group)).frame for group in (None, "db", "disk")}
    assert len(frames) == 3


def test_a_frame_of_another_source_is_damage() -> None:
    frame, data, policy = Writer().texts(PLAIN)

    with pytest.raises(DamagedRecordError, match="is not that of elsewhere/a"):
        Reader().job("elsewhere/a", frame, data, policy)
