"""Every command on a store explains itself, completes, and takes `--store` and `-o json`."""

from __future__ import annotations

import click
import pytest

from cli.calls import call, command, run
from cli.shop import Shop
from foliot.cli.main import cli

CONTEXT = click.Context(cli)


def group(name: str) -> click.Group:
    found = cli.get_command(CONTEXT, name)
    assert isinstance(found, click.Group)
    return found


GROUPS = ["job", "run", "alert", "node", "store"]
COMMANDS = [(name, each) for name in GROUPS for each in group(name).commands]


def test_all_commands_are_there() -> None:
    assert {name: set(group(name).commands) for name in GROUPS} == {
        "job": {
            "list",
            "show",
            "next",
            "why",
            "occurrences",
            "versions",
            "pause",
            "resume",
            "trigger",
            "backfill",
        },
        "run": {"list", "show", "logs", "cancel", "rerun"},
        "alert": {"list", "test", "mute", "unmute"},
        "node": {"list"},
        "store": {"check", "migrate", "backup", "prune", "copy"},
    }


@pytest.mark.parametrize("words", [*((name,) for name in GROUPS), *COMMANDS], ids=" ".join)
def test_help_has_examples_and_exit_codes_in_80_columns(words: tuple[str, ...]) -> None:
    result = call(*words, "--help")
    assert result.code == 0
    assert result.out.startswith(f"Usage: {' '.join(('foliot', *words))}")
    assert "Examples:" in result.out
    assert f"foliot {' '.join(words)}" in result.out.partition("Examples:")[2]
    assert "6  the store cannot be reached" in result.out
    assert max(map(len, result.out.splitlines())) <= 80
    assert "..." not in result.out.replace("[ARGS]...", "")


@pytest.mark.parametrize("name", GROUPS)
def test_a_group_without_a_command_shows_its_help(name: str) -> None:
    assert call(name) == call(name, "--help")


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_takes_a_store_and_a_format(words: tuple[str, str]) -> None:
    options = {option for parameter in group(words[0]).commands[words[1]].params for option in parameter.opts}
    names_both = words == ("store", "copy")  # as FROM and TO
    assert {"-o", "--output", *(() if names_both else ("--store",))} <= options


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        ("job pause", "012346"), ("job trigger", "0123468"), ("job list", "012346"),
        ("store check", "012369"), ("node list", "01236"), ("run logs", "0123468"),
        ("store backup", "01236"), ("top", "01236"),
    ],
)  # fmt: skip
def test_a_command_lists_the_exit_codes_that_it_can_end_with(words: str, codes: str) -> None:
    told = call(*words.split(), "--help").out.partition("Exit codes:")[2]
    assert "".join(line.split()[0] for line in told.strip().splitlines()) == codes


def test_a_command_that_is_not_there_is_wrong_usage() -> None:
    assert call("jobs").code == call("job", "lst").code == 2


def completed(words: str, **variables: str) -> list[str]:
    """What a shell would offer for the last word."""
    count = len(words.split(" ")) - 1
    result = run(
        command("foliot"),
        _FOLIOT_COMPLETE="bash_complete",
        COMP_WORDS=words,
        COMP_CWORD=str(count),
        **variables,
    )
    assert (result.code, result.err) == (0, "")
    return result.out.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("foliot jo", ["plain,job"]),
        ("foliot job pa", ["plain,pause"]),
        ("foliot job show billing/re", ["plain,billing/refresh", "plain,billing/report"]),
        ("foliot job why rep", ["plain,billing/report", "plain,ops/report"]),
        ("foliot run list --outcome time", ["plain,timed_out"]),
        ("foliot run list --job sl", ["plain,billing/slow"]),
        ("foliot job show zzz", []),
        ("foliot run logs sl", ["plain,billing/slow"]),
        ("foliot run show billing/slow@", ["plain,billing/slow@2026-03-02T08:00:00Z"]),
        ("foliot source remove o", ["plain,ops"]),
        ("foliot job list --source b", ["plain,billing"]),
        ("foliot serve --queues n", ["plain,night"]),
        ("foliot cron next --tz Europe/Berl", ["plain,Europe/Berlin"]),
    ],
)
def test_a_shell_completes_commands_choices_and_jobs(shop: Shop, words: str, offered: list[str]) -> None:
    assert completed(words, FOLIOT_STORE=shop.url) == offered


def test_a_shell_can_name_the_store_in_the_call(shop: Shop) -> None:
    assert completed(f"foliot job show --store {shop.url} sl") == ["plain,billing/slow"]


@pytest.mark.parametrize("url", ["sqlite:////nowhere/jobs.db", "postgresql://u:p@h/db", "nonsense"])
def test_completion_without_a_store_offers_nothing_and_says_nothing(url: str) -> None:
    assert completed("foliot job show x", FOLIOT_STORE=url) == []
    assert completed("foliot job show x") == []
