"""`foliot import --split`, `--split-by-user`, and who runs what comes from a whole host."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.calls import call
from foliot.doors.rollcron.config import read_config

FROM = ("--from", "2026-11-17", "--zone", "Europe/Berlin")
TABLE = """17 * * * * root cd / && run-parts --report /etc/cron.hourly
MAILTO=""
0 3 * * * www-data tidy
0 4 * * * www-data [ $(date +\\%u) = 1 ] && first-monday
"""


@pytest.fixture
def host(tmp_path: Path) -> Path:
    root = tmp_path / "host"
    (root / "etc/cron.hourly").mkdir(parents=True)
    for name in ("a", "b"):
        (root / f"etc/cron.hourly/{name}").write_text("#!/bin/sh\n")
        (root / f"etc/cron.hourly/{name}").chmod(0o755)
    (root / "etc/crontab").write_text(TABLE)
    (root / "etc/anacrontab").write_text("7 10 weekly.job run-it\n")
    units = root / "etc/systemd/system"
    units.mkdir(parents=True)
    for name, more in (("mine", ""), ("theirs", "User=bob\n"), ("nobodys", "DynamicUser=yes\n")):
        (units / f"{name}.timer").write_text("[Timer]\nOnCalendar=daily\n")
        (units / f"{name}.service").write_text(f"[Service]\nExecStart=/bin/true\n{more}")
    return root


@pytest.mark.req("OWN-17")
def test_a_host_is_split_into_scripts_that_run_one_at_a_time(host: Path, tmp_path: Path) -> None:
    done = call("import", "host", "--root", str(host), "--split", "--to", str(tmp_path / "ops"), *FROM)
    assert done.code == 9
    text = (tmp_path / "ops/rollcron.yaml").read_text()
    jobs = {job.name: job for job in read_config(text, source="s")}
    assert "  cron-hourly: 1\n" in text
    assert {jobs[name].group for name in ("a", "b")} == {"s.cron-hourly"}
    assert "/etc/cron.hourly becomes 2 jobs: a, b" in (tmp_path / "ops/IMPORT.md").read_text()
    assert call("check", "--strict", str(tmp_path / "ops")).code == 0


def test_what_ran_as_root_on_a_host_is_said_to(host: Path, tmp_path: Path) -> None:
    done = call("import", "host", "--root", str(host), "--to", str(tmp_path / "ops"), *FROM)
    jobs = read_config((tmp_path / "ops/rollcron.yaml").read_text(), source="s")
    users = {job.name: job.action.data.get("user") for job in jobs}
    assert (users["weekly-job"], users["mine"], users["theirs"]) == ("root", "root", "bob")
    assert users["nobodys"] is None
    assert "anacron runs its jobs as root: start the daemon as root with --run-as root" in done.out
    assert "it has no User=, so systemd runs it as root" in done.out
    assert "DynamicUser" in done.out


def test_a_unit_of_unknown_owner_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "x.timer").write_text("[Timer]\nOnCalendar=daily\n")
    (tmp_path / "x.service").write_text("[Service]\nExecStart=/bin/true\n")
    done = call("import", "systemd", str(tmp_path), "--to", str(tmp_path), *FROM)
    assert done.code == 9
    assert "it has no User=: a unit of the system runs as root" in done.out


def test_each_user_gets_a_directory_and_there_is_one_report(host: Path, tmp_path: Path) -> None:
    table, ops = host / "etc/crontab", tmp_path / "ops"
    asked = ("import", "crontab", str(table), "--system", "--split-by-user", "--to", str(ops), *FROM)
    done = call(*asked, "-o", "json")
    files = sorted(str(path.relative_to(ops)) for path in ops.rglob("*") if path.is_file())
    assert files == ["IMPORT.md", "root/rollcron.yaml", "www-data/rollcron.yaml"]
    facts = json.loads(done.out)
    assert {job["job"]: job["user"] for job in facts["sources"][0]["jobs"]} == {
        "cron-hourly": "root", "tidy": "www-data", "first-monday": "www-data",
    }  # fmt: skip
    for user, count in (("root", 1), ("www-data", 2)):
        text = (ops / user / "rollcron.yaml").read_text()
        assert "    user: " not in text
        assert len(read_config(text, source="s")) == count
    report = (ops / "IMPORT.md").read_text()
    assert report.count("equal: ") == 3
    assert "runuser -u www-data -- foliot serve www-data" in report
    assert "--run-as" not in report
    assert call(*asked).code == 1, "nothing is written over"


def test_a_test_that_says_no_is_named_in_the_report(host: Path, tmp_path: Path) -> None:
    done = call("import", "crontab", str(host / "etc/crontab"), "--system", "--to", str(tmp_path), *FROM)
    report = (tmp_path / "IMPORT.md").read_text()
    assert done.code == 9
    assert "exit\\_codes: {skip: \\[1\\]}" in report
    assert "only: mondays" in report
