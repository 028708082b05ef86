"""The crew: as many threads as there is work at once, reused afterwards."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from datetime import timedelta

import pytest

from foliot.executors.threads import ThreadCrew

PATIENCE = 20


def test_work_that_blocks_does_not_hold_up_other_work() -> None:
    crew, together = ThreadCrew(), threading.Barrier(21)

    def work() -> None:
        together.wait(PATIENCE)

    for _ in range(20):
        crew.do(work)
    together.wait(PATIENCE)  # only if all twenty are at work at the same time


def test_a_thread_is_used_again() -> None:
    crew = ThreadCrew()
    names: list[str] = []
    done = threading.Semaphore(0)

    def work() -> None:
        names.append(threading.current_thread().name)
        done.release()

    for _ in range(50):
        crew.do(work)
        assert done.acquire(timeout=PATIENCE)
        while not crew._idle:
            pass
    assert set(names) == {"foliot-job-1"}


def test_a_thread_without_work_goes_home() -> None:
    crew = ThreadCrew("homesick", patience=0.01)
    crew.do(lambda: None)
    for thread in threading.enumerate():
        if thread.name.startswith("homesick"):
            thread.join(PATIENCE)
            assert not thread.is_alive()
    ran = threading.Event()
    crew.do(ran.set)
    assert ran.wait(PATIENCE)


def test_work_that_never_ends_does_not_hold_up_the_end_of_the_program() -> None:
    code = (
        "import threading; from foliot.executors.threads import ThreadCrew; "
        "ThreadCrew().do(threading.Event().wait); print('ends')"
    )
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert done.stdout == "ends\n"


def test_a_call_gives_what_the_work_gives_or_raises() -> None:
    async def scene() -> None:
        crew, limit = ThreadCrew(), timedelta(seconds=PATIENCE)
        assert await crew.call(lambda: threading.current_thread().name, limit) == "foliot-job-1"
        with pytest.raises(ZeroDivisionError):
            await crew.call(lambda: 1 // 0, limit)

    asyncio.run(scene())


def test_a_call_that_takes_too_long_is_left_alone() -> None:
    go_on = threading.Event()

    async def scene() -> None:
        crew = ThreadCrew()
        with pytest.raises(TimeoutError):
            await crew.call(lambda: go_on.wait(PATIENCE), timedelta(milliseconds=10))
        assert await crew.call(lambda: "next", timedelta(seconds=PATIENCE)) == "next"
        go_on.set()

    asyncio.run(scene())
