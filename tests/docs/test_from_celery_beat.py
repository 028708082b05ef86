"""The page for those who come from celery beat, typed in from its first command to its last."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from foliot.testing.servers import MissingServerError, redis_server
from real_postgres import do_without

PAGE = Path(__file__).parents[2] / "docs/how-to/from-celery-beat.md"
BIN = Path(sys.executable).parent
PATIENCE = 240
# The shell that types waits where a person would look; and it ends what it has started.
AROUND = """
set -eu
trap 'kill $(jobs -p) || true' EXIT
until_greeted() {{
    for i in $(seq 900); do grep -q "hello, world" worker.log && return; sleep 0.1; done; cat *.log; exit 8
}}
{steps}
kill %1 %2 %3; wait; trap - EXIT
"""


@pytest.mark.prove
def test_every_command_of_the_page_does_what_it_says(tmp_path: Path) -> None:
    try:
        with redis_server("redis") as server:
            told = _typed(tmp_path, server.url, server.url.removesuffix("/0") + "/1")
    except MissingServerError as error:
        do_without(error)
    assert re.search(r"^greet +@every 5s .* same$", told, re.MULTILINE), told
    assert re.search(r"^report +30 6 \* \* 1-5 .* same$", told, re.MULTILINE), told
    assert "note: greet: runs at each multiple of 5s since 1970-01-01 UTC" in told
    assert "proj/report" in told
    assert "proj/greet@" in told
    assert (tmp_path / "worker.log").read_text().count("hello, world") >= 2


def _typed(folder: Path, broker: str, store: str) -> str:
    make, check, start, look = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    start = start.replace("warning &", "warning > worker.log 2>&1 &").replace("= &", "= >> beat.log 2>&1 &")
    script = AROUND.format(steps=f"{make}\n{check}\n{start}\nuntil_greeted\n{look}")
    environment = {
        **os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "NO_COLOR": "1", "TZ": "UTC",
        "BROKER_URL": broker, "STORE_URL": store, "C_FORCE_ROOT": "1",
    }  # fmt: skip
    process = subprocess.Popen(  # noqa: S603 - the commands of our own page
        ["bash", "-c", script],  # noqa: S607 - whichever bash there is
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        told, _ = process.communicate(timeout=PATIENCE)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    logs = "\n".join(log.read_text() for log in folder.glob("*.log"))
    assert process.returncode == 0, told + logs
    return told
