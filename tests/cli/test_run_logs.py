"""`foliot run logs --follow`: what is new is printed once, whatever was left out, until the attempt ends."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cli.calls import PATIENCE, command, on_a_terminal, start
from cli.shop import REFRESH, REPORT, SLOW, Shop
from foliot.cli.run_logs import Screen
from foliot.protocols import Output
from foliot.stores.sqlite import SqliteStore

# -- how it is shown -------------------------------------------------------------------------------


def test_a_line_that_comes_in_two_parts_is_one_line() -> None:
    screen = Screen(is_raw=False)
    assert [screen.fit(part) for part in ("one\r", "\ntw", "o \x1b[31m", "\r50%\n")] == [
        "one", "\ntw", "o \\x1b[31m", "\\r50%\n",
    ]  # fmt: skip
    assert Screen(is_raw=False).fit("a\tb\x07\n") == "a\tb\\x07\n"
    assert Screen(is_raw=True).fit("\x1b[31m\r") == "\x1b[31m\r"


# -- a run that goes on ----------------------------------------------------------------------------


def say(shop: Shop, text: str, *, error: str | None = None, ends: bool = False) -> None:
    """The attempt that runs has written so much."""

    async def scene(store: SqliteStore) -> None:
        (attempt,) = await store.held("n1")
        if ends:
            await shop.finish(store, attempt, error, text)
        else:
            await store.write_outputs([Output(attempt.job, *attempt.key, text)])

    shop.act(scene)


@contextmanager
def following(shop: Shop, *words: str) -> Iterator[subprocess.Popen[str]]:
    with start(command("foliot", "run", "logs", *words, "-f", "--store", shop.url)) as process:
        try:
            yield process
        finally:
            process.kill()


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline()


@pytest.mark.parametrize(("error", "code", "end"), [(None, 0, "ok"), ("no figures", 8, "error")])
def test_a_run_is_followed_to_its_end(shop: Shop, error: str | None, code: int, end: str) -> None:
    say(shop, "one\n")
    with following(shop, SLOW) as process:
        assert read_line(process) == "one\n"
        say(shop, "one\n\x1b[1mtwo\nthr")
        assert read_line(process) == "\\x1b[1mtwo\n"
        say(shop, "one\n\x1b[1mtwo\nthree", error=error, ends=True)
        assert process.stdout
        assert process.stderr
        assert (process.stdout.read(), process.wait(PATIENCE)) == ("three\n", code)
        assert process.stderr.read().startswith(
            f"{end}: attempt 1 {'failed' if error else 'succeeded'} after 2.0 s"
        )


@pytest.mark.parametrize(("run", "code", "text"), [(REFRESH, 0, "try 1"), (REPORT, 8, "try 2")])
def test_a_run_that_has_ended_is_printed_and_told(shop: Shop, run: str, code: int, text: str) -> None:
    result = shop.call("run", "logs", run, "-f")
    assert (result.code, result.out) == (code, f"{text}\n\\x1b[1mdone\n")
    assert shop.call("run", "logs", run, "-f", "--raw").out == f"{text}\n\x1b[1mdone\n"


def test_whoever_waits_for_a_run_to_start_is_told(shop: Shop) -> None:
    shop.call("job", "trigger", "once", "--request", "r")
    with following(shop, "once!r") as process:
        assert process.stderr
        assert process.stderr.readline() == "note: attempt 1 has not started yet\n"
        shop.call("run", "cancel", "once!r")
        assert process.wait(PATIENCE) == 8
        assert process.stderr.read() == "error: attempt 1 cancelled\n"


def test_it_ends_when_nobody_reads_any_more(shop: Shop) -> None:
    say(shop, "one\n")
    words = " ".join(command("foliot", "run", "logs", SLOW, "-f", "--store", shop.url))
    with start(["bash", "-c", f"{words} | head -1"]) as process:
        assert read_line(process) == "one\n"
        say(shop, "one\ntwo\n")
        assert process.wait(PATIENCE) == 0
        assert process.stderr
        assert process.stderr.read() == ""


@pytest.mark.parametrize("words", [(), ("-f",)], ids=["at once", "followed"])
def test_a_terminal_is_steered_only_if_asked_for(shop: Shop, words: tuple[str, ...]) -> None:
    call = command("foliot", "run", "logs", REFRESH, "--store", shop.url, *words)
    with on_a_terminal(call) as screen:
        assert screen.read_to_end() == 0
        assert screen.lines[:2] == ["try 1", "\\x1b[1mdone"]
    with on_a_terminal([*call, "--raw"]) as screen:
        assert screen.read_to_end() == 0
        assert "try 1\r\n\x1b[1mdone\r\n" in screen.written


def test_following_is_no_document(shop: Shop) -> None:
    result = shop.call("run", "logs", SLOW, "-f", "-o", "json")
    assert result.code == 2
    assert result.json()["error"]["message"] == "--follow prints text, and no JSON"
