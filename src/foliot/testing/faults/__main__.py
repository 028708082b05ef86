"""Try to break an application with real processes: `python -m foliot.testing.faults --kills 300`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from foliot.testing.faults.nemesis import Kind, Nemesis
from foliot.testing.faults.trial import Plan, run_trial

_BAR = 40
_USUAL = "kill,failpoint,stop,term"


def main(arguments: list[str] | None = None) -> int:
    """Carry out a trial and print the verdict; 1 if anything was found."""
    options = _parser().parse_args(arguments)
    plan = Plan(
        store="" if options.store == "sqlite" else options.store,
        nodes=options.nodes,
        kinds=tuple(Kind(name) for name in options.faults.split(",")),
        kills=options.kills if options.duration is None else sys.maxsize,
        seconds=Plan().seconds if options.duration is None else options.duration,
        seed=options.seed,
        lease=options.lease,
        bug=options.bug,
    )
    folder: Path | None = options.folder
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    show = _draw if sys.stderr.isatty() else _say_nothing
    verdict = asyncio.run(run_trial(plan, folder, show))
    sys.stdout.write(f"\n{verdict}\n" if sys.stderr.isatty() else f"{verdict}\n")
    return 0 if verdict.is_clean else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m foliot.testing.faults", description=__doc__)
    parser.add_argument("--store", default="sqlite", help="a store's URL; sqlite: a file in a fresh folder")
    parser.add_argument("--nodes", type=int, default=2, help="how many nodes share the work")
    parser.add_argument("--kills", type=int, default=300, help="how many nodes to kill")
    parser.add_argument("--duration", type=float, help="go on for so many seconds instead")
    parser.add_argument("--seed", type=int, default=0, help="decides what is done, and in which order")
    parser.add_argument("--faults", default=_USUAL, help=f"some of {', '.join(Kind)}; usually {_USUAL}")
    parser.add_argument(
        "--lease", type=float, default=3.0, help="seconds that a silent node counts as living"
    )
    parser.add_argument("--folder", type=Path, help="keep the evidence here")
    parser.add_argument("--bug", default="", help="plant a bug, to see that it is found")
    return parser


def _draw(phase: str, nemesis: Nemesis) -> None:
    done = nemesis.progress
    bar = "#" * int(_BAR * done) + "." * (_BAR - int(_BAR * done))
    starts = nemesis.counts["start"]
    sys.stderr.write(f"\r[{bar}] {phase}: {nemesis.kills} kills, {starts} starts ")
    sys.stderr.flush()


def _say_nothing(_: str, __: Nemesis) -> None:
    """Nobody watches."""


if __name__ == "__main__":
    sys.exit(main())
