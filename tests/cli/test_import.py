"""`foliot import` as its users call it: the crontab of a real host, timers, CronJobs, a whole host."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cli.calls import call
from foliot.doors.rollcron.config import read_config

FROM = ("--from", "2026-11-17", "--zone", "Europe/Berlin")
# The crontab of the person who tried to move (PEOPLE.md, chapter 3).
TABLE = r"""# jobs of the shop
SHELL=/bin/bash
PATH=/usr/local/bin:/usr/bin:/bin
MAILTO=ops@example.org
CRON_TZ=Europe/Berlin
BACKUP_DIR=/var/backups

@reboot root /srv/shop/bin/warm-cache
# the database, before anyone comes
30 2 * * * postgres pg_dump shop > $BACKUP_DIR/shop-$(date +\%F).sql
0 4 * * 0 root find /tmp -mtime +14 -delete
* * * * * www-data flock -n /run/queue.lock php /srv/shop/artisan queue:work >> /var/log/queue.log 2>&1
@daily root logrotate /etc/logrotate.conf
17 3,15 * * * root certbot renew --deploy-hook "systemctl reload nginx"
*/5 * * * * www-data curl -fsS http://localhost/health
MAILTO=""
0 1 * * * root sleep $((RANDOM \% 600)); rsync -a /srv backup:/srv
* * * * * www-data php /srv/shop/artisan schedule:run
0 7 * * 1 root nice ionice -c3 weekly-report%Dear all,%here it is
0 9 1-7 * * root [ $(date +\%u) = 1 ] && first-monday
15 5 */2 * 1 root /srv/shop/bin/every-other-monday
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "crontab"
    path.write_text(TABLE)
    return path


@pytest.mark.req("OWN-17")
def test_the_crontab_of_a_real_host_is_taken_over_whole(table: Path, tmp_path: Path) -> None:
    done = call("import", "crontab", str(table), "--system", "--to", str(tmp_path / "ops"), *FROM)
    assert done.code == 9, done.out  # users need --run-as, and CRON_TZ never had an effect
    counted = re.search(r"(\d+) lines = (.+)", done.out)
    assert counted is not None
    parts = [int(number) for number in re.findall(r"\d+", counted[2])]
    assert sum(parts) == int(counted[1]) == len(TABLE.splitlines())
    assert "not translated" not in counted[2]
    text = (tmp_path / "ops/rollcron.yaml").read_text()
    jobs = {job.name: job for job in read_config(text, source="s")}
    assert len(jobs) == 12
    assert jobs["pg_dump"].action.data["user"] == "postgres"
    assert jobs["pg_dump"].action.data["run"] == "cd; pg_dump shop > $BACKUP_DIR/shop-$(date +%F).sql"
    assert jobs["pg_dump"].policy.timeout is None
    assert jobs["weekly-report"].action.data["stdin"] == "Dear all,\nhere it is\n"
    assert jobs["weekly-report"].policy.notify is None
    assert str(jobs["warm-cache"].schedule) == "@reboot"
    report = (tmp_path / "ops/IMPORT.md").read_text()
    assert "CRON\\_TZ=Europe/Berlin never had an effect" in report
    assert re.search(r"`every-other-monday` .* equal: 1,\d+ of 1,\d+", report)
    assert f"mv {table} {table}.before-foliot" in report


def test_the_generated_file_passes_the_strict_check(table: Path, tmp_path: Path) -> None:
    call("import", "crontab", str(table), "--system", "--to", str(tmp_path / "ops"), *FROM)
    done = call("check", "--strict", str(tmp_path / "ops"), "--from", "2026-11-17")
    warnings = [line for line in done.out.splitlines() if line.startswith("warning")]
    assert done.code == (9 if warnings else 0)
    assert not warnings


def test_the_same_table_gives_the_same_bytes_and_is_not_written_over(table: Path, tmp_path: Path) -> None:
    asked = ("import", "crontab", str(table), "--system", "--to", str(tmp_path / "ops"), *FROM)
    call(*asked)
    before = (tmp_path / "ops/rollcron.yaml").read_bytes()
    refused = call(*asked)
    assert refused.code == 1
    assert "is there already" in refused.err
    assert call(*asked, "--force").code == 9
    assert (tmp_path / "ops/rollcron.yaml").read_bytes() == before


def test_a_table_without_any_trouble_ends_with_zero(tmp_path: Path) -> None:
    (tmp_path / "t").write_text('MAILTO=""\n30 2 * * * true\n')
    done = call("import", "crontab", str(tmp_path / "t"), "--to", str(tmp_path), *FROM)
    assert done.code == 0, done.out
    assert "equal: 1,600 of 1,600" in done.out


def test_a_difference_needs_a_person(tmp_path: Path) -> None:
    (tmp_path / "t").write_text('MAILTO=""\n0,30 2 * * * true\n')
    done = call("import", "crontab", str(tmp_path / "t"), "--to", str(tmp_path), "-o", "json", *FROM)
    facts = json.loads(done.out)
    (job,) = facts["sources"][0]["jobs"]
    assert done.code == 9
    assert not facts["ok"]
    assert job["proof"]["differences"][0]["code"] == "gap-coalesced"
    assert len(facts["sources"][0]["lines"]) == 2


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = call("import", "crontab", str(tmp_path / "none"), "--to", str(tmp_path))
    assert done.code == 4
    assert "there is no" in done.err


TIMER = """[Timer]
OnCalendar=Mon *-*-1..7 09:00
OnCalendar=*-*-* 02:30 UTC
OnCalendar=2027-*-* 00:00
Persistent=true
RandomizedDelaySec=5min
OnBootSec=1h
"""
SERVICE = """[Service]
Type=oneshot
ExecStart=/bin/echo ${WHAT} "two words" %n
Environment=WHAT=x
TimeoutStartSec=1h 30min
PrivateTmp=yes
"""


def test_a_timer_becomes_a_job_for_each_of_its_events(tmp_path: Path) -> None:
    (tmp_path / "tidy.timer").write_text(TIMER)
    (tmp_path / "tidy.service").write_text(SERVICE)
    done = call("import", "systemd", str(tmp_path), "--to", str(tmp_path / "ops"), *FROM)
    assert done.code == 9
    jobs = read_config((tmp_path / "ops/rollcron.yaml").read_text(), source="s")
    assert [str(job.schedule) for job in jobs] == ["0 9 1-7 * 1", "30 2 * * *"]
    assert jobs[0].action.data["run"] == "/bin/echo \"${WHAT}\" 'two words' tidy.service"
    assert (jobs[0].policy.misfire.mode, jobs[0].policy.overlap.mode) == ("once", "skip")
    assert "7 lines = 2 jobs + 3 settings + 2 not translated" in done.out
    assert done.out.count("equal: ") == 2
    assert "systemctl disable --now tidy.timer" in (tmp_path / "ops/IMPORT.md").read_text()


CRONJOBS = """# two of them
apiVersion: batch/v1
kind: CronJob
metadata: {name: report, namespace: shop}
spec:
  schedule: "5/15 2 * * ?"
  timeZone: America/New_York
  concurrencyPolicy: Replace
  startingDeadlineSeconds: 600
  suspend: true
  jobTemplate: {spec: {activeDeadlineSeconds: 90, backoffLimit: 2}}
---
kind: CronJob
metadata: {name: wrong}
spec: {schedule: "61 * * * *"}
---
kind: Service
"""


def test_cron_jobs_of_kubernetes_are_taken_over(tmp_path: Path) -> None:
    (tmp_path / "k.yaml").write_text(CRONJOBS)
    done = call("import", "kubernetes", str(tmp_path / "k.yaml"), "--to", str(tmp_path), *FROM)
    assert done.code == 9
    (job,) = read_config((tmp_path / "rollcron.yaml").read_text(), source="s")
    assert (job.name, job.enabled, job.policy.overlap.mode) == ("report", False, "replace")
    assert str(job.policy.timeout) == "0:01:30"
    assert "17 lines = 1 job + 14 settings + 1 comment + 1 not translated" in done.out
    assert "equal: 1,596 of 1,596" in done.out
    assert "kubectl patch cronjob -n shop report" in (tmp_path / "IMPORT.md").read_text()


def test_a_whole_host_is_one_report(tmp_path: Path) -> None:
    root = tmp_path / "host"
    for folder in ("etc/cron.d", "etc/cron.daily", "var/spool/cron/crontabs", "etc/systemd/system"):
        (root / folder).mkdir(parents=True)
    (root / "etc/crontab").write_text("17 * * * * root tidy-up\n")
    (root / "etc/cron.d/php").write_text("9,39 * * * * root sessionclean\n")
    (root / "etc/cron.daily/dpkg").write_text("#!/bin/sh\n")
    (root / "etc/anacrontab").write_text("7 10 weekly.job run-it\n3 5 odd run-that\n")
    (root / "var/spool/cron/crontabs/ann").write_text("0 3 * * * backup\n")
    (root / "etc/systemd/system/tidy.timer").write_text(TIMER)
    (root / "etc/systemd/system/tidy.service").write_text(SERVICE)
    done = call("import", "host", "--root", str(root), "--to", str(tmp_path / "ops"), *FROM)
    assert done.code == 9
    jobs = read_config((tmp_path / "ops/rollcron.yaml").read_text(), source="s")
    assert [job.name for job in jobs] == ["tidy-up", "sessionclean", "backup", "weekly-job", "tidy", "tidy-2"]
    assert "every 3 days is no rule of a calendar" in done.out
    before = sorted(path.relative_to(root) for path in root.rglob("*") if path.is_file())
    assert len(before) == 7  # nothing was added, nothing taken away


def test_the_table_of_a_user_on_a_host_runs_as_this_user(tmp_path: Path) -> None:
    for name in ("alice", "bob"):
        table = tmp_path / f"host/var/spool/cron/crontabs/{name}"
        table.parent.mkdir(parents=True, exist_ok=True)
        table.write_text("* * * * * id\n")
    done = call("import", "host", "--root", str(tmp_path / "host"), "--to", str(tmp_path / "ops"), *FROM)
    assert done.code == 9
    jobs = read_config((tmp_path / "ops/rollcron.yaml").read_text(), source="s")
    runs = [(job.action.data["user"], job.action.data["run"]) for job in jobs]
    assert runs == [("alice", "cd; id"), ("bob", "cd; id")]
    for name in ("alice", "bob"):
        assert f"it runs as {name}: start the daemon as root with --run-as {name}" in done.out


def test_a_crontab_of_another_user_runs_as_that_user_and_ones_own_as_before(tmp_path: Path) -> None:
    (tmp_path / "t").write_text('MAILTO=""\n* * * * * id\n')
    asked = ("import", "crontab", str(tmp_path / "t"), *FROM)
    other = call(*asked, "--user", "alice", "--to", str(tmp_path / "a"))
    (job,) = read_config((tmp_path / "a/rollcron.yaml").read_text(), source="s")
    assert (other.code, job.action.data["user"], job.action.data["run"]) == (9, "alice", "cd; id")
    assert "--run-as alice" in other.out
    assert call(*asked, "--to", str(tmp_path / "b")).code == 0
    (job,) = read_config((tmp_path / "b/rollcron.yaml").read_text(), source="s")
    assert "user" not in job.action.data


@pytest.mark.parametrize(
    "text", ["OnCalendar=", "[Timer\nOnCalendar", "\x00\xff", "[Timer]\nOnCalendar=\\\n\\\n"]
)
def test_hostile_units_end_in_a_report(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.timer").write_text(text)
    done = call("import", "systemd", str(tmp_path), "--to", str(tmp_path / "ops"), *FROM)
    assert done.code in (0, 9)


@pytest.mark.parametrize("text", ["a: &x 1\nb: *x\n", "]: [", "\x07", "- - -", ""])
def test_hostile_manifests_end_in_a_report(tmp_path: Path, text: str) -> None:
    (tmp_path / "k.yaml").write_text(text)
    done = call("import", "kubernetes", str(tmp_path / "k.yaml"), "--to", str(tmp_path / "ops"), *FROM)
    assert done.code in (0, 3, 9), done.err
