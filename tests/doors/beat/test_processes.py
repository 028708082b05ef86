"""Schedulers as processes of their own, some of which are killed with -9."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from doors.beat.scene import CLOCK, Place, Recorder, eventually, running, yearly
from foliot.testing.servers import RedisServer
from programs import PATIENCE, Program

PROGRAM = Path(__file__).with_name("program.py")
EVERY = 10  # seconds, between the occurrences of the schedules that are killed
HOW_LONG = timedelta(seconds=int(os.environ.get("FOLIOT_BEAT_SECONDS", "35")))
Launch = Callable[..., Program]


@pytest.fixture
def launch(place: Place, tmp_path: Path) -> Iterator[Launch]:
    with ExitStack() as stack:

        def start(*schedules: dict[str, Any], **options: Any) -> Program:
            text = json.dumps({"schedules": schedules, **options})
            words = (sys.executable, str(PROGRAM), place.url, place.prefix, text)
            return stack.enter_context(Program(tmp_path, *words))

        yield start


def out(place: Place) -> list[dict[str, str]]:
    """What the queue has got."""
    rows: Any = place.client.lrange(f"{place.prefix}:out", 0, -1)
    return [json.loads(row) for row in rows]


def until(is_so: Callable[[], Any]) -> None:
    give_up_at = CLOCK.monotonic() + 2 * PATIENCE
    while not is_so():
        assert CLOCK.monotonic() < give_up_at
        CLOCK.sleep(0.01)


@pytest.mark.prove
@pytest.mark.req("BAN-11", "BAN-27")
def test_the_successor_of_a_node_that_died_enqueues_the_same_job_and_the_state_agrees(
    place: Place, launch: Launch
) -> None:
    schedule = {"id": "a", "cron": "@yearly", "job": "work"}
    killed = launch(schedule, dies=True)
    until(lambda: out(place))
    killed.process.wait(PATIENCE)
    assert place.client.exists(place.lock_key("a")), "it had no time to release its lock"
    assert not place.state("a")

    successor = launch(schedule)
    until(lambda: place.state("a"))
    successor.end(signal.SIGTERM)

    first, second = out(place)
    assert first["id"] == second["id"] == place.state("a")["last_job_id"]
    assert (first["attempt"], second["attempt"]) == ("1", "2")
    assert place.state("a")["run_count"] == "1"
    assert place.state("a")["last_run"] == second["scheduled_at"]
    assert not place.client.exists(place.lock_key("a"))


@pytest.mark.prove
@pytest.mark.req("BAN-20", "BAN-22")
def test_a_zone_that_a_node_does_not_know_is_passed_over_by_that_node_only(
    place: Place, launch: Launch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "zones"
    (home / "Mars").mkdir(parents=True)
    (home / "Mars" / "Base").write_bytes(_zone_file("Etc/UTC"))
    known = {"id": "known", "cron": "@every 1s", "job": "work"}
    mars = {"id": "mars", "cron": "@every 1s", "job": "work", "timezone": "Mars/Base"}

    def of(schedule: str) -> list[dict[str, str]]:
        return [row for row in out(place) if row["schedule_id"] == schedule]

    monkeypatch.setenv("PYTHONTZPATH", str(home))
    first = launch(known, added=[mars])
    until(lambda: of("mars"))
    first.end(signal.SIGTERM)
    key: Any = place.client.zrange(f"{{{place.prefix}}}:keys", 0, -1)
    assert f"{place.prefix}.added/mars" in key

    monkeypatch.delenv("PYTHONTZPATH")
    second = launch(known)
    line = json.loads(second.read_until("Failed to calculate next run"))
    count = len(of("known"))
    until(lambda: len(of("known")) > count)

    assert (line["level"], line["schedule_id"]) == ("ERROR", "mars")
    assert "Mars/Base" in line["error"]
    mine = len(of("mars"))
    monkeypatch.setenv("PYTHONTZPATH", str(home))
    third = launch(known)
    until(lambda: len(of("mars")) > mine)
    for program in (second, third):
        program.end(signal.SIGTERM)
    assert {row["pid"] for row in of("mars")[mine:]} == {str(third.process.pid)}


def _zone_file(name: str) -> bytes:
    from importlib.resources import files  # noqa: PLC0415 - of the package tzdata

    folder, file = name.split("/")
    return (files("tzdata") / "zoneinfo" / folder / file).read_bytes()


@pytest.mark.prove
@pytest.mark.req("BAN-06", "BAN-27")
def test_kills_neither_double_nor_lose_an_occurrence(place: Place, launch: Launch) -> None:
    schedules = [{"id": f"s{n}", "cron": f"@every {EVERY}s", "job": "work"} for n in range(200)]
    programs = [launch(*schedules) for _ in range(5)]
    until(lambda: len(out(place)) >= len(schedules))
    begun_at = CLOCK.monotonic()
    kills = 0
    while CLOCK.monotonic() - begun_at < HOW_LONG.total_seconds():
        due = CLOCK.monotonic() + 5
        while CLOCK.monotonic() < due:
            programs[kills % 5].process.poll()
        programs[kills % 5].process.kill()
        programs[kills % 5] = launch(*schedules)
        kills += 1
    count = len(out(place))
    until(lambda: len(out(place)) >= count + len(schedules))
    for program in programs:
        program.end(signal.SIGTERM)

    ids: dict[tuple[str, str], set[str]] = defaultdict(set)
    times: dict[str, set[datetime]] = defaultdict(set)
    for row in out(place):
        ids[row["schedule_id"], row["scheduled_for"]].add(row["id"])
        times[row["schedule_id"]].add(datetime.fromisoformat(row["scheduled_for"]))
    assert {len(some) for some in ids.values()} == {1}, "an occurrence is known by its job's id"
    assert len({id_ for some in ids.values() for id_ in some}) == len(ids)
    assert len(times) == len(schedules)
    for some in times.values():
        gaps = {following - one for one, following in pairwise(sorted(some))}
        assert gaps == {timedelta(seconds=EVERY)}, "none is missing"
    doubled = len(out(place)) - len(ids)
    assert doubled <= 100 * kills, "only what was under way at a kill comes again, with its id"


@pytest.mark.prove
def test_a_store_that_was_emptied_gets_its_schedules_back_and_nothing_fires_again(
    place: Place, server: RedisServer, launch: Launch
) -> None:
    own = Place(server.url, place.prefix)
    place.url = server.url
    schedules = [{"id": f"s{n}", "cron": "@yearly", "job": "work"} for n in range(5)]
    program = launch(*schedules)
    until(lambda: len(out(own)) == 5 and own.state("s4"))

    server.ask("FLUSHALL")
    until(lambda: own.client.zcard(f"{{{own.prefix}}}:keys") == 5)  # of the jobs of the store
    program.end(signal.SIGTERM)

    assert out(own) == [], "each had been enqueued by this process"
    own.client.close()


@pytest.mark.prove
@pytest.mark.req("BAN-10", "BAN-11")
def test_what_was_enqueued_while_redis_is_away_is_written_when_it_is_back_and_not_repeated(
    server: RedisServer, queue: Recorder
) -> None:
    place = Place(server.url, "bananas")

    async def act() -> None:
        queue.gate = asyncio.Event()
        async with running(place.scheduler(queue, yearly("a"))):
            await eventually(lambda: queue.calls)
            await asyncio.to_thread(server.stop, immediate=True)
            queue.gate.set()
            await eventually(lambda: queue.jobs)
            await asyncio.to_thread(server.start)
            await eventually(lambda: place.state("a"))

    asyncio.run(act())
    assert len(queue.calls) == 1
    assert place.state("a")["run_count"] == "1"
    assert not place.client.exists(place.lock_key("a"))
    place.client.close()
