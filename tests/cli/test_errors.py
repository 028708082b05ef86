"""What a wrong call looks like, for people and for programs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import foliot.cli.cron
from cli.calls import Result, call
from foliot.clock import SystemClock
from foliot.errors import FoliotError

COMMANDS = ("next", "explain", "check")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_bad_expression_is_shown_with_its_place_and_what_would_be_right(name: str) -> None:
    result = call("cron", name, "0 9 * * 8")
    assert result == Result(
        3,
        "",
        'error: Invalid cron expression "0 9 * * 8": weekday field value 8 out of range (0-6)\n'
        "  0 9 * * 8\n"
        "          ^\n"
        "hint: weekdays are numbers from 0 to 6\n",
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_a_bad_expression_in_json(name: str) -> None:
    result = call("cron", name, "0 9 * * 8", "-o", "json")
    assert result.code == 3
    assert result.err == ""
    assert result.json() == {
        "error": {
            "type": "InvalidCronExpressionError",
            "message": 'Invalid cron expression "0 9 * * 8": weekday field value 8 out of range (0-6)',
            "position": 8,
            "hint": "weekdays are numbers from 0 to 6",
            "details": {
                "expression": "0 9 * * 8",
                "field": "weekday",
                "reason": "value 8 out of range (0-6)",
            },
        }
    }


def test_an_error_without_a_place_has_no_caret() -> None:
    result = call("cron", "check", "0 0 30 2 *")
    assert result.code == 3
    assert result.err.splitlines() == [
        "error: Failed to calculate next occurrence: no valid execution times: there is no day 30 in month 2",
        "hint: name a date that some year has",
    ]


def test_details_that_are_objects_become_text_in_json() -> None:
    error = call("cron", "check", "0 0 30 2 *", "-o", "json").json()["error"]
    assert error["position"] is None
    assert error["details"]["cause"] == "no valid execution times: there is no day 30 in month 2"


def test_a_bad_timezone_is_invalid_with_a_hint() -> None:
    result = call("cron", "next", "* * * * *", "--tz", "Europe/Berlim")
    assert result.code == 3
    assert "invalid timezone Europe/Berlim" in result.err
    assert "hint: did you mean Europe/Berlin?" in result.err


def test_a_caret_points_beyond_what_an_error_keeps_of_a_long_expression() -> None:
    expression = "0 9 * * " + "1," * 400 + "x"
    error, picture, caret, hint = call("cron", "check", expression).err.splitlines()
    assert picture.endswith("1,1,x")
    assert caret.index("^") == picture.index("x")
    assert max(map(len, (picture, caret, hint))) <= 80
    assert error.startswith("error: Invalid cron expression")


@pytest.mark.parametrize("words", [("*", "*", "*", "*", "*"), ("@every", "5m"), ("*/5", "* * * *")])
@pytest.mark.parametrize("name", COMMANDS)
def test_an_expression_without_quotes_is_wrong_usage(name: str, words: tuple[str, ...]) -> None:
    result = call("cron", name, *words)
    assert result.code == 2
    assert f"EXPR must be one argument, and this call has {len(words)}" in result.err
    assert f'in quotes: foliot cron {name} "*/5 * * * *"' in result.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("cron", "next"), "Missing argument 'EXPR'"),
        (("cron", "soon"), "No such command 'soon'"),
        (("cron", "next", "--soon", "x"), "No such option"),
        (("cron", "next", "* * * * *", "--dialect", "quartz"), "Invalid value for '--dialect': 'quartz'"),
        (("cron", "next", "* * * * *", "-o", "yaml"), "Invalid value for '-o' / '--output': 'yaml'"),
        (("surf",), "No such command 'surf'"),
    ],
)
def test_wrong_usage_says_what_and_where_to_read(words: tuple[str, ...], message: str) -> None:
    result = call(*words)
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("Usage: foliot")
    assert f"error: {message}" in result.err
    assert "--help'." in result.err


@pytest.mark.parametrize("option", [("-o", "json"), ("-ojson",), ("--output", "json"), ("--output=json",)])
@pytest.mark.parametrize(
    "words", [("cron", "next"), ("cron", "next", "--soon", "x"), ("cron", "next", "a", "b")]
)
def test_wrong_usage_in_json(words: tuple[str, ...], option: tuple[str, ...]) -> None:
    result = call(*words, *option)
    assert result.code == 2
    assert result.err == ""
    error = result.json()["error"]
    assert error["type"] == "UsageError"
    assert list(error) == ["type", "message", "position", "hint", "details"]


def test_an_error_nobody_expected_still_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise FoliotError("the mainspring broke", hint="wind it", details={"parts": [SystemClock]})

    monkeypatch.setattr(foliot.cli.cron, "explain", fail)
    assert call("cron", "explain", "* * * * *") == Result(
        1, "", "error: the mainspring broke\nhint: wind it\n"
    )
    error = call("cron", "explain", "* * * * *", "-o", "json").json()["error"]
    assert error["message"] == "the mainspring broke"
    assert error["details"] == {"parts": ["<class 'foliot.clock.SystemClock'>"]}


def test_an_interrupt_ends_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(foliot.cli.cron, "explain", interrupt)
    assert call("cron", "explain", "* * * * *") == Result(130, "", "\n")


HOSTILE = [
    "\x1b[31mred",
    "\x1b]0;title\x07",
    "\x9b31m",
    "\x00",
    "\r",
    "\n",
    "\x7f",
    "\u202e",
    "\ud800",
    "[red]",
]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
@pytest.mark.parametrize(
    "words",
    [
        ("{}",),
        ("0 9 {} * *",),
        ("@{}",),
        ("CRON_TZ={} * * * * *",),
        ("CRON_TZ=right/{} * * * * *",),
        ("* * * * *", "--tz", "{}"),
        ("* * * * *", "--tz", "right/{}"),
        ("* * * * *", "--from", "{}"),
        ("* * * * *", "--dialect", "{}"),
        ("* * * * *", "-n", "{}"),
        ("* * * * *", "--{}"),
        ("* * * * *", "-o", "{}"),
        ("{}", "-o", "json"),
    ],
    ids=str,
)
def test_nothing_given_reaches_the_terminal_raw(words: tuple[str, ...], text: str) -> None:
    result = call("cron", "next", *(word.format(text) for word in words))
    assert result.code in (2, 3)
    shown = (result.out + result.err).replace("\n", "")
    assert shown.isprintable(), ascii(shown)
    if text == "[red]" and "json" not in words:
        assert text in shown


@pytest.mark.parametrize(
    "words", [("{}",), ("* * * * *", "--tz", "{}"), ("* * * * *", "--from", "{}"), ("*", "{}")]
)
@pytest.mark.parametrize("output", ["table", "json"])
def test_a_megabyte_is_answered_briefly(words: tuple[str, ...], output: str) -> None:
    result = call("cron", "check", *(word.format("9" * 1_000_000) for word in words), "-o", output)
    assert result.code in (2, 3)
    assert len(result.out + result.err) < 2_000


@given(st.text(st.one_of(st.characters(), st.sampled_from("*/-, 0123456789@"))), st.sampled_from(COMMANDS))
def test_any_text_is_answered_with_an_exit_code_and_printable_lines(text: str, name: str) -> None:
    result = call("cron", name, "--", text)
    assert result.code in (0, 3)
    assert (result.out + result.err).replace("\n", "").isprintable()
