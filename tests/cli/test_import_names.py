"""`foliot import` of hostile files: neither their names nor their values become jobs or shell commands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from cli.calls import call
from foliot.doors.rollcron.config import read_config

FROM = ("--from", "2026-11-17", "--zone", "UTC", "--prove", "1")
TIMER = "[Timer]\nOnCalendar=*-*-* 02:30\n"
SERVICE = "[Service]\nExecStart=/bin/echo hello\n"
LINE = "0 3 * * * root tidy\n"


def commands_in(folder: Path) -> list[list[str]]:
    """The words of each command that a report proposes; comments are none."""
    fence = re.search(r"^```sh\n(.*?)^```$", (folder / "IMPORT.md").read_text(), re.DOTALL | re.MULTILINE)
    assert fence is not None
    lines = [shlex.split(line, comments=True) for line in fence[1].splitlines()]
    return [words for words in lines if words]


def runs_in(folder: Path) -> list[str]:
    jobs = read_config((folder / "rollcron.yaml").read_text(), source="s")
    return [job.action.data["run"] for job in jobs]


@pytest.mark.parametrize(
    "name",
    [
        "x\n  evil: {schedule: '* * * * *', run: evil}\n  #",
        "x\n```\nevil\n```sh\nevil",
        "x\x85evil\u2028evil",
        "x\udcff",
    ],
)
def test_a_timer_with_line_breaks_in_its_name_adds_no_job_and_no_command(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.timer").write_text(TIMER)
    (tmp_path / f"{name}.service").write_text(SERVICE)
    done = call("import", "systemd", str(tmp_path), "--to", str(tmp_path / "ops"), *FROM)
    assert done.code == 9, done.err  # the owner of the unit is not known
    assert runs_in(tmp_path / "ops") == ["/bin/echo hello"]
    assert commands_in(tmp_path / "ops") == []
    assert "# by hand, because a name is not printable: systemctl" in (tmp_path / "ops/IMPORT.md").read_text()


@pytest.mark.parametrize("name", ["a; evil", "$(evil)", "a b", "it's", "`evil`"])
def test_names_of_files_are_quoted_in_commands(tmp_path: Path, name: str) -> None:
    root = tmp_path / "a host"
    for folder in ("etc/cron.d", "etc/systemd/system"):
        (root / folder).mkdir(parents=True)
    table = root / "etc/cron.d" / name
    table.write_text(LINE)
    (root / "etc/anacrontab").write_text("7 10 weekly run-it\n")
    (root / f"etc/systemd/system/{name}.timer").write_text(TIMER)
    (root / f"etc/systemd/system/{name}.service").write_text(SERVICE)
    call("import", "host", "--root", str(root), "--to", str(tmp_path / "ops"), *FROM)
    assert commands_in(tmp_path / "ops") == [
        ["mv", str(table), f"{table}.before-foliot"],
        ["mv", f"{root}/etc/anacrontab", f"{root}/etc/anacrontab.before-foliot"],
        ["systemctl", "disable", "--now", f"{name}.timer"],
    ]


def test_a_timer_that_looks_like_an_option_is_none(tmp_path: Path) -> None:
    (tmp_path / "--force.timer").write_text(TIMER)
    (tmp_path / "--force.service").write_text(SERVICE)
    call("import", "systemd", str(tmp_path), "--to", str(tmp_path / "ops"), *FROM)
    assert commands_in(tmp_path / "ops") == [["systemctl", "disable", "--now", "--", "--force.timer"]]


def test_a_table_whose_name_is_no_user_is_not_translated(tmp_path: Path) -> None:
    spool = tmp_path / "host/var/spool/cron/crontabs"
    spool.mkdir(parents=True)
    (spool / "ann; evil").write_text("* * * * * id\n")
    done = call("import", "host", "--root", str(tmp_path / "host"), "--to", str(tmp_path / "ops"), *FROM)
    assert done.code == 9
    assert runs_in(tmp_path / "ops") == []
    assert "user: " in done.out


def test_the_table_of_a_user_is_switched_off_for_this_user(tmp_path: Path) -> None:
    (tmp_path / "t\nevil").write_text("0 3 * * * tidy\n")
    call("import", "crontab", str(tmp_path / "t\nevil"), "--user", "alice", "--to", str(tmp_path), *FROM)
    assert commands_in(tmp_path) == [
        ["crontab", "-u", "alice", "-l", ">", "crontab.before-foliot"],
        ["crontab", "-u", "alice", "-r"],
    ]


@pytest.mark.parametrize("said", ["UMask=022; evil", "UMask=u=rwx", "Nice=5 $$; evil #", "Nice=$(evil)"])
def test_a_setting_that_is_no_number_does_not_get_into_the_command(tmp_path: Path, said: str) -> None:
    (tmp_path / "x.timer").write_text(TIMER)
    (tmp_path / "x.service").write_text(f"{SERVICE}{said}\n")
    done = call("import", "systemd", str(tmp_path), "--to", str(tmp_path / "ops"), *FROM)
    assert done.code == 9
    assert runs_in(tmp_path / "ops") == []
    assert f"is no value of {said.partition('=')[0]}" in done.out


def test_numbers_of_a_unit_are_taken_over(tmp_path: Path) -> None:
    (tmp_path / "x.timer").write_text(TIMER)
    (tmp_path / "x.service").write_text(f"{SERVICE}UMask=0027\nNice=-5\n")
    call("import", "systemd", str(tmp_path), "--to", str(tmp_path / "ops"), *FROM)
    assert runs_in(tmp_path / "ops") == ["umask 0027 && renice -n -5 $$ > /dev/null && /bin/echo hello"]
