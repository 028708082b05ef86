"""Several beats at once, a real worker and a real broker: each occurrence becomes one task, whoever dies."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from doors.celery_beat.beat_programs import PATIENCE, Programs, programs
from foliot.testing.servers import MissingServerError, redis_server
from real_postgres import do_without

pytestmark = pytest.mark.prove  # processes that live for many seconds


@pytest.fixture
def crew(tmp_path: Path) -> Iterator[Programs]:
    try:
        with redis_server("redis") as server:
            store = server.url.removesuffix("/0") + "/1"
            with programs(tmp_path, server.url, store) as made:
                yield made
    except MissingServerError as error:
        do_without(error)


def seconds(notes: list[list[str]]) -> list[datetime]:
    """The occurrences of notes, in order."""
    return sorted(datetime.fromisoformat(key.partition("@")[2]).astimezone(UTC) for key, *_ in notes)


@pytest.mark.req("OWN-22")
def test_two_beats_send_each_occurrence_once_even_if_one_is_killed(crew: Programs) -> None:
    crew.worker()
    first, second = crew.beat(), crew.beat()
    crew.wait_for(10)

    first.kill()
    crew.wait_for(len(crew.notes()) + 10)
    second.send_signal(signal.SIGTERM)
    assert second.wait(PATIENCE) == 0, crew.logs()
    notes = crew.notes()

    keys = [key for key, *_ in notes]
    tries = {key: {attempt for other, attempt, *_ in notes if other == key} for key in keys}
    # A beat that is killed while it sends cannot know whether it has: that run, and no other, is sent again.
    again = [key for key in set(keys) if keys.count(key) > 1]
    assert len(again) <= 1
    assert all(len(tries[key]) == keys.count(key) for key in again)
    assert len({task for *_, task, _ in notes}) == len(set(keys))
    told = seconds(notes)
    gaps = [later - earlier for earlier, later in pairwise(told)]
    assert sum(gap > timedelta(seconds=1) for gap in gaps) <= len(gaps) / 2, (
        "beats stood still most of the time"
    )


def test_a_beat_within_a_worker_and_the_command_of_foliot_share_the_work(crew: Programs) -> None:
    crew.worker("-B", "--scheduler", "foliot")
    ours = crew.start("foliot", "beat", "-A", "proj")
    notes = crew.wait_for(10)
    ours.send_signal(signal.SIGTERM)

    assert ours.wait(PATIENCE) == 0, crew.logs()
    keys = [key for key, *_ in notes]
    assert len(keys) == len(set(keys))
    crew.wait_for(len(crew.notes()) + 3)  # the beat within the worker goes on


def test_a_restart_sends_nothing_twice(crew: Programs) -> None:
    crew.worker()
    beat = crew.beat()
    crew.wait_for(3)
    beat.send_signal(signal.SIGTERM)
    assert beat.wait(PATIENCE) == 0, crew.logs()
    before = len(crew.notes())

    crew.beat()
    notes = crew.wait_for(before + 3)

    keys = [key for key, *_ in notes]
    assert len(keys) == len(set(keys))
