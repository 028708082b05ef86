"""Programs that fork, before and after their application is started. Real processes."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PATIENCE = 60
COMMON = """
import asyncio, multiprocessing, os, sys, threading
from foliot import Cron, Foliot
from foliot.errors import AppStateError

app = Foliot("sqlite:///jobs.db", name="p")
ran = threading.Event()
NEVER = Cron("0 0 1 1 *")

@app.job(NEVER)
def work():
    ran.set()

def say(*words):
    sys.stdout.write(" ".join(map(str, words)) + chr(10))
    sys.stdout.flush()

def refused(name, call):
    try:
        call()
    except AppStateError as error:
        say(name, "fork" in str(error), "after the fork" in str(error.hint))
    else:
        say(name, "was not refused")

def try_all():
    for name, call in {
        "wait": lambda: app.wait(app.trigger("work")),
        "trigger": lambda: asyncio.run(app.trigger("work")),
        "jobs": lambda: asyncio.run(app.jobs()),
        "history": lambda: asyncio.run(app.history()),
        "job": lambda: app.job(NEVER, name="more")(lambda: None),
        "start": app.start,
        "run": lambda: asyncio.run(app.run()),
        "stop": app.stop,
        "close": app.close,
    }.items():
        refused(name, call)

def in_child(call):
    child = os.fork()
    if child == 0:
        try:
            call()
        finally:
            os._exit(0)
    os.waitpid(child, 0)

def live():
    app.start()
    app.wait(app.trigger("work"))
    say("ran", ran.wait(30))
    app.stop()
"""


def run(folder: Path, program: str) -> list[str]:
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-W", "error", "-W", "ignore:.*fork:DeprecationWarning", "-c", COMMON + program],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


REFUSALS = [
    f"{name} True True"
    for name in ("wait", "trigger", "jobs", "history", "job", "start", "run", "stop", "close")
]


@pytest.mark.parametrize(
    "fork",
    [
        "in_child(try_all)",
        "c = multiprocessing.get_context('fork').Process(target=try_all); c.start(); c.join()",
    ],
)
def test_every_call_in_a_child_of_a_started_application_is_refused_at_once(tmp_path: Path, fork: str) -> None:
    program = f"app.start()\n{fork}\nsay('parent', len(app.wait(app.jobs())))\napp.stop()\n"
    assert run(tmp_path, program) == [*REFUSALS, "parent 1"]


def test_a_child_of_a_program_that_holds_its_store_open_is_told_to_close_it_before(tmp_path: Path) -> None:
    program = "app.wait(app.jobs())\nin_child(lambda: refused('start', app.start))\napp.close()\nlive()\n"
    assert run(tmp_path, program) == ["start True True", "ran True"]


def test_children_that_start_after_the_fork_run(tmp_path: Path) -> None:
    program = "in_child(live)\nin_child(live)\nlive()\n"
    assert run(tmp_path, program) == ["ran True"] * 3


def test_a_program_that_has_stopped_may_fork_and_start_again(tmp_path: Path) -> None:
    program = "live()\nran.clear()\nin_child(live)\n"
    assert run(tmp_path, program) == ["ran True"] * 2


def test_a_child_forked_in_a_block_is_refused_and_the_block_goes_on(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        async def main():
            async with app:
                in_child(lambda: refused("stop", app.stop))
                await app.trigger("work")
                say("ran", await asyncio.to_thread(ran.wait, 30))

        asyncio.run(main())
        """
    )
    assert run(tmp_path, program) == ["stop True True", "ran True"]
