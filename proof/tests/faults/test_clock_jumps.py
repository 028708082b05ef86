"""R7: a clock is set by an hour, back and forth, under programs that run (libfaketime).

On SQLite the store's time is the machine's: all nodes see it jump. On a server it is the server's: when that
jumps nobody is buried, and a node with a wrong clock of its own is as good as any other.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from faketime import environment, library
from faults.stage import Stage, staged
from foliot.model.attempt import Outcome
from foliot.testing.servers import MissingServerError
from foliot_proof.history.facts import History
from foliot_proof.stores import KINDS, TriedServer
from real_postgres import do_without, shared_url
from real_redis import redis_url_of
from stores.postgres.opening import fresh
from stores.redis.opening import fresh as fresh_redis

HOUR = 3600


def ticks(stage: Stage) -> int:
    return sum(note.facts["job"] == "app/tick" for note in stage.notes("start"))


def has_ticked(stage: Stage, times: int) -> bool:
    return ticks(stage) > times


def told(stage: Stage, event: str) -> set[int]:
    """By how many seconds, to the nearest minute, the log says that a clock was off."""
    return {round(float(by) / 60) * 60 for by in re.findall(rf"^{event} by=(\S+)", stage.log, re.MULTILINE)}


def assert_nothing_ran_twice(history: History) -> None:
    seen = Counter((line.run_key, line.number, line.what) for line in history.witness)
    assert max(seen.values()) == 1, seen.most_common(3)
    runs = Counter((a.job, a.scheduled_for, a.request, a.number) for a in history.attempts)
    assert max(runs.values()) == 1


def test_the_clock_of_the_machine_and_of_all_its_nodes_jumps(tmp_path: Path) -> None:
    file = tmp_path / "time"
    file.write_text("+0")
    faked = environment(library(), file)

    async def act() -> None:
        async with staged(tmp_path / "store.db", tmp_path, faked, faked) as stage:
            await stage.start()
            await stage.until(lambda: ticks(stage) > 2, 15)
            file.write_text(f"-{HOUR}")
            await stage.wait(2.5)
            before = ticks(stage)
            await stage.wait(2)
            assert ticks(stage) == before, "an hour back: all of it was served already"
            file.write_text("+0")
            await stage.until(lambda: ticks(stage) > before + 1, 5)
            before = ticks(stage)
            file.write_text(f"+{HOUR}")
            await stage.until(lambda: ticks(stage) > before + 2, 8)
            await stage.wait(3)
            assert ticks(stage) - before < 10, "an hour forth: 3600 were missed, and one run stands for them"
            await stage.stop()
            _, history = await stage.judge()
            assert_nothing_ran_twice(history)
            assert [a for a in history.attempts if a.covers_from and a.job == "app/tick"], (
                "one stands for many"
            )
            lost = [a.run_key for a in history.attempts if a.outcome is Outcome.LOST]
            assert not lost, "nobody has missed a heartbeat, so nobody is to be buried"
            jumps = told(stage, "clock_jumped")
            assert -HOUR in jumps
            assert jumps & {HOUR, 2 * HOUR}, "two jumps between two heartbeats are told as one"

    asyncio.run(act())


def test_the_clock_of_the_machine_is_set_back_by_hours_and_jobs_go_on(tmp_path: Path) -> None:
    file = tmp_path / "time"
    file.write_text("+0")
    faked = environment(library(), file)

    async def act() -> None:
        async with staged(tmp_path / "store.db", tmp_path, faked, faked) as stage:
            await stage.start()
            await stage.until(lambda: ticks(stage) > 2, 30)
            before = ticks(stage)
            file.write_text(f"-{4 * HOUR}")
            await stage.until(partial(has_ticked, stage, before + 3), 30)
            await stage.stop()
            before = ticks(stage)
            file.write_text(f"-{8 * HOUR}")  # and again, while nobody lives
            await stage.start()
            await stage.until(partial(has_ticked, stage, before + 3), 30)
            await stage.stop()
            _, history = await stage.judge()
            assert_nothing_ran_twice(history)
            assert not [a.run_key for a in history.attempts if a.outcome is Outcome.LOST]
            assert told(stage, "clock_jumped") == {-4 * HOUR}
            assert "clock_corrected job=" in stage.log

    asyncio.run(act())


@pytest.mark.parametrize("kind", ["postgres", "redis"])
def test_the_clock_of_one_node_jumps_and_that_of_the_server_does_not(kind: str, tmp_path: Path) -> None:
    url = fresh(shared_url()) if kind == "postgres" else fresh_redis(redis_url_of(kind))
    file = tmp_path / "time"
    file.write_text("+0")

    async def act() -> None:
        async with staged(url, tmp_path, environment(library(), file), {}) as stage:
            await stage.start()
            await stage.until(lambda: ticks(stage) > 2, 15)
            for jump in (f"+{HOUR}", "+0", f"-{HOUR}"):
                file.write_text(jump)
                before = ticks(stage)
                await stage.until(partial(has_ticked, stage, before + 3), 10)
            await stage.wait(4)
            await stage.stop()
            report, history = await stage.judge()
            assert report.is_clean, f"{report}\n{stage.log[-2000:]}"
            assert_nothing_ran_twice(history)
            assert len({a.node for a in history.attempts if a.node}) == len(stage.hosts), "both have worked"
            assert told(stage, "clock_skewed") == {-HOUR, HOUR}
            assert told(stage, "clock_jumped") == set()

    asyncio.run(act())


@pytest.mark.parametrize("kind", ["postgres", "valkey"])
def test_the_clock_of_the_server_jumps_and_nobody_is_buried(kind: str, tmp_path: Path) -> None:
    library()

    async def act(server: TriedServer) -> None:
        async with staged(server.url, tmp_path, {}, {}) as stage:
            await stage.start()
            await stage.until(lambda: ticks(stage) > 2, 30)
            for offset in (HOUR, 3 * HOUR):
                before = ticks(stage)
                server.set_clock(offset)
                await stage.until(partial(has_ticked, stage, before + 5), 30)
            await stage.stop()
            _, history = await stage.judge()
            assert_nothing_ran_twice(history)
            assert not [a.run_key for a in history.attempts if a.outcome is Outcome.LOST]
            assert "lease_lost" not in stage.log
            assert "node_declared_dead" not in stage.log
            assert told(stage, "clock_jumped") == {HOUR, 2 * HOUR}

    try:
        with KINDS[kind].serve(has_clock=True) as server:
            asyncio.run(act(server))
    except MissingServerError as error:
        do_without(error)
