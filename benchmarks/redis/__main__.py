"""`python -m benchmarks.redis [--runs N] [--jobs N] [--rounds N] [--kind redis|valkey]`: prints JSON."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable
from datetime import timedelta
from statistics import median
from time import process_time
from typing import Any
from uuid import uuid4

from benchmarks.fire.batches import BARE, LEASE, STORE, claim_and_finish, declare_all
from benchmarks.redis.bare import bare_loop
from benchmarks.redis.hold import hold
from foliot.stores.redis import RedisStore
from foliot.stores.redis.address import read_address
from foliot.stores.redis.durability import look_at
from foliot.stores.redis.wire import Wire
from foliot.testing.servers import redis_server

BATCH = 500


def through_the_store(url: str, runs: int, batch: int) -> float:
    """Seconds for so many runs."""

    async def work() -> float:
        async with RedisStore(url, lease=LEASE) as store:
            return await claim_and_finish(store, runs, batch)

    return asyncio.run(work())


async def prepare(url: str, runs: int) -> None:
    """Jobs that are due."""
    async with RedisStore(url, lease=LEASE) as store:
        await declare_all(store, runs)


def speed(url: str, wire: Wire, runs: int, rounds: int) -> dict[str, Any]:
    """Both in turns, each on jobs of its own. Processor time tells more than rates on a busy machine."""
    works: dict[str, Callable[[str, int, int], float]] = {STORE: through_the_store, BARE: bare_loop}
    seen: dict[str, list[tuple[float, float, float]]] = {name: [] for name in works}
    for turn in range(rounds):
        for name in sorted(works, reverse=bool(turn % 2)):
            place = f"{url}?namespace={uuid4().hex}"
            asyncio.run(prepare(place, runs))
            ours, servers = process_time(), _server_time(wire)
            seconds = works[name](place, runs, BATCH)
            ours, servers = process_time() - ours, _server_time(wire) - servers
            seen[name].append((runs / seconds, 1e6 * ours / runs, 1e6 * servers / runs))
    found: dict[str, Any] = {}
    for name, rows in seen.items():
        rate, python, server = (median(column) for column in zip(*rows, strict=True))
        found[name] = {
            "runs_per_second": round(rate), "python_us": round(python, 1), "server_us": round(server, 1),
        }  # fmt: skip
    store, bare = found[STORE], found[BARE]
    found["ratio"] = round(store["runs_per_second"] / bare["runs_per_second"], 3)
    found["cpu_ratio"] = round(_cpu(bare) / _cpu(store), 3)
    return found


def _cpu(row: dict[str, float]) -> float:
    return row["python_us"] + row["server_us"]


def _server_time(wire: Wire) -> float:
    text = wire.ask("INFO", "cpu").decode()
    facts = dict(line.split(":") for line in text.splitlines() if ":" in line)
    return float(facts["used_cpu_user"]) + float(facts["used_cpu_sys"])


def memory(url: str, wire: Wire, jobs: int) -> dict[str, float]:
    """Bytes of the server for a job, and for an attempt that is kept."""
    place = f"{url}?namespace={uuid4().hex}"
    before = look_at(wire).memory or 0
    asyncio.run(prepare(place, jobs))
    declared = look_at(wire).memory or 0
    through_the_store(place, jobs, BATCH)
    ended = look_at(wire).memory or 0
    return {"job": round((declared - before) / jobs), "kept_attempt": round((ended - declared) / jobs)}


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.redis")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kind", choices=("redis", "valkey"), default="redis")
    asked = parser.parse_args()
    with redis_server(asked.kind) as server:
        wire = Wire(read_address(server.url), timedelta(seconds=60))
        found = {
            "server": look_at(wire)._asdict() | {"run_id": None, "memory": None},
            "batch": BATCH,
            "memory": memory(server.url, wire, asked.runs),
            "p3": speed(server.url, wire, asked.runs, asked.rounds),
            "scripts": asyncio.run(hold(f"{server.url}?namespace=many", wire, asked.jobs, asked.runs)),
        }
        wire.close()
    json.dump(found, sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
