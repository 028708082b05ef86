"""A whole trial: nodes are started, injured, left in peace, stopped and judged."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from foliot.clock import SystemClock
from foliot.engine.settings import RECOVER
from foliot_proof.faults import trap
from foliot_proof.faults.database import Database, open_database, reach
from foliot_proof.faults.evidence import Evidence, read_ledger
from foliot_proof.faults.fault import OF_THE_SERVER, ON_THE_WAY
from foliot_proof.faults.fault_injector import JUMP, FaultInjector, Kind
from foliot_proof.faults.figures import Figures, measure
from foliot_proof.faults.host import Host
from foliot_proof.faults.node import Orders
from foliot_proof.faults.witness_log import Times, read_witness_log
from foliot_proof.history.check import check
from foliot_proof.history.facts import Bounds
from foliot_proof.history.lines import to_lines
from foliot_proof.history.report import Report
from foliot_proof.stores import CannotTryError, kind_of

_CLOCK = SystemClock()
_A_DAY = 86_400.0
_MOST_SHOWN = 10
_WITNESS_LOG = "witness_log.jsonl"
_HISTORY = "history.jsonl"  # all that the checker was given, to be looked at again
# A node takes the store's time to be what its last heartbeat was told, however long the answer took.
_SKEW = timedelta(milliseconds=300)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a trial is to be.

    `store`: a URL; a kind of store, such as `postgres`: a server of its own; empty: a file of SQLite.

    `spared`: so many of the nodes are left in peace, so that there is always somebody to take over.
    `is_strict`: a call that failed by others' faults is no excuse; for a machine that is not busy.
    """

    store: str = ""
    nodes: int = 2
    spared: int = 0
    kinds: tuple[Kind, ...] = (Kind.KILL, Kind.FAILPOINT, Kind.STOP, Kind.TERM)
    kills: int = 300
    seconds: float = _A_DAY
    seed: int = 0
    lease: float = 3.0
    steps: tuple[str, ...] = trap.ALL
    bug: str = ""
    eps: float = 2.0
    is_strict: bool = False

    @property
    def bounds(self) -> Bounds:
        """What the checker may expect."""
        return Bounds(
            eps=timedelta(seconds=self.eps),
            skew=_SKEW,
            lease=timedelta(seconds=self.lease),
            beat=timedelta(seconds=self.lease / 3),
            recover=min(RECOVER, timedelta(seconds=self.lease / 3)),
            poll=timedelta(milliseconds=500),
            heal=timedelta(seconds=self.eps),
        )

    @property
    def quiet(self) -> float:
        """How long everybody is left in peace at the end, so that what is owed can be served."""
        has_jumped = (Kind.SERVERCLOCK if kind_of(self.store).is_server else Kind.CLOCK) in self.kinds
        return self.lease * 5 / 3 + 2 * self.eps + (JUMP if has_jumped else 0)

    @property
    def known_steps(self) -> tuple[str, ...]:
        """Those of the steps that this kind of store has."""
        known = kind_of(self.store).steps
        return known if self.steps == trap.ALL else tuple(step for step in self.steps if step in known)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of a trial."""

    report: Report
    problems: tuple[str, ...]
    injected: Mapping[str, int]
    trapped: Mapping[str, int]
    notes: Mapping[str, int]
    attempts: int
    seconds: float
    figures: Figures
    log: str = ""

    @property
    def is_clean(self) -> bool:
        """Whether nothing was found."""
        return self.report.is_clean and not self.problems

    @property
    def kills(self) -> int:
        """How many nodes were killed, or killed themselves at a failpoint."""
        return self.injected.get("kill", 0) + self.injected.get("failpoint", 0)

    def as_json(self) -> dict[str, Any]:
        """All figures, for programs."""
        measures = self.report.measures
        lag = measures.calm_lag
        return {
            "violations": {str(code): count for code, count in sorted(self.report.codes.items())},
            "problems": list(self.problems),
            "zombies": len(self.report.zombies),
            "kills": self.kills,
            "injected": dict(self.injected),
            "failpoints": dict(self.trapped),
            "notes": dict(self.notes),
            "attempts": self.attempts,
            "seconds": round(self.seconds, 1),
            "occurrences": measures.occurrences,
            "excused": round(measures.excused, 4),
            "unknown_outcomes": round(measures.unknown_outcomes, 4),
            "start_lag": {
                "p50": lag.p50.total_seconds(), "p99": lag.p99.total_seconds(),
                "most": lag.most.total_seconds(), "starts": lag.starts,
            },
            **self.figures.as_json(),
        }  # fmt: skip

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        injected, notes = Counter(self.injected), Counter(self.notes)
        yield str(self.report)
        yield f"{self.kills} kills in {self.seconds:.0f} s, {injected['failpoint']} of them at a failpoint"
        yield f"{injected['start']} starts, {injected['stop']} freezes, {injected['term']} orderly stops"
        others = (*ON_THE_WAY, *OF_THE_SERVER, Kind.CLOCK, Kind.SERVERCLOCK)
        if found := [f"{injected[kind]} {kind}" for kind in others if injected[kind]]:
            yield "between nodes and store, and to it: " + ", ".join(found)
        yield f"{self.attempts} attempts; jobs saw {notes['start']} starts and {notes['end']} ends"
        yield f"confirmed: {notes['finish']} endings, {notes['batched']} batches, {notes['told']} requests"
        yield f"{notes['trouble']} calls failed, {notes['slow']} were slow, {notes['stall']} standstills"
        if self.trapped:
            yield "failpoints: " + ", ".join(f"{step} {n}" for step, n in sorted(self.trapped.items()))
        yield from self.figures.lines()
        yield from (f"PROBLEM {problem}" for problem in self.problems[:_MOST_SHOWN])
        if self.problems:
            yield f"{len(self.problems)} problems in all; the end of the log:\n{self.log[-3000:]}"


Show = Callable[[str, "FaultInjector"], None]


@dataclass(slots=True)
class _Scene:
    """The files of a trial."""

    folder: Path
    database: Database
    times: Times = field(default_factory=Times)
    hosts: list[Host] = field(default_factory=list)

    @property
    def witness_log(self) -> Path:
        return self.folder / _WITNESS_LOG

    @property
    def log(self) -> Path:
        return self.folder / "nodes.log"

    def orders(self, plan: Plan) -> Orders:
        """What all nodes have in common."""
        offset = self.folder / "offset"
        offset.write_text("0")
        return Orders(
            url=self.database.url,
            host="",
            witness_log=str(self.witness_log),
            lease=plan.lease,
            bug=plan.bug,
            offset=str(offset) if Kind.CLOCK in plan.kinds else "",
            seed=plan.seed,
        )


async def run_trial(plan: Plan, folder: Path | None = None, show: Show = lambda *_: None) -> Verdict:
    """Carry out a plan; the folder keeps the evidence, if one is given."""
    with TemporaryDirectory(prefix="foliot-faults-") as temporary:
        place = Path(temporary) if folder is None else folder
        if (place / _WITNESS_LOG).exists():
            raise CannotTryError(f"{place} holds the evidence of another trial: name an empty folder")
        has_clock = Kind.SERVERCLOCK in plan.kinds
        async with open_database(plan.store, place, has_clock=has_clock) as database:
            if reason := database.cannot(plan.kinds):
                raise CannotTryError(reason)
            await asyncio.to_thread(reach, database.url)
            return await _run(plan, _Scene(place, database), show)


async def _run(plan: Plan, scene: _Scene, show: Show) -> Verdict:
    times, begin = scene.times, _CLOCK.monotonic()
    injector = FaultInjector(
        scene.orders(plan),
        times,
        scene.database,
        kinds=plan.kinds,
        kills=plan.kills,
        seconds=plan.seconds,
        steps=plan.known_steps,
    )
    scene.hosts = injector.hosts = [Host(f"host-{n}", times, scene.log) for n in range(plan.nodes)]
    watching = asyncio.ensure_future(_watch(injector, show))
    try:
        await scene.database.open([host.name for host in scene.hosts])
        for host in scene.hosts:
            await host.open()
        await injector.be_born(scene.hosts[0])
        for host in scene.hosts[plan.nodes - plan.spared :]:
            await injector.start(host)
        await asyncio.gather(*map(injector.torment, scene.hosts[: plan.nodes - plan.spared]))
        await _calm_down(plan, scene, injector)
    finally:
        watching.cancel()
        for host in scene.hosts:
            await host.close()
        await scene.database.close()
    return await _judge(plan, scene, injector, begin)


async def _watch(injector: FaultInjector, show: Show) -> None:
    while True:
        show("injuring" if not injector.is_done else "quiet", injector)
        await _CLOCK.wait(timedelta(seconds=0.2))


async def _calm_down(plan: Plan, scene: _Scene, injector: FaultInjector) -> None:
    """All faults are over; what is owed has time to be served; then everybody stops in order."""
    for host in scene.hosts:
        await injector.start(host)
    await _CLOCK.wait(timedelta(seconds=plan.quiet))
    for host in scene.hosts:
        host.ask_to_stop()
    for host in scene.hosts:
        if not await host.until_gone(20):
            injector.counts["deaf to SIGTERM"] += 1


async def _judge(plan: Plan, scene: _Scene, injector: FaultInjector, begin: float) -> Verdict:
    final, url = scene.times.now(), scene.database.url
    ledger = await read_ledger(url)
    evidence = Evidence(scene.hosts, read_witness_log(scene.witness_log, scene.times), ledger, scene.times)
    history = evidence.history(final, plan.bounds, injector.common_faults, is_strict=plan.is_strict)
    (scene.folder / _HISTORY).write_text("\n".join(to_lines(history)) + "\n", encoding="utf-8")
    figures = measure(history, injector.injected, evidence.notes, scene.times)
    problems = [*evidence.problems(), *scene.database.kind.problems(url)]
    problems += figures.problems(is_server=scene.database.is_server, is_strict=plan.is_strict)
    if deaf := injector.counts["deaf to SIGTERM"]:
        problems.append(f"{deaf} nodes did not stop when asked to")
    return Verdict(
        report=check(history),
        problems=tuple(problems),
        injected=injector.counts,
        trapped=Counter(note.facts["step"] for note in evidence.notes if note.what == "trapped"),
        notes=evidence.counts,
        attempts=len(ledger.attempts),
        seconds=_CLOCK.monotonic() - begin,
        figures=figures,
        log=scene.log.read_text(errors="replace"),
    )
