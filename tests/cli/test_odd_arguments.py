"""Whatever a shell hands on, no command answers with a traceback: every command, every argument."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from cli.calls import BIN, PATIENCE, Result, call
from cli.shop import Shop
from foliot.cli.main import cli
from foliot.cli.rollcron import main as rollcron_main
from foliot.cli.rollcron import rollcron

NOT_UTF8 = os.fsdecode(b"\xff")
ODD = {
    "bytes": NOT_UTF8,
    "huge": str(10**400),
    "longer than Python reads": "9" * 5000,
    "escapes": "\x1b[31m\x07\r\n",
    "long": "x" * 100_000,
    "ages": "9999999999d",
    "the first day": "0001-01-01",
    "the last day": "9999-12-31T23:59:59",
    "a number": "-1",
    "empty": "",
    "signs": "[%$!@/:?*\\",
    "snow": "\N{SNOWMAN}" * 50,
    "a run": "nobody/nothing@2026-01-01T00:00:00Z",
    "no database": "postgresql://x:y@[::1]:1/db?sslmode=disable",
}
# What a command needs before anything else is looked at. Nothing is there, so no daemon stays.
USUAL = {
    "span": "2h",
    "expression": "* * * * *",
    "job": "refresh",
    "run": "refresh",
    "name": "nobody",
    "first": "2026-01-01",
    "last": "2026-01-02",
    "repository": "/nowhere/at/all",
    "path": "/nowhere/at/all",
}
CODES = {0, 1, 2, 3, 4, 6, 8, 9}


Words = tuple[str, ...]


def commands(group: click.Group, path: Words = ()) -> Iterator[tuple[Words, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


EVERY = [*commands(cli), (("rollcron",), rollcron)]
CASES = [
    pytest.param(path, command, param, id=f"{' '.join(path)} {param.name}")
    for path, command in EVERY
    for param in command.params
    if not (isinstance(param, click.Option) and param.is_flag)
]


def may_be_any_bytes(param: click.Parameter) -> bool:
    """A path may have any name, and of a rule the place of the fault is shown, as of any other."""
    return isinstance(param.type, click.Path | click.File) or param.name == "expression"


def words(command: click.Command, odd: click.Parameter, value: str, store: str) -> list[str]:
    """A call in which one argument is odd."""
    given, positional = [], []
    for param in command.params:
        text = value if param is odd else USUAL.get(param.name or "")
        if isinstance(param, click.Argument):
            positional.append(text or "x" if param is not odd else value)
        elif param is odd:
            given += [param.opts[-1], value]
        elif param.name == "store":
            given += ["--store", store]
        elif param.required:
            usual = param.type.choices[0] if isinstance(param.type, click.Choice) else "x"
            given += [param.opts[-1], text or usual]
    return [*given, "--", *positional]


def called(path: Words, arguments: list[str]) -> Result:
    if path == ("rollcron",):
        return Result(rollcron_main(arguments), "", "")
    return call(*path, *arguments)


@pytest.mark.prove
@pytest.mark.parametrize(("path", "command", "param"), CASES)
def test_no_argument_gives_a_traceback(  # noqa: PLR0917 - the case, and where it is played
    path: Words,
    command: click.Command,
    param: click.Parameter,
    shop: Shop,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for what, value in ODD.items():
        result = called(path, words(command, param, value, shop.url))
        assert result.code in CODES, f"{what}: {result}"
        assert "Traceback" not in result.err
        if value == NOT_UTF8 and not may_be_any_bytes(param):
            assert result.code == 2, what


@pytest.mark.parametrize(("path", "command", "param"), CASES)
def test_an_argument_that_is_not_utf8_is_named(
    path: Words, command: click.Command, param: click.Parameter, shop: Shop
) -> None:
    if path == ("rollcron",) or may_be_any_bytes(param):
        pytest.skip("the next test calls it; or it may be any bytes")
    result = call(*path, *words(command, param, NOT_UTF8, shop.url))
    name = param.opts[-1] if isinstance(param, click.Option) else param.make_metavar(click.Context(command))
    assert name.strip("[]") in result.err
    assert "\\udcff" in result.err


@pytest.mark.parametrize(
    "given",
    [
        [b"foliot", b"job", b"show", b"\xff"],
        [b"foliot", b"serve", b"\xff"],
        [b"foliot", b"\xff"],
        [b"foliot", b"--\xff"],
        [b"rollcron", b"\xff"],
        [b"rollcron", b"-i", b"1" + b"0" * 400],
        [b"foliot", b"serve", b"-i", b"1" + b"0" * 400],
    ],
)
def test_bytes_of_a_real_shell_are_a_usage_error(tmp_path: Path, given: list[bytes]) -> None:
    words = [os.fsencode(BIN) + b"/" + given[0], *given[1:]]
    environment = {**os.environ, "HOME": str(tmp_path), "FOLIOT_STORE": f"sqlite:///{tmp_path}/jobs.db"}
    done = subprocess.run(  # noqa: S603 - our own commands
        words, cwd=tmp_path, env=environment, capture_output=True, timeout=PATIENCE, check=False
    )
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert b"error:" in done.stderr


def test_a_store_in_the_environment_that_is_not_utf8_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOLIOT_STORE", NOT_UTF8)
    result = call("job", "list")
    assert (result.code, "--store" in result.err) == (2, True)
