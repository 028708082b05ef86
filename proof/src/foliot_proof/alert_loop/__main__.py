"""Kill a node between a failure and its message, again and again: `python -m foliot_proof.alert_loop`."""

from __future__ import annotations

import argparse
import gc
import json
import sys
from collections import Counter
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from foliot.clock import SystemClock
from foliot_proof.alert_loop.bug import BUGS
from foliot_proof.alert_loop.judge import Finding, judge
from foliot_proof.alert_loop.life import STEPS, Orders, live
from foliot_proof.alert_loop.receiver import Receiver
from foliot_proof.kill_loop.fork import lead
from foliot_proof.stores import KINDS

_CLOCK = SystemClock()
_PATIENCE = 3.0  # seconds for a life to come to its step; then it is killed where it stands
_AT_RANDOM = "at random"
_AFTERWARDS = 100  # lives, after which each try that waits for its time has come
_MOST_SHOWN = 20


def main(arguments: list[str] | None = None) -> int:
    """Lead so many lives, and print what came of them; 1 if anything is wrong."""
    options = _parser().parse_args(arguments)
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(TemporaryDirectory(prefix="foliot-alert-loop-", dir=options.folder))
        )
        kind = KINDS[options.store]
        kind.load()  # once, for all that are born from here on
        url = stack.enter_context(kind.place(folder))
        receiver = Receiver(folder / "received", options.seed)
        stack.callback(receiver.close)
        if options.bug:
            BUGS[options.bug]()
        gc.freeze()
        begin = _CLOCK.monotonic()
        deaths = _kill_again_and_again(options.kills, options.seed, Orders(0, url, receiver.url))
        receiver.make_peace()
        _lead(Orders(options.kills + _AFTERWARDS, url, receiver.url), None)
        seconds = _CLOCK.monotonic() - begin
        finding = judge(url, receiver.alerts())
    return _tell(options, deaths, seconds, finding)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m foliot_proof.alert_loop", description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--store", choices=tuple(KINDS), default="sqlite")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where the file is to be, such as a memory file system")
    parser.add_argument("--bug", choices=("", *BUGS), default="", help="plant a bug, to see that it is found")
    parser.add_argument("--json", type=Path, help="write the figures here, too")
    return parser


def _kill_again_and_again(kills: int, seed: int, orders: Orders) -> Counter[str]:
    """The first life declares the jobs."""
    chance = Random(seed)  # noqa: S311 - chance that can be repeated
    deaths: Counter[str] = Counter()
    _lead(orders, None)
    for number in range(1, kills + 1):
        step = STEPS[number % len(STEPS)] if chance.random() < 0.9 else _AT_RANDOM  # noqa: PLR2004 - most
        patience = chance.uniform(0.0, 0.3) if step is _AT_RANDOM else _PATIENCE
        came_to_it = _lead(orders._replace(number=number, step=step), patience)
        deaths[step if came_to_it else _AT_RANDOM] += 1
    return deaths


def _lead(orders: Orders, patience: float | None) -> bool:
    told = f"life {orders.number}, which was to die at {orders.step!r},"
    return lead(partial(live, orders), patience, told)


def _tell(options: argparse.Namespace, deaths: Counter[str], seconds: float, finding: Finding) -> int:
    facts = {
        "store": options.store,
        "kills": options.kills,
        "steps": dict(sorted(deaths.items())),
        "seconds": round(seconds, 1),
        "attempts": finding.attempts,
        "lost": finding.lost,
        "episodes": finding.episodes,
        "messages": finding.messages,
        "sent_again": finding.again,
        "problems": len(finding.problems),
    }
    if options.json is not None:
        options.json.write_text(json.dumps(facts, indent=2) + "\n")
    sys.stdout.write("\n".join(f"{name}: {value}" for name, value in facts.items()) + "\n")
    sys.stdout.write("".join(f"PROBLEM {problem}\n" for problem in finding.problems[:_MOST_SHOWN]))
    return 1 if finding.problems else 0


if __name__ == "__main__":
    sys.exit(main())
