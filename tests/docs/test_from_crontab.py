"""The page for those who come from cron, typed in from its first command to its last."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/how-to/from-crontab.md"
BIN = Path(sys.executable).parent
# The shell that types waits where a person would look; and it ends what it has started.
AROUND = """
set -eu
trap 'kill $(jobs -p) || true' EXIT
until_it_follows() {{
    for i in $(seq 100); do grep -q {word} serve.log && return; sleep 0.1; done; cat serve.log; exit 9
}}
{steps}
kill %1; wait %1; trap - EXIT
"""


def commands() -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.prove
@pytest.mark.req("ROLL-17")
def test_every_command_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    make, check, serve, look, change = commands()
    serve = serve.replace(" &", " 2> ../serve.log &") + "cd ..; until_it_follows; cd ops\n"
    steps = [
        make,
        check,
        serve,
        look,
        change,
        "sleep 6; foliot source list; foliot job trigger echo --wait; foliot run logs echo\n",
    ]
    script = AROUND.format(word="node_joined", steps="\n".join(steps))
    home = {"HOME": str(tmp_path), "PATH": f"{BIN}:{os.environ['PATH']}", "NO_COLOR": "1", "TZ": "UTC"}
    process = subprocess.Popen(  # noqa: S603 - the commands of our own page
        ["bash", "-c", script],  # noqa: S607 - whichever bash there is
        cwd=tmp_path,
        env=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        told, _ = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, told + (tmp_path / "serve.log").read_text()
    assert "7 lines = 3 jobs + 2 variables + 1 comment + 1 blank" in told
    assert "ok: rollcron.yaml has 3 jobs" in told
    assert "the report of 20" in told
