"""A shell of one's own, no shell, a text to read, exit codes, and secrets of the host."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from executors.shell.stage import Stage, a_run, play, see, until
from foliot.executors.shell.secrets import HostSecrets, masked_texts
from foliot.model.attempt import Outcome
from foliot.protocols import Result

BASH = {"shell": "bash"}
PASSWORD = "correct horse battery"  # noqa: S105 - of nothing


def test_a_job_names_its_shell(tmp_path: Path) -> None:
    assert see(tmp_path, 'a=(1 2); echo "$0 ${a[1]}"', **BASH).output == "bash 2\n"
    assert see(tmp_path, "echo $0", **{**BASH, "shell": "/bin/bash"}).output == "bash\n"
    told = see(tmp_path, "true", **{**BASH, "shell": "/no/such/shell"})
    assert told.error == "cannot be started: [Errno 2] No such file or directory: '/no/such/shell'"


def test_a_list_needs_no_shell_and_is_found_by_its_own_path(tmp_path: Path) -> None:
    assert see(tmp_path, ["printf", "%s|", "$HOME", "a  b", "-x"]).output == "$HOME|a  b|-x|"
    own = tmp_path / "tool"
    own.write_text("#!/bin/sh\necho own $1\n")
    own.chmod(0o755)
    (tmp_path / "dir" / "tool").mkdir(parents=True)
    assert see(tmp_path, ["./tool", "one"]).output == "own one\n"
    path = f"{tmp_path}/dir:{tmp_path}:/bin:/usr/bin"
    assert see(tmp_path, ["tool", "two"], env={"PATH": path}).output == "own two\n"
    assert see(tmp_path, ["tool"]).error == "cannot be started: [Errno 2] it is not in the PATH: 'tool'"


@pytest.mark.parametrize("command", [[], [1], {"a": 1}, None])
def test_what_is_no_command_fails(tmp_path: Path, command: object) -> None:
    told = see(tmp_path, command)
    assert told.outcome is Outcome.FAILED
    assert "must be the text of a command, or a list of texts" in str(told.error)


def test_a_job_has_a_text_to_read(tmp_path: Path) -> None:
    assert see(tmp_path, "cat", stdin="one\nzwölf\n").output == "one\nzwölf\n"
    assert see(tmp_path, "wc -c", stdin="x" * 65_536).output.strip() == "65536"
    assert see(tmp_path, "true", stdin="x" * 65_536).outcome is Outcome.SUCCEEDED  # none of it was read


@pytest.mark.parametrize(
    ("code", "codes", "outcome", "error"),
    [
        (3, {"ok": [0, 3]}, Outcome.SUCCEEDED, None),
        (0, {"ok": [0, 3]}, Outcome.SUCCEEDED, None),
        (1, {"ok": [0, 3]}, Outcome.FAILED, "exit code 1"),
        (0, {"ok": [3]}, Outcome.FAILED, "exit code 0"),
        (75, {"skip": [75]}, Outcome.CANCELLED, "exit code 75: the command has skipped this run"),
        (0, {"skip": [75]}, Outcome.SUCCEEDED, None),
    ],
)
def test_a_job_says_what_its_exit_codes_mean(
    tmp_path: Path, code: int, codes: dict[str, list[int]], outcome: Outcome, error: str | None
) -> None:
    told = see(tmp_path, f"exit {code}", exit_codes=codes)
    assert (told.outcome, told.error, told.exit_code) == (outcome, error, code)


def secret_file(folder: Path, text: str, mode: int = 0o600) -> HostSecrets:
    (folder / "shop.env").write_text(text)
    (folder / "shop.env").chmod(mode)
    return HostSecrets(folder)


def told_with(path: Path, host: HostSecrets, command: str, **data: Any) -> Result:
    results: list[Result] = []

    async def scene(stage: Stage) -> None:
        results.append(await stage.see(command, **data))

    play(path, scene, secrets=host)
    return results[0]


@pytest.mark.req("OWN-05")
def test_secrets_of_the_host_are_variables_and_are_masked_in_output_and_errors(tmp_path: Path) -> None:
    host = secret_file(tmp_path, f'PASSWORD="{PASSWORD}"\nPIN=1234\nKEY="line one\\nsecond line"\n')
    host = host._replace(variables={"DB_URL": "postgres://u:pass@h/d"})
    command = (
        'echo "$PASSWORD $PIN $DB_URL" | cut -c 1-100; echo "$KEY"; echo "no $PASSWORD" >&2; '
        f'test "$PASSWORD" = "{PASSWORD}" && exit 3'
    )
    told = told_with(tmp_path, host, command, secrets="shop", pass_env=["DB_URL"])

    assert told.output.splitlines()[:3] == ["*** 1234 ***", "***", "no ***"]
    assert told.error == "exit code 3: no ***"


@pytest.mark.req("OWN-05")
def test_secrets_are_masked_in_live_output(tmp_path: Path) -> None:
    host, gate = secret_file(tmp_path, f"PASSWORD='{PASSWORD}'\n"), tmp_path / "gate"
    os.mkfifo(gate)
    run = a_run('printf %s "$PASSWORD" | cut -c 1-9 | tr -d "\\n"; cat gate; '
                'printf "%s\\n" "$PASSWORD" | cut -c 10-; echo; cat gate', secrets="shop")  # fmt: skip

    async def scene(stage: Stage) -> None:
        stage.start(run)
        await asyncio.to_thread(gate.write_text, "")
        await until(lambda: stage.followed and "***" in stage.followed[0][1].text)
        assert PASSWORD[:9] not in stage.followed[0][1].text
        await asyncio.to_thread(gate.write_text, "")
        assert "***" in (await stage.result(run)).output

    play(tmp_path, scene, secrets=host, is_followed=True)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"secrets": "other"}, "invalid secrets other.env: it cannot be read (No such file or directory)"),
        ({"secrets": "../shop"}, "must be letters, digits"),
        ({"pass_env": ["HOME"]}, "invalid pass_env HOME: the daemon may not pass it on"),
        ({"pass_env": ["UNSET"]}, "invalid pass_env UNSET: it is not set in the daemon's environment"),
    ],
)
def test_what_the_operator_does_not_give_fails_the_run(
    tmp_path: Path, data: dict[str, Any], words: str
) -> None:
    told = told_with(tmp_path, HostSecrets(tmp_path, {"UNSET": None}), "true", **data)
    assert words in str(told.error)


def test_a_daemon_without_a_folder_of_secrets_says_how_to_get_one(tmp_path: Path) -> None:
    assert "the daemon has no folder of secrets" in str(see(tmp_path, "true", secrets="shop").error)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_file_of_secrets_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    told = told_with(tmp_path, secret_file(tmp_path, "A=b\n", mode), "true", secrets="shop")
    assert "invalid secrets shop.env: others may read it" in str(told.error)


def test_the_error_of_a_file_of_secrets_says_nothing_of_what_it_holds(tmp_path: Path) -> None:
    told = told_with(tmp_path, secret_file(tmp_path, "pass word\n"), "true", secrets="shop")
    assert "secrets shop.env, line 1: it is not NAME=value" in str(told.error)
    assert "word" not in str(told.error)


def test_what_the_file_of_jobs_says_wins_over_secrets_and_they_over_its_env_file(tmp_path: Path) -> None:
    (tmp_path / "vars").write_text("A=file\nB=file\n")
    host = secret_file(tmp_path, "A=own\nB=own\nC=own\n")
    told = told_with(tmp_path, host, "echo $A $B $C", secrets="shop", env_file="vars", env={"B": "env"})
    assert told.output == "own env own\n"


def test_short_values_are_not_masked() -> None:
    assert masked_texts({"A": "12345", "B": "123456", "C": "", "D": "ab\nlonger line"}) == [
        "123456", "ab\nlonger line", "longer line"
    ]  # fmt: skip
