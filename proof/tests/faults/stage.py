"""A small stage for single acts: some hosts, a folder for the evidence, and the judge at the end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from foliot.clock import SystemClock
from foliot_proof.faults.evidence import Evidence, read_ledger
from foliot_proof.faults.host import Host
from foliot_proof.faults.node import Orders
from foliot_proof.faults.trial import Plan
from foliot_proof.faults.witness_log import Note, Times, read_witness_log
from foliot_proof.history.check import check
from foliot_proof.history.facts import Fault, History
from foliot_proof.history.report import Report
from foliot_proof.stores import kind_of

PLAN = Plan()
LEASE = timedelta(seconds=PLAN.lease)
CLOCK = SystemClock()


class Stage:
    """A host or several, each with variables of its own; a store; and everything that was seen."""

    def __init__(self, store: Path | str, folder: Path, *extras: dict[str, str]) -> None:
        self.times = Times()
        self.url = store if isinstance(store, str) else f"sqlite:///{store}"
        self.folder = folder
        self.faults: list[Fault] = []
        self.hosts = [
            Host(f"host-{number}", self.times, folder / "nodes.log", extra)
            for number, extra in enumerate(extras or ({},))
        ]
        self.host = self.hosts[0]

    @property
    def log(self) -> str:
        return (self.folder / "nodes.log").read_text(errors="replace")

    async def start(self) -> None:
        for host in self.hosts:
            orders = Orders(url=self.url, host=host.name, witness_log=str(self.folder / "witness_log.jsonl"))
            await host.start(orders)

    async def stop(self) -> None:
        for host in self.hosts:
            host.ask_to_stop()
        for host in self.hosts:
            assert await host.until_gone(15), self.log

    async def wait(self, seconds: float) -> None:
        await CLOCK.wait(timedelta(seconds=seconds))

    def notes(self, what: str) -> list[Note]:
        return [
            note
            for note in read_witness_log(self.folder / "witness_log.jsonl", self.times)
            if note.what == what
        ]

    async def until(self, is_so: Callable[[], bool], seconds: float) -> float:
        """Wait until something is so; how long that took."""
        begin = CLOCK.monotonic()
        while not is_so():
            assert CLOCK.monotonic() - begin < seconds, f"not within {seconds} s\n{self.log[-2000:]}"
            await self.wait(0.05)
        return CLOCK.monotonic() - begin

    async def judge(self) -> tuple[Report, History]:
        """The checker's report; what it does not look at must be well."""
        notes = read_witness_log(self.folder / "witness_log.jsonl", self.times)
        evidence = Evidence(self.hosts, notes, await read_ledger(self.url), self.times)
        problems = [*evidence.problems(), *kind_of(self.url).problems(self.url)]
        assert problems == [], "\n".join([*problems, self.log[-2000:]])
        history = evidence.history(self.times.now(), PLAN.bounds, self.faults)
        return check(history), history


@asynccontextmanager
async def staged(store: Path | str, folder: Path, *extras: dict[str, str]) -> AsyncIterator[Stage]:
    stage = Stage(store, folder, *extras)
    for host in stage.hosts:
        await host.open()
    try:
        yield stage
    finally:
        for host in stage.hosts:
            await host.close()
