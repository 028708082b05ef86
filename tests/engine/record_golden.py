"""Records a golden ledger: `PYTHONPATH=tests python -m engine.record_golden 0.2.0`.

Questions come from the tables of `test_plan_*`, from random lives, and from simulated months. Kept are those
that take the planner a way through its code that no question before has taken, and some more of each.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from importlib import import_module
from inspect import CO_NEWLOCALS, signature
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any
from unittest.mock import patch

from engine import plan_cases
from engine.golden_ledger import (
    FOLDER,
    Line,
    answer,
    command_line,
    ending_line,
    question,
    read_ledger,
    write_ledger,
)
from foliot import engine as package
from foliot.engine import engine, plan_definition, reconciler
from foliot.engine.plan_command import Backfill, RunNow
from foliot.errors import CommandRefusedError
from foliot.model.attempt import Ending, Outcome
from foliot.model.job import Job
from foliot.model.policy import Retry
from foliot.model.presets import CODE, DECLARATIVE
from foliot.model.state import Record
from foliot_proof.simulation import simulate

TABLES = ("command", "declared", "due", "ended", "faults", "findings", "overlap", "schedules")
PLANNER = ("planner", "plan_command", "plan_definition", "draft", "herd", "calendar", "retry")
ALIKE = 3  # questions that go the same way through the planner
MONTHS = range(8)
_HOME = Path(package.__file__).parent
_FILES = {str(_HOME / f"{name}.py") for name in PLANNER}

Sink = Callable[[Line], None]


def main(arguments: list[str] | None = None) -> int:
    """Record, or drop what has changed."""
    parser = argparse.ArgumentParser(prog="python -m engine.record_golden", description=__doc__)
    parser.add_argument("name", nargs="?", help="of the ledger: the release whose decisions these are")
    parser.add_argument(
        "--without-changed", action="store_true", help="drop what is now decided otherwise from all ledgers"
    )
    options = parser.parse_args(arguments)
    if options.without_changed:
        drop_changed()
    if options.name:
        record(FOLDER / f"{options.name}.jsonl.gz")
    return 0


def drop_changed() -> None:
    """Forget the questions that are answered otherwise today, on purpose."""
    for path in sorted(FOLDER.glob("*.jsonl.gz")):
        lines = list(read_ledger(path))
        kept = [line for line in lines if answer(line) == line["answer"]]
        sys.stderr.write(f"{path.name}: {len(lines) - len(kept)} of {len(lines)} have changed\n")
        if kept and len(kept) < len(lines):
            write_ledger(path, kept)


def record(path: Path) -> None:
    """Write a ledger of today's decisions, and tell what of the planner was not reached."""
    ledger = Ledger()
    with listening(ledger.take):
        for questions in (from_tables, from_corners, from_lives, from_months):
            questions()
            sys.stderr.write(f"{questions.__name__}: {len(ledger.lines)} of {ledger.asked} are kept\n")
    write_ledger(path, ledger.lines)
    sys.stderr.write(f"{path.name}: {path.stat().st_size / 1000:.0f} kB\n")
    for file in sorted(_FILES):
        if unreached := sorted(_lines_of(Path(file)) - ledger.reached[file]):
            sys.stderr.write(f"never reached: {Path(file).name}, lines {unreached}\n")


def _lines_of(file: Path) -> set[int]:
    """The lines of the functions of a module."""
    found: set[int] = set()
    codes = list(compile(file.read_text(), str(file), "exec").co_consts)
    while codes:
        code = codes.pop()
        if isinstance(code, CodeType):
            codes += code.co_consts
            if code.co_flags & CO_NEWLOCALS:
                found |= {line for _, _, line in code.co_lines() if line and line != code.co_firstlineno}
    return found


class Ledger:
    """Keeps the questions that are worth it."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.asked = 0
        self.reached: dict[str, set[int]] = defaultdict(set)
        self._ways: Counter[frozenset[tuple[str, int]]] = Counter()

    def take(self, line: Line) -> None:
        self.asked += 1
        way: set[tuple[str, int]] = set()
        with tracing(way):
            answered = answer(line)
        for file, number in way:
            self.reached[file].add(number)
        self._ways[frozenset(way)] += 1
        if self._ways[frozenset(way)] <= ALIKE:
            self.lines.append({**line, "answer": answered})


@contextmanager
def tracing(way: set[tuple[str, int]]) -> Iterator[None]:
    """Note which lines of the planner are gone through."""

    def trace(frame: FrameType, _: str, __: object) -> Any:
        file = frame.f_code.co_filename
        if file not in _FILES:
            return None
        way.add((file, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


@contextmanager
def listening(sink: Sink) -> Iterator[None]:
    """Hear what the planner is asked, wherever it is asked."""
    is_told = False

    def heard(plan: Callable[..., Any], make: Callable[..., Line]) -> Callable[..., Any]:
        def ask(*facts: Any) -> Any:
            nonlocal is_told
            if not is_told:  # the answer asks the planner itself
                is_told = True
                try:
                    sink(make(*facts))
                finally:
                    is_told = False
            return plan(*facts)

        return ask

    with ExitStack() as patches:
        for module in (plan_cases, engine, simulate, reconciler, plan_definition, *map(_tables, TABLES)):
            for name, make in _MAKERS.items():
                if hasattr(module, name):
                    patches.enter_context(patch.object(module, name, heard(getattr(module, name), make)))
        yield


def _due(record: Record, now: datetime, node: str, most: int = 1) -> Line:  # noqa: ARG001 - one is enough
    return question("due", now, record, node=node)


def _ended(record: Record, endings: Sequence[Ending], now: datetime) -> Line:
    return question("ended", now, record, ending=ending_line(endings[0]))


def _lost(record: Record, lost: Sequence[tuple[str, int]], now: datetime) -> Line:
    run_key, number = lost[0]
    return question("lost", now, record, run=run_key, number=number)


def _command(record: Record, command: Any, now: datetime) -> Line:
    return question("command", now, record, command=command_line(command))


def _declared(job: Job, record: Record | None, now: datetime) -> Line:
    return question("declared", now, record, declares=job)


def _removed(record: Record, now: datetime) -> Line:
    return question("removed", now, record)


_MAKERS: dict[str, Callable[..., Line]] = {
    "plan_due": _due,
    "plan_ended": _ended,
    "plan_lost": _lost,
    "plan_command": _command,
    "plan_declared": _declared,
    "plan_removed": _removed,
}


# -- where questions come from ---------------------------------------------------------------------


def from_tables() -> None:
    """Every script of every table, and what single tests beside them ask."""
    for module in map(_tables, TABLES):
        for value in list(vars(module).values()):
            if isinstance(value, list):
                for row in value:
                    if isinstance(row, plan_cases.Case):
                        row.played()
            elif isinstance(value, FunctionType) and _is_single_test(value):
                value()


def _is_single_test(function: FunctionType) -> bool:
    return function.__name__.startswith("test_") and not signature(function).parameters


def _tables(name: str) -> ModuleType:
    return import_module(f"engine.test_plan_{name}")


def from_corners() -> None:
    """What neither tables nor chance come to."""
    noon = plan_cases.instant("12:00")
    life = plan_cases.Life()
    life.declare(plan_cases.make_job(), plan_cases.instant("00:00"))
    life.claim(noon + timedelta(hours=8))
    for command in (RunNow("a!b"), Backfill(noon - timedelta(hours=12), noon + timedelta(hours=8))):
        with suppress(CommandRefusedError):
            life.command(command, noon + timedelta(hours=9))
    patient = replace(CODE, retry=Retry(max=None, delay=timedelta(days=400), backoff=10.0))
    life = plan_cases.Life()
    life.declare(plan_cases.make_job(policy=patient), noon)
    life.claim(noon + timedelta(minutes=1))
    (attempt,) = life.running
    life.record = life.there._replace(attempts=(attempt._replace(retries=64),))
    life.end(life.running[0], noon + timedelta(minutes=2), Outcome.FAILED)
    life = plan_cases.Life()
    for rule, seconds in (("30 4 1 1 *", 20), ("0 12 * * *", 40)):
        life.declare(plan_cases.make_job(rule, DECLARATIVE), noon + timedelta(seconds=seconds))


def from_lives() -> None:
    """Random lives, under any policies: the same in every process."""
    from hypothesis import HealthCheck, Phase, given, seed, settings  # noqa: PLC0415 - only to draw with

    from engine.plan_lives import lives  # noqa: PLC0415 - the same

    @seed(7)
    @settings(
        max_examples=1000, database=None, deadline=None,
        phases=[Phase.generate], suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(life=lives())
    def draw(life: plan_cases.Life) -> None:
        del life

    try:
        draw()
    except CommandRefusedError as error:
        sys.stderr.write(f"a life was cut short: {error}\n")


def from_months() -> None:
    """The simulation's."""
    for number in MONTHS:
        simulate.simulate(number)


if __name__ == "__main__":
    sys.exit(main())
