"""Kill a node at every step, thousands of times: `python -m foliot_proof.kill_loop --kills 10000`."""

from __future__ import annotations

import argparse
import gc
import json
import math
import sys
from collections import Counter, deque
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from foliot.clock import SystemClock
from foliot_proof.faults import bug
from foliot_proof.kill_loop.fork import lead
from foliot_proof.kill_loop.judge import Finding, judge
from foliot_proof.kill_loop.life import STEPS, Orders, live
from foliot_proof.stores import KINDS

_CLOCK = SystemClock()
_AT_RANDOM = "at random"
_MOST_SHOWN = 20


def main(arguments: list[str] | None = None) -> int:
    """Lead so many lives, and print what came of them; 1 if anything is wrong."""
    options = _parser().parse_args(arguments)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="foliot-kill-loop-", dir=options.folder)))
        kind = KINDS[options.store]
        kind.load()  # once, for all that are born from here on
        url = stack.enter_context(kind.place(folder))
        witness = folder / "witness"
        bug.plant(options.bug)
        gc.freeze()
        begin = _CLOCK.monotonic()
        deaths = _kill_again_and_again(options, (*STEPS, *kind.loop_steps), Orders(0, url, str(witness)))
        seconds = _CLOCK.monotonic() - begin
        finding = judge(url, witness, deaths.total() + 1)
    return _tell(options, deaths, seconds, finding)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m foliot_proof.kill_loop", description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--duration", type=float, help="end after so many seconds, if not before")
    parser.add_argument("--store", choices=tuple(KINDS), default="sqlite")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--patience", type=float, default=2.0,
        help="seconds for a life to come to its step; then it is killed where it stands",
    )  # fmt: skip
    parser.add_argument("--folder", type=Path, help="where the file is to be, such as a memory file system")
    parser.add_argument(
        "--bug", choices=("", *bug.BUGS), default="", metavar="BUG",
        help="plant a bug of the fault harness, to see that it is found",
    )  # fmt: skip
    parser.add_argument("--json", type=Path, help="write the figures here, too")
    return parser


def _kill_again_and_again(
    options: argparse.Namespace, steps: tuple[str, ...], orders: Orders
) -> Counter[str]:
    """The first life declares the jobs; the last one ends in peace, when all is served."""
    kills, chance = options.kills, Random(options.seed)  # noqa: S311 - chance that can be repeated
    deaths: Counter[str] = Counter()
    turns = deque(steps)
    _lead(orders, None)
    ends_at = math.inf if options.duration is None else _CLOCK.monotonic() + options.duration
    number = 0
    while number < kills and _CLOCK.monotonic() < ends_at:
        number += 1
        step = turns.popleft() if chance.random() < 0.8 else _AT_RANDOM  # noqa: PLR2004 - most
        patience = chance.uniform(0.0, 0.06) if step is _AT_RANDOM else options.patience
        came_to_it = _lead(orders._replace(number=number, step=step), patience)
        deaths[step if came_to_it else _AT_RANDOM] += 1
        if (
            step is not _AT_RANDOM
        ):  # one that had no occasion has its turn again sooner: others may give it one
            turns.insert(len(turns) if came_to_it else chance.randrange(len(turns)) + 1, step)
        if sys.stderr.isatty() and number % 20 == 0:
            sys.stderr.write(f"\r{number} of {kills} kills ")
    _lead(orders._replace(number=number + 1), None)
    return deaths


def _lead(orders: Orders, patience: float | None) -> bool:
    """One life in a process of its own; whether it killed itself, at its step."""
    told = f"life {orders.number}, which was to die at {orders.step!r},"
    return lead(partial(live, orders), patience, told)


def _tell(options: argparse.Namespace, deaths: Counter[str], seconds: float, finding: Finding) -> int:
    at_steps = sum(n for step, n in deaths.items() if step != _AT_RANDOM)
    facts = {
        "store": options.store,
        "kills": deaths.total(),
        "at_named_steps": at_steps,
        "steps": dict(sorted(deaths.items())),
        "seconds": round(seconds, 1),
        "kills_per_second": round(deaths.total() / seconds, 1),
        "occurrences": finding.occurrences,
        "attempts": finding.attempts,
        "effects": finding.effects,
        "lost": finding.lost,
        "problems": len(finding.problems),
    }
    if options.json is not None:
        options.json.write_text(json.dumps(facts, indent=2) + "\n")
    sys.stdout.write("\n".join(f"{name}: {value}" for name, value in facts.items()) + "\n")
    sys.stdout.write("".join(f"PROBLEM {problem}\n" for problem in finding.problems[:_MOST_SHOWN]))
    return 1 if finding.problems else 0


if __name__ == "__main__":
    sys.exit(main())
