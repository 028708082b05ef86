"""Run many seeds and judge each: python -m foliot_proof.simulation --seeds 10000.

Exits with 1 if the checker finds a violation; the seed that shows it is printed, and replays it.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from foliot_proof.history.check import check
from foliot_proof.simulation.simulate import simulate

_BAR = 40


def judge(seed: int, *, days: int, nodes: int) -> tuple[int, list[str]]:
    """The violations of one seed, in words."""
    history = simulate(seed, days=days, nodes=nodes).history
    return seed, [str(violation) for violation in check(history).violations]


def main() -> int:
    """Run the seeds on all cores, with a bar that shows how far it is."""
    parser = argparse.ArgumentParser(prog="python -m foliot_proof.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=500, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--days", type=int, default=30, help="how many days each lasts")
    parser.add_argument("--nodes", type=int, default=3, help="how many nodes live in it")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    found: Counter[int] = Counter()
    with ProcessPoolExecutor() as pool:
        judged = pool.map(partial(judge, days=options.days, nodes=options.nodes), seeds, chunksize=4)
        for done, (seed, violations) in enumerate(judged, start=1):
            found[seed] += len(violations)
            for violation in violations:
                sys.stdout.write(f"\nseed {seed}: {violation}\n")
            _show(done, len(seeds), found.total())
    sys.stderr.write("\n")
    return 1 if found.total() else 0


def _show(done: int, total: int, violations: int) -> None:
    filled = _BAR * done // total
    bar = "#" * filled + "." * (_BAR - filled)
    sys.stderr.write(f"\r[{bar}] {done} of {total} seeds, {violations} violations")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
