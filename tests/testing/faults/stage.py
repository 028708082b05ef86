"""A small stage for single acts: some hosts, a folder for the evidence, and the judge at the end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from foliot.clock import SystemClock
from foliot.testing.faults.diary import Note, Times, read_diary
from foliot.testing.faults.evidence import Evidence, file_problems, read_ledger
from foliot.testing.faults.host import Host
from foliot.testing.faults.node import Orders
from foliot.testing.faults.trial import Plan
from foliot.testing.history.check import check
from foliot.testing.history.facts import Fault, History
from foliot.testing.history.report import Report

PLAN = Plan()
LEASE = timedelta(seconds=PLAN.lease)
CLOCK = SystemClock()


class Stage:
    """One host, a store in a folder, and everything that was seen."""

    def __init__(self, store: Path, folder: Path, extra: dict[str, str] | None = None) -> None:
        self.times = Times()
        self.store = store
        self.folder = folder
        self.faults: list[Fault] = []
        self.host = Host("host-0", self.times, folder / "nodes.log", extra)

    @property
    def url(self) -> str:
        return f"sqlite:///{self.store}"

    @property
    def log(self) -> str:
        return (self.folder / "nodes.log").read_text(errors="replace")

    async def start(self) -> None:
        await self.host.start(Orders(url=self.url, host="host-0", diary=str(self.folder / "diary.jsonl")))

    async def stop(self) -> None:
        self.host.ask_to_stop()
        assert await self.host.until_gone(15), self.log

    async def wait(self, seconds: float) -> None:
        await CLOCK.wait(timedelta(seconds=seconds))

    def notes(self, what: str) -> list[Note]:
        return [note for note in read_diary(self.folder / "diary.jsonl", self.times) if note.what == what]

    async def until(self, is_so: Callable[[], bool], seconds: float) -> float:
        """Wait until something is so; how long that took."""
        begin = CLOCK.monotonic()
        while not is_so():
            assert CLOCK.monotonic() - begin < seconds, f"not within {seconds} s\n{self.log[-2000:]}"
            await self.wait(0.05)
        return CLOCK.monotonic() - begin

    async def judge(self) -> tuple[Report, History]:
        """The checker's report; what it does not look at must be well."""
        notes = read_diary(self.folder / "diary.jsonl", self.times)
        evidence = Evidence([self.host], notes, await read_ledger(self.url, LEASE), self.times)
        assert [*evidence.problems(), *file_problems(self.url)] == [], self.log[-2000:]
        history = evidence.history(self.times.now(), PLAN.bounds, self.faults)
        return check(history), history


@asynccontextmanager
async def staged(store: Path, folder: Path, extra: dict[str, str] | None = None) -> AsyncIterator[Stage]:
    stage = Stage(store, folder, extra)
    await stage.host.open()
    try:
        yield stage
    finally:
        await stage.host.close()
