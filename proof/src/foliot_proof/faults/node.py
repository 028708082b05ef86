"""One node: the production application on a store, with jobs that write down what they see.

python -m foliot_proof.faults.node '{"url": "sqlite:///x.db", "host": "a", "witness_log": "log.jsonl"}'
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

from foliot.app import Foliot
from foliot.clock import SystemClock
from foliot.errors import FoliotError, JobNotFoundError, StoreUnavailableError
from foliot_proof.faults import bug, workload
from foliot_proof.faults.shell_work import Families
from foliot_proof.faults.spy import look_into
from foliot_proof.faults.trap import Trap
from foliot_proof.faults.witness_log import WitnessLog

_STALL = 0.5  # seconds by which a thread that only waits may be late before it is noted
_TICK = 0.1
_PAUSE = 0.3  # seconds until a start that found no store is tried again


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """How a node is to live, and where to die: at the nth pass of a step."""

    url: str
    host: str
    witness_log: str
    lease: float = 3.0
    release: int = 0
    die_at: str = ""
    passes: int = 1
    stands: bool = False  # there it stands still, instead of dying
    bug: str = ""
    offset: str = ""  # a file with seconds by which this machine's clock is off
    seed: int = 0


class WrongClock(SystemClock):
    """A wall clock that can be set while the program runs, by a file. The monotonic one is left alone."""

    def __init__(self, file: str) -> None:
        self._file = Path(file)

    def now(self) -> datetime:
        return super().now() + timedelta(seconds=float(self._file.read_text() or 0))


def main(text: str) -> int:
    """Live until asked to stop, or killed."""
    orders = Orders(**json.loads(text))
    witness_log = WitnessLog(orders.witness_log, orders.host)
    look_into(witness_log, Trap(witness_log, orders.die_at, orders.passes, stands=orders.stands), orders.url)
    bug.plant(orders.bug)
    threading.Thread(target=_watch, args=(witness_log,), daemon=True).start()
    while not _has_lived(witness_log, orders):
        SystemClock().sleep(_PAUSE)
    return 0


def _has_lived(witness_log: WitnessLog, orders: Orders) -> bool:
    """One start, as a supervisor does it: who finds no store is started again; nobody else may end so."""
    app = Foliot(
        orders.url,
        name=workload.NAME,
        clock=WrongClock(orders.offset) if orders.offset else None,
        lease=timedelta(seconds=orders.lease),
        poll="500ms",
        drain="2s",
    )
    workload.declare(app, witness_log, orders.release)
    app.attach(Families(orders.witness_log))
    try:
        asyncio.run(_live(app, witness_log, orders))
    except StoreUnavailableError as error:
        if "ready" in witness_log.noted:
            raise
        witness_log.note("away", error=str(error))
        return False
    return True


def _watch(witness_log: WitnessLog) -> None:
    """Notice when this process, or the whole machine, has stood still."""
    clock = SystemClock()
    before = clock.monotonic()
    while True:
        clock.sleep(_TICK)
        now = clock.monotonic()
        if now - before > _TICK + _STALL:
            witness_log.note("stall", since=before)
        before = now


async def _live(app: Foliot, witness_log: WitnessLog, orders: Orders) -> None:
    people = asyncio.ensure_future(_ask(app, witness_log, orders))
    try:
        await app.run()
    finally:
        people.cancel()
        await asyncio.gather(people, return_exceptions=True)


async def _ask(app: Foliot, witness_log: WitnessLog, orders: Orders) -> None:
    """People who use the application while it runs: they schedule jobs, and ask for runs."""
    clock, chance = SystemClock(), Random(f"{orders.seed} {os.getpid()}")  # noqa: S311 - no secret
    count = 0
    while True:
        count += 1
        name, batch = f"{orders.host}-{os.getpid()}-{count}", f"{orders.host}-{count % workload.BATCHES}"
        try:
            witness_log.note("batch", batch=batch, version=name)
            await app.schedule_many(workload.future(batch, name))
            witness_log.note("batched", batch=batch, version=name)
            await clock.wait(timedelta(seconds=chance.uniform(0.05, 0.4)))
            witness_log.note("ask", request=name)
            await app.trigger(workload.ASKED_FOR, request=name)
            witness_log.note("told", request=name)
        except JobNotFoundError:
            witness_log.note("refused", request=name)
        except FoliotError as error:
            witness_log.note("unsure", error=str(error))
        await clock.wait(timedelta(seconds=chance.uniform(0.5, 2.0)))


if __name__ == "__main__":
    gc.freeze()
    sys.exit(main(sys.argv[1]))
