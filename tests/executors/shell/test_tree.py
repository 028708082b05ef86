"""A run has ended when nobody of its tree is left, however much they try to stay."""

from __future__ import annotations

import asyncio
import os
import random
import re
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from executors.shell.stage import (
    LINGER,
    Stage,
    a_run,
    alive,
    files_of,
    id_of,
    memory_of,
    play,
    threads_of,
    until,
)
from foliot.executors.shell.warden import process_tree
from foliot.model.attempt import Outcome
from foliot.protocols import Run

# How many hostile runs there are at least; a soak sets it to thousands.
RUNS = int(os.environ.get("FOLIOT_HOSTILE_RUNS", "300"))
AT_ONCE = 24
HUGE_PAGE = 2048  # kB: by so much the memory of a process may grow at once, if the kernel is set to it

# T is a number that no other process has on its command line: whoever empties its environment is found by it.
HOSTILE = {
    "is harmless": "sleep T",
    "leaves children behind": "for i in 1 2 3; do sleep T & done; exit 3",
    "leaves a daemon behind": "setsid sleep T & exit 0",
    "has children": "sleep T & sleep T & sleep T",
    "has children in groups of their own": "set -m; sleep T & sleep T | sleep T",
    "has a child in a session of its own": "setsid sleep T & sleep T",
    "forks twice": "(setsid sh -c 'sleep T & sleep T &' &); sleep T",
    "forks twice and empties its environment": "(env -i setsid /bin/sh -c '/bin/sleep T &' &); sleep T",
    "is deaf": "trap '' TERM INT HUP; sleep T; sleep T",
    "is a deaf daemon without an environment": (
        "trap '' TERM; (env -i setsid /bin/sh -c '/bin/sleep T &' &); exit 0"
    ),
    "heeds and goes on": "trap 'echo no' TERM; while :; do sleep 0.02; done; : T",
    "has a deaf grandchild": "sh -c 'trap \"\" TERM; sleep T; :' & sleep T",
    "stops itself": "kill -STOP $$; sleep T",
    "has a child that stops itself": "sh -c 'kill -STOP $$; sleep T' & sleep T",
    "stops its warden": "kill -STOP $PPID; sleep T",
    "floods": "yes T",
    "floods both": "yes T & yes T >&2",
    "closes its outputs": "exec >&- 2>&-; sleep T",
    "closes all descriptors of a child": "sleep T 0<&- >&- 2>&- & sleep T",
    "gives its output to a daemon": "setsid sleep T & exit 0",
    "reads": "cat; sleep T",
    "has another name": "bash -c 'exec -a innocent sleep T'",
    "forks much": "i=0; while [ $i -lt 40 ]; do setsid sleep T & i=$((i+1)); done; sleep T",
    "runs away": "f() { if [ $1 -lt 400 ]; then f $(($1+1)) & fi; }; f 0; sleep T",
    "runs away deaf": "trap '' TERM; f() { if [ $1 -lt 400 ]; then f $(($1+1)) & fi; }; f 0; : T",
    "changes its limits and its place": "cd /; umask 0; ulimit -n 10; nice -n 5 setsid sleep T & sleep T",
}


def a_hostile_run(command: str) -> tuple[Run, str]:
    token = str(random.randint(10**12, 10**13))  # noqa: S311 - a name, not a secret
    return a_run(re.sub(r"\bT\b", token, command)), token


@pytest.mark.parametrize("command", HOSTILE.values(), ids=HOSTILE.keys())
def test_nobody_outlives_a_run_that_was_asked_to_end(tmp_path: Path, command: str) -> None:
    run, token = a_hostile_run(command)

    async def scene(stage: Stage) -> None:
        ask = stage.start(run)
        await asyncio.wait([asyncio.ensure_future(stage.result(run))], timeout=0.1)
        ask()
        await stage.result(run)
        assert not alive([token, id_of(run)])
        assert process_tree.children_by_file(stage.worker) == []

    play(tmp_path, scene)


@pytest.mark.prove
def test_nobody_outlives_its_run_among_hundreds_of_hostile_ones(tmp_path: Path) -> None:
    commands = list(HOSTILE.values())
    tokens: list[str] = []

    async def live(stage: Stage, number: int, room: asyncio.Semaphore) -> None:
        async with room:
            run, token = a_hostile_run(commands[number % len(commands)])
            tokens.append(token)
            ask = stage.start(run)
            pause = 0.02 * (number % 7)
            await asyncio.wait([asyncio.ensure_future(stage.result(run))], timeout=pause)
            ask()
            await stage.result(run)
            assert not alive([token, id_of(run)])

    async def scene(stage: Stage) -> None:
        await stage.see("true")
        before = files_of(os.getpid()), files_of(stage.worker), files_of(stage.warden)
        room = asyncio.Semaphore(AT_ONCE)
        await asyncio.gather(*(live(stage, number, room) for number in range(RUNS)))
        await until(lambda: not process_tree.children_by_file(stage.worker))
        assert (files_of(os.getpid()), files_of(stage.worker), files_of(stage.warden)) == before
        assert not alive(tokens)

    play(tmp_path, scene)


@pytest.mark.prove
def test_a_thousand_quick_runs_leave_nothing_behind(tmp_path: Path) -> None:
    count = int(os.environ.get("FOLIOT_QUICK_RUNS", "1000"))

    async def scene(stage: Stage) -> None:
        async def some(number: int) -> None:
            for _ in range(number):
                assert (await stage.see("true")).outcome is Outcome.SUCCEEDED

        await asyncio.gather(*(some(count // 50) for _ in range(10)))
        before = files_of(os.getpid()), files_of(stage.worker), threads_of(os.getpid())
        memory = memory_of(stage.worker)
        await asyncio.gather(*(some(count // 10) for _ in range(10)))
        await until(lambda: process_tree.children_by_file(stage.worker) == [])
        after = files_of(os.getpid()), files_of(stage.worker), threads_of(os.getpid())
        # Pools of threads grow with the load of a moment. What a run leaves behind would count a thousand.
        assert all(new <= old + 8 for old, new in zip(before, after, strict=True)), (before, after)
        assert memory_of(stage.worker) <= memory * 1.05 + 256 + HUGE_PAGE

    play(tmp_path, scene)


def test_ending_a_tree_takes_a_moment_or_the_grace_if_it_is_deaf(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        loop = asyncio.get_running_loop()
        for command, least, most in (
            ("sleep 100 & setsid sleep 100 & echo there; wait", 0.0, 0.3),
            ("trap '' TERM; setsid sleep 100 & echo there; wait; wait", 0.4, 1.2),
        ):
            run = a_run(command)
            ask = stage.start(run)
            await until(lambda run=run: len(alive([id_of(run)])) >= 2)  # type: ignore[misc] # mypy knows no such default
            begin = loop.time()
            ask()
            told = await stage.result(run)
            assert least <= loop.time() - begin <= most
            assert told[:3] == (Outcome.CANCELLED, None, "there\n")
            assert not alive([id_of(run)])

    play(tmp_path, scene)


def test_a_tree_may_clean_up_when_it_is_asked_to_end(tmp_path: Path) -> None:
    run = a_run("trap 'sleep 0.1; echo cleaned; exit 7' TERM; : > ready; while :; do sleep 0.01; done")

    async def scene(stage: Stage) -> None:
        ask = stage.start(run)
        await until((tmp_path / "ready").exists)
        ask()
        told = await stage.result(run)
        assert (told.outcome, told.error, told.exit_code) == (Outcome.CANCELLED, None, 7)
        assert told.output.endswith("cleaned\n")

    play(tmp_path, scene, grace=timedelta(seconds=20))


def test_every_generation_hears_that_it_should_end(tmp_path: Path) -> None:
    (tmp_path / "deep").write_text("trap 'echo heard; exit' TERM; : > ready; while :; do sleep 0.02; done")
    run = a_run("sh -c 'sh -c \"sh deep; :\"; :'; :")

    async def scene(stage: Stage) -> None:
        ask = stage.start(run)
        await until((tmp_path / "ready").exists)
        ask()
        assert "heard\n" in (await stage.result(run)).output

    play(tmp_path, scene, grace=timedelta(seconds=20))


def test_who_forks_while_it_is_asked_to_end_takes_its_children_along(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        begin = asyncio.get_running_loop().time()
        for _ in range(30):  # a shell that has just begun forks about now
            run = a_run("sleep 1000; :")
            stage.start(run)()
            await stage.result(run)
        assert asyncio.get_running_loop().time() - begin < 60  # nobody had to be killed

    play(tmp_path, scene, grace=timedelta(seconds=60))  # longer than a busy machine takes for all of them


FORKS_LATE = """
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
open("ready", "w").close()
while signal.SIGTERM not in signal.sigpending():
    os.sched_yield()
if os.fork() == 0:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    os.execlp("sleep", "sleep", "1000")
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
"""


@pytest.mark.parametrize("wrap", ["", "true; "])
def test_who_forks_with_the_signal_pending_takes_its_child_along(tmp_path: Path, wrap: str) -> None:
    """A shell blocks its signals around a fork: the child of that moment has not heard the request."""
    (tmp_path / "late.py").write_text(FORKS_LATE)
    run = a_run(f"{wrap}{sys.executable} late.py" + ("; true" if wrap else ""))

    async def scene(stage: Stage) -> None:
        ask = stage.start(run)
        await until((tmp_path / "ready").exists)
        ask()
        assert (await stage.result(run)).outcome is Outcome.CANCELLED
        assert not alive([id_of(run)])

    play(tmp_path, scene, grace=timedelta(seconds=60))  # more than the patience for a result


def test_what_a_shell_leaves_behind_may_end_by_itself(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        told = await stage.see("(sleep 0.3; echo late) & echo early")
        assert told[:5] == (Outcome.SUCCEEDED, None, "early\nlate\n", 0, 0)

    play(tmp_path, scene, linger=timedelta(seconds=20))


def test_what_a_shell_leaves_behind_is_ended_after_a_while(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        begin = asyncio.get_running_loop().time()
        told = await stage.see("sleep 99 & echo bye; exit 3")
        assert told[:5] == (Outcome.FAILED, "exit code 3", "bye\n", 0, 3)
        took = asyncio.get_running_loop().time() - begin
        assert LINGER.total_seconds() <= took < 2

    play(tmp_path, scene)


def test_a_run_that_succeeded_before_it_was_asked_has_succeeded(tmp_path: Path) -> None:
    run = a_run("sleep 99 & exit 0")

    async def scene(stage: Stage) -> None:
        ask = stage.start(run)
        await until(lambda: len(alive([id_of(run)])) == 1 and "sleep" in alive([id_of(run)])[0])
        ask()
        assert (await stage.result(run)).outcome is Outcome.SUCCEEDED

    play(tmp_path, scene, linger=timedelta(seconds=20))


def test_a_hidden_orphan_ends_with_its_own_tree_and_leaves_others_alone(tmp_path: Path) -> None:
    hidden = "(env -i setsid /bin/sh -c '/bin/sleep T &' &); sleep 0.1; exec sleep 100"
    first, one = a_hostile_run(hidden)
    second, two = a_hostile_run(hidden)

    async def scene(stage: Stage) -> None:
        await stage.see("true")
        ask_first, ask_second = stage.start(first), stage.start(second)
        await until(lambda: len(alive([one])) == len(alive([two])) == 1)
        await until(lambda: len(process_tree.children_by_file(stage.worker)) == 4)
        ask_first()
        await stage.result(first)
        assert not alive([one])
        assert alive([two])
        ask_second()
        await stage.result(second)
        assert not alive([two])

    play(tmp_path, scene)


def test_closing_ends_what_runs(tmp_path: Path) -> None:
    runs = [
        a_run("sleep 100"),
        a_run("trap '' TERM; sleep 100; sleep 100"),
        a_run("echo x; setsid sleep 100"),
    ]

    async def scene(stage: Stage) -> None:
        for run in runs:
            stage.start(run)
        await until(lambda: len(alive(map(id_of, runs))) >= 4)
        await stage.executor.close()
        for run in runs:
            told = await stage.result(run)
            assert told[:2] == (Outcome.INTERRUPTED, "was ended: the daemon has gone")
        assert not alive(map(id_of, runs))
        assert (await stage.see("echo again")).output == "again\n"  # it may be used again

    play(tmp_path, scene, grace=timedelta(seconds=20))
