"""Run the long proofs, or the test suite, and tell how long each part took against its budget.

    python tools/prove.py                       all proofs: `make prove`
    python tools/prove.py --suite test          the test suite: `make test`
    python tools/prove.py --only simulation     one part

A budget is in minutes, on two quiet cores. A part that is not done after four times its budget is ended, and
fails: either something hangs, or a change has made the tests slow.

If at most five tests of a part fail, they are run again, alone, twice at most. One that passes then does not
fail the suite, and is named at the end: it has found a race, or a machine that was too slow for it.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from foliot.clock import SystemClock

ROOT = Path(__file__).parent.parent
CLOCK = SystemClock()
GRACE = 30  # seconds that an interrupted part has to say where it was
PATIENCE = 4  # a part may take so many times its budget: other machines are slower, or busy
FAILED = "failed with code 1"  # what pytest ends with if tests failed, and nothing else went wrong
PYTEST = ("-m", "pytest", "-q")
SPREAD = (*PYTEST, "-n", "auto", "--dist", "worksteal")
REPEATS = 2  # of what failed
MOST_REPEATED = 5  # tests of a part: if more of them fail, the code is wrong and not the moment
NAMED = 20  # of the tests that failed
CACHE = ROOT / ".pytest_cache"
TWO_MORE = str((os.cpu_count() or 1) + 2)  # workers: half of the time a test waits for programs and servers


class Part(NamedTuple):
    """A command of Python, and the minutes that it may take."""

    name: str
    command: tuple[str, ...]
    budget: float


SUITES = {
    "test": (
        Part("tests", (*SPREAD, "-n", TWO_MORE, "-m", "not prove", "tests"), 9),
        Part("documentation", (*PYTEST, "README.md", "docs"), 1),
    ),
    "prove": (
        Part("simulation", (*SPREAD, "proof/tests/simulation"), 9),
        Part("declarative", (*SPREAD, "proof/tests/declarative_door"), 2),
        Part("checker", (*SPREAD, "proof/tests/history"), 1),
        Part("kill loop", (*SPREAD, "proof/tests/kill_loop"), 2.5),
        Part("alert loop", (*SPREAD, "proof/tests/alert_loop"), 1),
        Part("faults", (*SPREAD, "proof/tests/faults"), 9),
        Part("long tests", (*PYTEST, "-n", "auto", "--dist", "loadfile", "-m", "prove", "tests"), 20),
    ),
}


class Result(NamedTuple):
    """How a part has ended, and after how many minutes."""

    part: Part
    minutes: float
    problem: str
    failed: list[str]  # tests, at first

    def __str__(self) -> str:
        took = f"{self.part.name:15}{self.minutes:6.1f} of {self.part.budget:4.1f} minutes"
        lines = [f"{took}   {self.problem or 'ok'}"]
        fate = "failed" if self.problem else "failed, and passed alone"
        return "\n".join(lines + [f"    {fate}: {test}" for test in self.failed[:NAMED]])


def run(part: Part) -> Result:
    """Run a part, and again what failed in it."""
    print(f"\n== {part.name}: budget {part.budget:g} minutes", flush=True)
    begin = CLOCK.monotonic()
    if part.command[:2] != PYTEST[:2]:
        problem, failed = run_once(part, part.command), []
    else:
        cache = CACHE / part.name.replace(" ", "-")
        command = (*part.command, "-o", f"cache_dir={cache}")
        problem = run_once(part, (*command, "--cache-clear"))
        failed = failures(cache) if problem == FAILED else []
        again = (*command, "--last-failed", "--last-failed-no-failures", "none", "-n", "0")
        for _ in range(REPEATS if 0 < len(failed) <= MOST_REPEATED else 0):
            if problem == FAILED:
                print(f"\n== {part.name}: what failed, once more and alone", flush=True)
                problem = run_once(part, again)
    return Result(part, (CLOCK.monotonic() - begin) / 60, problem, failed)


def failures(cache: Path) -> list[str]:
    """The tests that failed in the last run of a part."""
    file = cache / "v/cache/lastfailed"
    return sorted(json.loads(file.read_text())) if file.exists() else []


def run_once(part: Part, command: tuple[str, ...]) -> str:
    """Run a command, and tell its problem. What it starts is ended with it."""
    arguments = [sys.executable, *command]
    with subprocess.Popen(arguments, cwd=ROOT, env=variables(), start_new_session=True) as process:  # noqa: S603
        try:
            code = process.wait(part.budget * PATIENCE * 60)
        except subprocess.TimeoutExpired:
            return f"ended: not done after {PATIENCE} times its budget"
        finally:
            end_group(process)
    return f"failed with code {code}" if code else ""


def variables() -> dict[str, str]:
    """Our environment, in which Python may keep what it has compiled.

    Tests start hundreds of programs: without a cache each of them compiles Foliot anew.
    """
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a part that still runs, and its workers. An interrupt comes first: pytest says where it was."""
    for number in (signal.SIGINT, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, number)
            try:
                process.wait(GRACE)
            except subprocess.TimeoutExpired:
                continue


def chosen(suite: str, only: list[str]) -> list[Part]:
    """The parts that were asked for."""
    known = {part.name: part for parts in SUITES.values() for part in parts}
    if unknown := set(only) - known.keys():
        sys.exit(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return [known[name] for name in only] or list(SUITES[suite])


def main() -> int:
    """Run the parts one after another; 1 if one of them fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", choices=SUITES, default="prove", help="which parts to run")
    parser.add_argument("--only", nargs="+", default=[], metavar="PART", help="run these parts only")
    options = parser.parse_args()
    results = [run(part) for part in chosen(options.suite, options.only)]
    total = sum(result.minutes for result in results), sum(result.part.budget for result in results)
    print("\n" + "\n".join(map(str, results)))
    print(f"{'together':15}{total[0]:6.1f} of {total[1]:4.1f} minutes")
    return 1 if any(result.problem for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
