"""A program with a few jobs, for any version of Foliot: which one runs is what PYTHONPATH says.

    python program.py STORE WITNESS LABEL [FUTURE]

Each run writes a line to the witness. FUTURE is the number of a step that this version takes beyond its own,
as a later release would.
"""

from __future__ import annotations

import asyncio
import os
import sys
from importlib import import_module
from typing import Any

import foliot
from foliot import Foliot
from foliot.model.policy import Misfire, MisfireMode

JOBS = 6
EACH = Misfire(mode=MisfireMode.ALL, limit=100)
ADDITIVE = """
ALTER TABLE states ADD COLUMN colour text;
ALTER TABLE jobs ADD COLUMN shape text;
CREATE TABLE inventions (number bigint PRIMARY KEY, text text NOT NULL);
"""


def plant_future(kind: str, number: int) -> None:
    """One step more than this version has; of a newer major version, if its number says so."""
    if kind == "redis":
        plant_future_of_redis(number)
        return
    migration: Any = import_module(f"foliot.stores.{kind}.migration")
    known, step = migration.steps, type(migration.steps()[0])
    migration.steps = lambda: (*known(), step(number, "the future", ADDITIVE))
    migration.MAJOR = max(migration.MAJOR, number // 1000)


def plant_future_of_redis(number: int) -> None:
    """A schema that this version does not know; data that is migrated gets another birth."""
    regression: Any = import_module("foliot.stores.redis.regression")
    real, is_major = regression.begin, number // 1000 > regression.SCHEMA
    regression.SCHEMA = number if is_major else regression.SCHEMA

    def begin(wire: Any, shared: Any, *facts: Any, **more: Any) -> Any:
        meta = f"{shared.prefix}:meta"
        found = wire.ask("HGET", meta, "schema")
        if not is_major:
            wire.ask("HSET", meta, "step", number % 1000)
        elif found is not None and int(found) < number:
            wire.ask("HSET", meta, "schema", number, "birth", f"of schema {number}".replace(" ", "-"))
        return real(wire, shared, *facts, **more)

    regression.begin = begin


def kind_of(store: str) -> str:
    """Which store a URL names, by the name of its package."""
    scheme = store.partition("://")[0]
    return {"postgresql": "postgres"}.get(scheme, scheme)


def make_app(store: str, witness: str, label: str) -> Foliot:
    app = Foliot(store, name="shop", lease="3s", drain="5s", slots=1)  # so that others get something, too
    out = os.open(witness, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def note(run) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001 - where its type is differs by version
        os.write(out, f"{run.key} {label}\n".encode())

    for number in range(JOBS):
        # Every occurrence has a run of its own, however late it is: so what is missing was missed.
        app.job("@every 1s", name=f"tick-{number}", misfire=EACH, overlap="parallel")(note)
    return app


if __name__ == "__main__":
    store, witness, label, *future = sys.argv[1:]
    if future:
        plant_future(kind_of(store), int(future[0]))
    sys.stdout.write(f"this is {foliot.__file__}\n")
    sys.stdout.flush()
    asyncio.run(make_app(store, witness, label).run())
