"""A host that was suspended for longer than the leash: what its shell jobs do is ended when it wakes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from executors.shell.stage import PATIENCE
from suspend import Sleeper

LEASH = 2000  # seconds, so that nothing but the sleep can be what ends the command
NIGHT = 8 * 3600
TESTS = Path(__file__).parents[2]


def test_commands_are_ended_when_a_host_wakes_that_slept_for_longer_than_the_leash(tmp_path: Path) -> None:
    sleeper = Sleeper(tmp_path)
    command = [sys.executable, "-m", "executors.shell.suspended", str(tmp_path), str(LEASH)]
    daemon = subprocess.Popen(  # noqa: S603 - our own program
        command, stdout=subprocess.PIPE, text=True, env=sleeper.environment, cwd=TESTS
    )
    try:
        assert daemon.stdout is not None
        assert daemon.stdout.readline() == "running\n"
        sleeper.sleep(NIGHT)

        told, _ = daemon.communicate(timeout=PATIENCE)
    finally:
        daemon.kill()
        daemon.wait()
    assert told == f"interrupted: was ended: the daemon was silent for {LEASH} s\nfine\n"
