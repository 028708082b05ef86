from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest

from alerts.sample import FAILURE, HOSTILE, many
from foliot.alerts.channel import SENT, Fate, Sent
from foliot.alerts.command import Command, environment_of
from foliot.alerts.message import Alert, Digest
from foliot.errors import InvalidChannelError

SHORT = timedelta(seconds=1)


def send(command: str, folder: Path, *alerts: Alert, deadline: timedelta = timedelta(seconds=60)) -> Sent:
    channel = Command(command, folder=folder, deadline=deadline)
    return asyncio.run(channel.send(alerts or [FAILURE]))


def variables(folder: Path) -> dict[str, str]:
    entries = (folder / "env").read_bytes().decode().split("\0")
    return dict(entry.split("=", 1) for entry in entries if entry)


def test_the_alert_is_in_the_environment_and_on_the_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOLIOT_STORE", "postgres://c4nary")

    assert send("env -0 > env; cat > input", tmp_path) == SENT

    found = variables(tmp_path)
    assert found["FOLIOT_ALERT_JOB"] == "ops/backup"
    assert found["FOLIOT_ALERT_KIND"] == "failure"
    assert found["FOLIOT_ALERT_EXIT_CODE"] == "3"
    assert found["FOLIOT_ALERT_IS_TEST"] == "false"
    assert found["FOLIOT_ALERT_HEADLINE"] == "Backup failed (2 in a row)"
    assert "FOLIOT_ALERT_NEXT_AT" not in found
    assert "c4nary" not in str(found)
    assert json.loads((tmp_path / "input").read_text())["type"] == "job.failure"


def test_a_digest(tmp_path: Path) -> None:
    assert send("env -0 > env; cat > input", tmp_path, *many(7)) == SENT

    found = variables(tmp_path)
    assert (found["FOLIOT_ALERT_KIND"], found["FOLIOT_ALERT_COUNT"]) == ("digest", "7")
    assert len(json.loads((tmp_path / "input").read_text())["alerts"]) == 7


def test_hostile_values_are_only_values(tmp_path: Path) -> None:
    assert send("env -0 > env", tmp_path, HOSTILE._replace(title="$(touch pwned)`touch pwned`")) == SENT

    assert not (tmp_path / "pwned").exists()
    for name, value in environment_of(HOSTILE).items():
        assert "\0" not in value
        assert "\x1b" not in value
        assert len(value) <= 10_000, name
    assert environment_of(Digest((HOSTILE,) * 100))


@pytest.mark.parametrize(
    ("command", "fate"),
    [("true", Fate.SENT), ("exit 1", Fate.AGAIN), ("exit 75", Fate.AGAIN), ("kill -9 $$", Fate.AGAIN),
     ("nonexistent-program", Fate.REFUSED), ("exit 64", Fate.REFUSED), ("/", Fate.REFUSED)],
)  # fmt: skip
def test_the_exit_code_decides(command: str, fate: Fate, tmp_path: Path) -> None:
    assert send(command, tmp_path).fate is fate


def test_what_it_wrote_is_told_without_control_characters(tmp_path: Path) -> None:
    said = send(r"printf 'no\r\nroute\033[31m' >&2; exit 7", tmp_path)

    assert said.reason == "the command ended with exit code 7 (no route [31m)"


def test_a_command_that_hangs_is_ended_with_its_children(tmp_path: Path) -> None:
    said = send("sleep 600 & echo $! > pid; wait", tmp_path, deadline=SHORT)

    assert said == Sent.again("the command did not end within 1 s")
    pid = (tmp_path / "pid").read_text().strip()
    status = Path(f"/proc/{pid}/status")
    assert not status.exists() or "\nState:\tZ" in status.read_text()


def test_a_child_that_holds_the_output_does_not_hold_up_the_answer(tmp_path: Path) -> None:
    assert send("sleep 600 & exit 0", tmp_path) == SENT


def test_endless_output_is_drained_and_not_kept(tmp_path: Path) -> None:
    said = send("head -c 20000000 /dev/zero | tr '\\0' x; exit 1", tmp_path)

    assert said.fate is Fate.AGAIN
    assert len(said.reason) < 300


def test_a_command_need_not_read_its_input(tmp_path: Path) -> None:
    assert send("exec <&-; true", tmp_path, *([HOSTILE] * 100)) == SENT


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    channel = Command("true", folder=tmp_path / "gone")

    assert channel.missing() == f"the folder {tmp_path / 'gone'} is not there"
    assert asyncio.run(channel.send([FAILURE])).fate is Fate.AGAIN
    assert Command("true").missing() is None


@pytest.mark.parametrize("command", ["", "  ", "a\0b", "x" * 10_001])
def test_commands_that_are_refused(command: str) -> None:
    with pytest.raises(InvalidChannelError):
        Command(command)
