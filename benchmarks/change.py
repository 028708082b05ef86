"""What a plan costs: `python -m benchmarks.change --jobs 10000 --changed 20` (goal: 3 s of processor time).

Two files are compared by `foliot plan` as its user calls it, in a process of its own; what is told is the
processor time of that process, its start included. Beside it: the same file on both sides, which is not
even read, and a horizon of 400 days.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path
from tempfile import TemporaryDirectory

GOAL = 3.0  # seconds
_COMMAND = (sys.executable, "-c", "import sys; from foliot.cli.main import main; sys.exit(main())")


def config(jobs: int, changed: int = 0) -> str:
    """So many jobs, each with a minute of the day; so many of them with another one."""
    stride = jobs // changed if changed else jobs + 1
    lines = ["defaults: {timezone: Europe/Berlin, timeout: 10m}", "jobs:"]
    for number in range(jobs):
        minute = (number + 7 * (bool(changed) and number % stride == 0)) % 60
        when = f'"{minute} {number // 60 % 24} * * *"'
        lines.append(
            f'  job-{number:06}: {{schedule: {when}, run: "./run.sh {number}", env: {{N: "{number}"}}}}'
        )
    return "\n".join(lines) + "\n"


def call(folder: Path, *words: str) -> dict[str, float]:
    """Call `foliot plan`: its processor time, and what it found."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [*_COMMAND, "plan", str(folder), "-o", "json", *words], check=True, capture_output=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    changed = json.loads(done.stdout)["summary"]["jobs"]["changed"]
    return {"cpu_s": round(took, 2), "changed": changed}


def measure(jobs: int, changed: int, rounds: int) -> dict[str, list[dict[str, float]]]:
    """All ways, in turns: a machine that is busy for a while is so for each of them."""
    with TemporaryDirectory(prefix="foliot-change-") as name:
        folder = Path(name)
        (folder / "rollcron.yaml").write_text(config(jobs, changed))
        (folder / "before.yaml").write_text(config(jobs))
        base = ("--base", str(folder / "before.yaml"))
        same = ("--base", str(folder / "rollcron.yaml"))
        ways = {"7 days": base, "400 days": (*base, "--horizon", "400d"), "the same file": same}
        found: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
        for _ in range(rounds):
            for way, words in ways.items():
                found[way].append(call(folder, *words))
    return found


def main() -> None:
    """Measure, and tell as JSON."""
    parser = ArgumentParser(prog="python -m benchmarks.change", description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000)
    parser.add_argument("--changed", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    found = measure(given.jobs, given.changed, given.rounds)
    best = {way: min(one["cpu_s"] for one in rounds) for way, rounds in found.items()}
    goal = {"goal": f"{GOAL} s for 7 days", "met": best["7 days"] <= GOAL, "best": best}
    json.dump(
        {"jobs": given.jobs, "changed": given.changed, "ways": found, "plan": goal}, sys.stdout, indent=2
    )
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
