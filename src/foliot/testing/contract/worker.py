"""The program of a worker process: open the store, say `ready`, wait for `go`, work, and answer in JSON."""

# ruff: noqa: S101 - part of a test suite: it asserts, and pytest shows what was wrong

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import json
import sys
from contextlib import suppress
from datetime import datetime
from types import ModuleType
from typing import Any

from foliot.protocols import Changes, Store
from foliot.testing.clock import ManualClock
from foliot.testing.contract.order import Order, carry_out
from foliot.testing.contract.sample import SOURCE, declare_at, some_jobs, untouched
from foliot.testing.contract.stage import Factory


def main() -> None:
    """Do the one work that standard input tells."""
    told = json.loads(sys.stdin.readline())
    answer = asyncio.run(_work(told))
    sys.stdout.write(json.dumps(answer))


async def _work(told: dict[str, Any]) -> Any:
    clock = ManualClock(datetime.fromisoformat(told["now"]))
    factory: Factory = getattr(_loaded(told["module"], told["file"]), told["name"])
    async with factory(told["where"], clock) as store:
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.readline)
        if "claim" in told:
            return await carry_out(store, Order.from_json(told["claim"]))
        return await _declare(store, clock.now(), **told["declare"])


async def _declare(store: Store, now: datetime, *, base: str, revision: str, count: int) -> int:
    """Declare so many jobs whose queue is the revision, so that it is seen which revision each is of."""
    events = await store.reconcile(
        SOURCE, base, revision, Changes(some_jobs(count, queue=revision)),
        declared=declare_at(now, now), removed=untouched,
    )  # fmt: skip
    return len(events)


def _loaded(module_name: str, file: str) -> ModuleType:
    """The module of the factory: by its name, or by its file, for a name that only pytest can import."""
    with suppress(ImportError):
        module = importlib.import_module(module_name)
        if module.__file__ == file:
            return module
    spec = importlib.util.spec_from_file_location(module_name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
