"""The installed command, as a shell starts it: exit codes, pipes, encodings, terminals, signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from cli.calls import PATIENCE, command, environment, on_a_terminal, run, start

NEXT = command("foliot", "cron", "next", "0 9 * * *", "--tz", "Europe/Berlin", "--from", "2026-01-01")
CHECK = command("foliot", "cron", "check", "30 2 * * *", "--tz", "Europe/Berlin", "--from", "2026-01-01")
LONG = command("foliot", "cron", "next", "* * * * *", "--from", "2026-01-01", "-n", "10000")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--version",), 0),
        ((), 0),
        (NEXT[1:], 0),
        (("cron", "explain", "0 9 * * *"), 0),
        (CHECK[1:], 0),
        ((*CHECK[1:], "--strict"), 9),
        (("cron", "next", "*", "*"), 2),
        (("cron", "next", "0 9 * * 8"), 3),
        (("cron", "next", "0 9 * * *", "--tz", "Nowhere"), 3),
    ],
    ids=str,
)
def test_exit_codes(words: tuple[str, ...], code: int) -> None:
    result = run(command("foliot", *words))
    assert result.code == code
    assert bool(result.out) == (code in (0, 9))
    assert bool(result.err) == (code in (2, 3))


def test_local_is_the_zone_of_the_host() -> None:
    words = command("foliot", "cron", "next", "0 9 * * *", "--tz", "local", "--from", "2026-01-01", "-ojson")
    assert json.loads(run(words, TZ="Asia/Tokyo").out)["timezone"] == "Asia/Tokyo"
    refused = run(words, TZ="CET-1CEST")
    assert refused.code == 3
    assert json.loads(refused.out)["error"]["type"] == "InvalidTimezoneError"


@pytest.mark.parametrize("words", [LONG, [*LONG, "-ojson"]], ids=["table", "json"])
def test_a_reader_that_leaves_early_is_no_error(words: list[str]) -> None:
    with start(words) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize(
    ("words", "code"),
    [(command("foliot"), 0), (NEXT, 0), (command("foliot", "cron", "next", "x", "-ojson"), 3)],
    ids=["help", "table", "error"],
)
def test_without_a_reader_a_command_ends_as_it_would_with_one(words: list[str], code: int) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(  # noqa: S603 - our own command
        words, stdout=writer, stderr=subprocess.PIPE, check=False, env=environment(), text=True
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (code, "")


@pytest.mark.parametrize("words", [NEXT, command("foliot", "--help")], ids=["table", "help"])
def test_a_full_disk_is_an_error_without_a_traceback(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(  # noqa: S603 - our own command
            words, stdout=full, stderr=subprocess.PIPE, check=False, env=environment(), text=True
        )
    assert (done.returncode, done.stderr) == (1, "error: No space left on device\n")


def test_closed_streams_are_no_trouble() -> None:
    for closed, words, code in ((">&-", NEXT, 0), ("2>&-", command("foliot", "cron", "next", "x"), 3)):
        assert run(["/bin/sh", "-c", f'"$@" {closed}', "sh", *words]).code == code


@pytest.mark.parametrize("variables", [{"LC_ALL": "C"}, {"LANG": "C"}, {"PYTHONIOENCODING": "ascii"}])
def test_a_poor_encoding_costs_nothing_but_beauty(variables: dict[str, str]) -> None:
    assert run(NEXT, **variables).code == 0
    result = run(command("foliot", "cron", "next", "0 日 x * *"), **variables)
    _, picture, caret, _ = result.err.splitlines()
    assert result.code == 3
    assert caret.index("^") == picture.index("日" if "日" in picture else "\\u65e5")


def test_a_byte_that_is_no_text_is_escaped() -> None:
    result = run(["/bin/sh", "-c", '"$1" cron next "$(printf "\\377 * * * *")"', "sh", *command("foliot")])
    assert result.code == 3
    assert "  \\udcff * * * *\n  ^\n" in result.err


def test_an_interrupt_while_writing_ends_with_130_and_no_traceback() -> None:
    with start(LONG) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline()  # the rest is more than a pipe holds: it is still writing
        process.send_signal(signal.SIGINT)
        assert process.stderr.read().strip() == ""
        assert process.wait(PATIENCE) == 130


def test_a_terminal_shows_the_table_in_colour_within_80_columns() -> None:
    with on_a_terminal(NEXT) as screen:
        assert screen.read_to_end() == 0
        assert "\x1b[" in screen.written
        assert [line.rstrip() for line in screen.lines] == run(NEXT).out.splitlines()
    longest = command("foliot", "cron", "next", "30 */2 * * * *", "--dialect", "seconds", "--tz")
    with on_a_terminal([*longest, "Europe/Berlin", "--from", "2026-10-25T01:00", "-n", "200"]) as screen:
        assert screen.read_to_end() == 0
        assert any(line.endswith("2nd time") for line in screen.lines)
        assert max(map(len, screen.lines)) <= 80
        assert len(screen.lines) == 1 + 200 + 1


def test_a_terminal_shows_findings_wrapped_and_in_colour() -> None:
    with on_a_terminal(CHECK) as screen:
        assert screen.read_to_end() == 0
        assert "\x1b[33m\x1b[1mwarning:" in screen.written
        assert max(map(len, screen.lines)) <= 80
        plain = run(CHECK).out.splitlines()
        assert len(screen.lines) > len(plain)
        assert " ".join(" ".join(screen.lines).split()) == " ".join(plain)


def test_a_terminal_shows_errors_in_colour() -> None:
    with on_a_terminal(command("foliot", "cron", "check", "0 9 * * 8")) as screen:
        assert screen.read_to_end() == 3
        assert "\x1b[31m\x1b[1merror:" in screen.written
        assert screen.lines[-3:] == ["  0 9 * * 8", "          ^", "hint: weekdays are numbers from 0 to 6"]


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
@pytest.mark.parametrize(
    "words", [NEXT, CHECK, command("foliot", "cron", "next", "x")], ids=["next", "check", "error"]
)
def test_a_terminal_without_colour_gets_no_escape_codes(words: list[str], variables: dict[str, str]) -> None:
    with on_a_terminal(words, **variables) as screen:
        screen.read_to_end()
        assert screen.lines
        assert "\x1b" not in screen.written


def test_rich_is_not_imported_without_a_terminal() -> None:
    words = command("python", "-X", "importtime", "-c", "from foliot.cli.main import main; main()")
    result = run([*words, *NEXT[1:]])
    assert result.code == 0
    assert "foliot.schedules" in result.err
    assert "rich" not in result.err
