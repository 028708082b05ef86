"""`foliot` itself: help, version, completion."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from cli.calls import call, command, run

GROUPS = [(), ("cron",)]
COMMANDS = [("cron", "next"), ("cron", "explain"), ("cron", "check")]


@pytest.mark.parametrize("option", ["-h", "--help"])
@pytest.mark.parametrize("words", [*GROUPS, *COMMANDS])
def test_help_has_examples_and_exit_codes_in_80_columns(words: tuple[str, ...], option: str) -> None:
    result = call(*words, option)
    assert result.code == 0
    assert result.out.startswith(f"Usage: {' '.join(('foliot', *words))}")
    assert result.out.count("foliot cron ") >= 2
    assert "Exit codes:" in result.out
    assert "..." not in result.out.replace("[ARGS]...", "")
    assert max(map(len, result.out.splitlines())) <= 80


@pytest.mark.parametrize("words", GROUPS)
def test_a_group_without_a_command_shows_its_help(words: tuple[str, ...]) -> None:
    assert call(*words) == call(*words, "--help")


def test_tells_its_version() -> None:
    assert call("--version").out == f"foliot {version('foliot')}\n"


def test_tells_how_to_complete() -> None:
    assert "_FOLIOT_COMPLETE=bash_source foliot" in call("--help").out


def test_completes_the_names_of_zones() -> None:
    words = "foliot cron next --tz Europe/Berl"
    result = run(command("foliot"), _FOLIOT_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD="4")
    assert result.out == "plain,Europe/Berlin\n"
