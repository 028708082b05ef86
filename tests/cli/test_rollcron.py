"""`rollcron`, which has no daemon yet and says so."""

from __future__ import annotations

import pytest

from cli.calls import command, run

NOTICE = "this version of Foliot has no rollcron daemon yet"


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_says_that_there_is_no_daemon_yet(option: str) -> None:
    result = run(command("rollcron", option))
    assert result.code == 0
    assert NOTICE in result.out
    assert result.err == ""


@pytest.mark.parametrize("words", [(), (".", "-i", "5")])
def test_any_other_call_fails_and_says_why(words: tuple[str, ...]) -> None:
    result = run(command("rollcron", *words))
    assert result.code == 1
    assert NOTICE in result.err
    assert result.out == ""
