"""What commands write: all is taken, little is kept, and it can be followed."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from executors.shell.stage import Stage, a_run, memory_of, play, see, until
from foliot.model.attempt import Outcome
from foliot.model.output import HEAD, TAIL

MEGABYTES = int(os.environ.get("FOLIOT_FLOOD_MB", "200"))


def test_both_streams_are_one_text_in_the_order_they_were_read(tmp_path: Path) -> None:
    told = see(tmp_path, "for i in 1 2 3; do echo o$i; sleep 0.05; echo e$i >&2; sleep 0.05; done")
    assert told.output == "o1\ne1\no2\ne2\no3\ne3\n"


@pytest.mark.parametrize(
    ("octal", "text"),
    [
        (r"\303\244\342\202\254\360\237\246\212", "ä€🦊"),
        (r"a\377b\303", "a�b�"),
        (r"\000\033[31m", "\0\x1b[31m"),
        (r"\355\240\200", "���"),
    ],
)
def test_what_is_not_utf_8_is_replaced(tmp_path: Path, octal: str, text: str) -> None:
    assert see(tmp_path, f"printf '{octal}'").output == text


def test_a_character_may_come_in_pieces(tmp_path: Path) -> None:
    told = see(
        tmp_path, r"printf '\342'; sleep 0.05; printf '\202' ; printf x >&2; sleep 0.05; printf '\254'"
    )
    assert told.output in ("x€", "€x")


def test_a_flood_is_drained_in_little_memory_while_the_loop_goes_on(tmp_path: Path) -> None:
    run = a_run(f"echo first; yes 'y y y y y y y y y y' | head -c {MEGABYTES}000000; echo last")

    async def scene(stage: Stage) -> None:
        await stage.see("true")
        before = memory_of(stage.worker), memory_of(os.getpid())
        stage.start(run)
        waiting = asyncio.ensure_future(stage.result(run))
        loop, slowest, most = asyncio.get_running_loop(), 0.0, before
        while not waiting.done():
            begin = loop.time()
            await asyncio.wait([waiting], timeout=0.01)
            slowest = max(slowest, loop.time() - begin - 0.01)
            now = memory_of(stage.worker), memory_of(os.getpid())
            most = max(most[0], now[0]), max(most[1], now[1])
        told = waiting.result()
        assert told.outcome is Outcome.SUCCEEDED
        assert told.output.startswith("first\ny y y")
        assert (
            told.output.endswith("y y\nlast\n")
            or told.output.endswith("y ylast\n")
            or "last" in told.output[-10:]
        )
        assert told.dropped == len("first\nlast\n") + MEGABYTES * 1_000_000 - HEAD - TAIL
        assert (most[0] - before[0]) + (most[1] - before[1]) <= 20_000
        assert slowest < 0.5

    play(tmp_path, scene, is_followed=True)


def test_a_flood_does_not_hold_up_other_runs(tmp_path: Path) -> None:
    async def scene(stage: Stage) -> None:
        floods = [a_run("cat /dev/zero") for _ in range(3)]
        asks = [stage.start(run) for run in floods]
        await stage.see("true")
        begin = asyncio.get_running_loop().time()
        for _ in range(10):
            await stage.see("true")
        assert asyncio.get_running_loop().time() - begin < 5
        for ask in asks:
            ask()
        for run in floods:
            assert (await stage.result(run)).dropped > 0

    play(tmp_path, scene)


def test_what_a_run_writes_can_be_followed_about_once_a_second(tmp_path: Path) -> None:
    chatty, quick = (
        a_run("i=0; while [ $i -lt 240 ]; do echo $i; sleep 0.01; i=$((i+1)); done"),
        a_run("echo x"),
    )

    async def scene(stage: Stage) -> None:
        stage.start(chatty)
        stage.start(quick)
        waiting, texts = asyncio.ensure_future(stage.result(chatty)), set[str]()
        while not waiting.done():
            await asyncio.wait([waiting], timeout=0.02)
            texts |= {log.text for _, log in stage.followed if not log.is_closed}
        final = waiting.result()
        # The other was done before anybody could look.
        assert [run for run, _ in stage.followed] == [chatty]
        assert 1 <= len(texts) <= 6
        assert all(final.output.startswith(text) for text in texts)
        assert stage.followed[0][1].is_closed

    play(tmp_path, scene, is_followed=True)


def test_a_run_is_followed_once_and_its_log_holds_all_that_it_wrote(tmp_path: Path) -> None:
    run = a_run(f"echo once; sleep 1.3; yes | head -c {2 * (HEAD + TAIL)}; sleep 1.3")

    async def scene(stage: Stage) -> None:
        stage.start(run)
        told = await stage.result(run)
        [(followed, log)] = stage.followed
        assert followed is run
        assert (log.text, log.dropped) == (told.output, told.dropped)
        assert log.dropped > 0

    play(tmp_path, scene, is_followed=True)


def test_a_listener_that_fails_costs_nothing_else(tmp_path: Path) -> None:
    run = a_run("echo once; sleep 1.3")
    troubles: list[object] = []

    async def scene(stage: Stage) -> None:
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: troubles.append(context["exception"])
        )
        stage.executor._follow_log = lambda *_: 1 / 0  # type: ignore[assignment] # a faulty listener
        stage.start(run)
        assert (await stage.result(run)).output == "once\n"

    play(tmp_path, scene, is_followed=True)
    assert [type(error) for error in troubles] == [ZeroDivisionError]


def test_a_pipe_that_a_stranger_holds_open_is_not_waited_for(tmp_path: Path) -> None:
    """A process outside of the tree opens the run's pipe by its name in /proc."""

    async def scene(stage: Stage) -> None:
        run = a_run("echo $$ > pid; while [ ! -e held ]; do sleep 0.01; done; echo done")
        stage.start(run)
        await until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
        pid = int((tmp_path / "pid").read_text())
        held = os.open(f"/proc/{pid}/fd/1", os.O_WRONLY)
        try:
            (tmp_path / "held").touch()
            assert (await stage.result(run)).output == "done\n"
        finally:
            os.close(held)

    play(tmp_path, scene)
