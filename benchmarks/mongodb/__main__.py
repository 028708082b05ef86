"""`python -m benchmarks.mongodb [--runs N] [--rounds N] [--set]`: prints JSON."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from uuid import uuid4

from benchmarks.fire.batches import LEASE
from benchmarks.mongodb.bare import bare_loop
from benchmarks.pairs import in_pairs
from foliot.stores.mongodb import MongoStore
from foliot.testing.servers import MongoServer, mongodb_server, mongodb_set
from foliot.testing.servers.guardian import server_number

BATCH = 500
_USER, _SYSTEM = 13, 14  # fields of /proc/PID/stat


def fresh(url: str) -> str:
    """A database of its own."""
    return url.replace("/?", f"/t{uuid4().hex}?")


def server_seconds(server: MongoServer) -> float:
    """Processor time of the server."""
    fields = Path(f"/proc/{server_number(server.folder)}/stat").read_text(encoding="ascii").split()
    return (int(fields[_USER]) + int(fields[_SYSTEM])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served(*, is_set: bool) -> Iterator[MongoServer]:
    """A server of this machine."""
    if is_set:
        with mongodb_set(1) as found:
            yield found.members[0]
    else:
        with mongodb_server() as server:
            yield server


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mongodb")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--set", action="store_true", help="on a replica set of one")
    asked = parser.parse_args()
    with served(is_set=asked.set) as server:
        new_place: Callable[[], str] = partial(fresh, server.url)
        p3 = in_pairs(
            partial(MongoStore, lease=LEASE), bare_loop, new_place, partial(server_seconds, server),
            runs=asked.runs, batch=BATCH, rounds=asked.rounds,
        )  # fmt: skip
    found = {
        "server": "replica set of one" if asked.set else "standalone",
        "runs": asked.runs,
        "batch": BATCH,
    }
    json.dump({**found, "p3": p3}, sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
