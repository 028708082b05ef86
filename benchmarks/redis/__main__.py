"""`python -m benchmarks.redis [--p3|--scripts] [--runs N] [--jobs N] [--kind redis|valkey]`: prints JSON."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import uuid4

from benchmarks.fire.batches import LEASE
from benchmarks.pairs import in_pairs, prepare, through
from benchmarks.redis.bare import bare_loop
from benchmarks.redis.hold import hold
from foliot.stores.redis import RedisStore
from foliot.stores.redis.address import read_address
from foliot.stores.redis.durability import look_at
from foliot.stores.redis.wire import Wire
from foliot.testing.servers import redis_server

BATCH = 500
_OPEN = partial(RedisStore, lease=LEASE)


def speed(url: str, wire: Wire, runs: int, rounds: int) -> dict[str, Any]:
    """Both in turns, each in a namespace of its own."""
    return in_pairs(
        _OPEN,
        bare_loop,
        lambda: f"{url}?namespace={uuid4().hex}",
        partial(_server_time, wire),
        runs=runs,
        batch=BATCH,
        rounds=rounds,
    )


def _server_time(wire: Wire) -> float:
    text = wire.ask("INFO", "cpu").decode()
    facts = dict(line.split(":") for line in text.splitlines() if ":" in line)
    return float(facts["used_cpu_user"]) + float(facts["used_cpu_sys"])


def memory(url: str, wire: Wire, jobs: int) -> dict[str, float]:
    """Bytes of the server for a job, and for an attempt that is kept."""
    place = f"{url}?namespace={uuid4().hex}"
    before = look_at(wire).memory or 0
    asyncio.run(prepare(_OPEN, place, jobs))
    declared = look_at(wire).memory or 0
    through(_OPEN)(place, jobs, BATCH)
    ended = look_at(wire).memory or 0
    return {"job": round((declared - before) / jobs), "kept_attempt": round((ended - declared) / jobs)}


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.redis")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kind", choices=("redis", "valkey"), default="redis")
    parts = parser.add_mutually_exclusive_group()
    parts.add_argument("--scripts", action="store_true", help="only how long scripts hold the server")
    parts.add_argument("--p3", action="store_true", help="only the speed of claim and finish")
    asked = parser.parse_args()
    with redis_server(asked.kind) as server:
        wire = Wire(read_address(server.url), timedelta(seconds=60))
        found: dict[str, Any] = {
            "server": look_at(wire)._asdict() | {"run_id": None, "memory": None},
            "batch": BATCH,
        }
        if not asked.scripts:
            found["p3"] = speed(server.url, wire, asked.runs, asked.rounds)
        if not asked.scripts and not asked.p3:
            found["memory"] = memory(server.url, wire, asked.runs)
        if not asked.p3:
            runs = min(asked.runs, asked.jobs)
            found["scripts"] = asyncio.run(hold(f"{server.url}?namespace=many", wire, asked.jobs, runs))
        wire.close()
    json.dump(found, sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
