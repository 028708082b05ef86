"""`rollcron`, as those who know it call it."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from cli.calls import command, on_a_terminal, run
from daemon.harness import Host
from daemon.repositories import Repository, job


@pytest.mark.req("ROLL-01")
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_tells_the_argument_the_options_and_their_defaults(option: str) -> None:
    result = run(command("rollcron", option))

    assert result.code == 0
    assert result.err == ""
    words = " ".join(result.out.split())
    assert words.startswith("Usage: rollcron [OPTIONS] [REPO]")
    assert "REPO is a path to a local repository, or a remote URL. [default: .]" in words
    assert "-i, --interval SECONDS Pull interval. [default: 60; x>=1]" in words
    assert "-h, --help" in words
    assert max(map(len, result.out.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-i", "0"), "0 is not in the range x>=1"),
        (("-i", "5m"), "'5m' is not a valid integer"),
        (("one", "two"), "unexpected extra argument (two)"),
        (("--store", "x"), "No such option"),
    ],
)
def test_wrong_usage_is_told_and_where_to_read(words: tuple[str, ...], said: str) -> None:
    result = run(command("rollcron", *words))

    assert result.code == 2
    assert said in result.err
    assert "Usage: rollcron [OPTIONS] [REPO]" in result.err
    assert "Try 'rollcron --help'." in result.err


def test_a_terminal_gets_a_readable_log_with_the_next_runs(tmp_path: Path) -> None:
    host, repository = Host(tmp_path / "host"), Repository(tmp_path)
    repository.push(one=job("true", "1h", name="Every Hour"), two=job("echo oops >&2; exit 1"))
    words = command("rollcron", str(repository.remote))

    with on_a_terminal(words, 120, **host.environment, NO_COLOR="1") as screen:
        screen.read_until("oops")
        screen.process.send_signal(signal.SIGINT)
        assert screen.read_to_end() == 0

    text = "\n".join(screen.lines)
    assert "source_followed" in text
    assert 'next_run            name="Every Hour"' in text
    assert "attempt_failed      name=two" in text
    assert "stop_asked" in text
    assert "{" not in text
    assert host.nobody_is_left()
