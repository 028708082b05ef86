"""What the real django-celery-beat has written into a database, taken over by the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

BIN = Path(sys.executable).parent
PATIENCE = 120
PROJECT = """
import os
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "site_settings")
from celery import Celery
from celery.schedules import crontab
app = Celery("site", broker="memory://")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.result_expires = None
app.conf.beat_schedule = {"of the code": {"task": "t.code", "schedule": crontab(0)}}
"""
SETTINGS = """
SECRET_KEY = "test"
INSTALLED_APPS = ["django.contrib.contenttypes", "django_celery_beat"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "site.db"}}
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
CELERY_FOLIOT_STORE = "sqlite:///beat.db"
CELERY_TIMEZONE = "Europe/Berlin"
"""
WRITE = """
import site_project
import django
django.setup()
from datetime import UTC, datetime, timedelta
from django.core.management import call_command
from django_celery_beat.models import *
call_command("migrate", verbosity=0)
last = datetime(2026, 11, 15, 12, 0, 0, 20000, tzinfo=UTC)
nightly = CrontabSchedule.objects.create(minute="30", hour="4", day_of_week="mon-fri", timezone="Asia/Tokyo")
hourly, _ = CrontabSchedule.objects.get_or_create(minute="0", timezone="UTC")
often, _ = IntervalSchedule.objects.get_or_create(every=5, period="minutes")
quick, _ = IntervalSchedule.objects.get_or_create(every=5, period="microseconds")
sun, _ = SolarSchedule.objects.get_or_create(event="sunset", latitude=1, longitude=2)
past, _ = ClockedSchedule.objects.get_or_create(clocked_time=datetime(2026, 1, 1, tzinfo=UTC))
future, _ = ClockedSchedule.objects.get_or_create(clocked_time=datetime(2099, 1, 1, tzinfo=UTC))
def add(name, **fields):
    PeriodicTask.objects.create(name=name, task="t.x", **fields)
add("zoned", crontab=nightly, last_run_at=last, args="[1, 2]", kwargs='{"a": 1}', queue="mail",
    expire_seconds=60)
add("interval", interval=often, last_run_at=last, priority=3)
add("off", interval=often, enabled=False)
add("later", crontab=hourly, start_time=datetime(2098, 6, 1, 0, 30, tzinfo=UTC))
add("ends", crontab=hourly, last_run_at=last, expires=datetime(2097, 1, 1, tzinfo=UTC))
add("once to come", clocked=future, one_off=True)
add("once missed", clocked=past, one_off=True)
add("once done", clocked=past, one_off=True, total_run_count=1)
add("next hour only", crontab=hourly, one_off=True, last_run_at=last)
add("of the code", crontab=hourly, last_run_at=last)
if {with_refused}:
    add("by the sun", solar=sun)
    add("too quick", interval=quick)
    add("broken", interval=often)
    PeriodicTask.objects.filter(name="broken").update(args="[1")
"""
pytestmark = pytest.mark.prove  # Django takes seconds to start, several times
LAST = "2026-11-15T12:00:00.020000+00:00"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "site_project.py").write_text(PROJECT)
    (tmp_path / "site_settings.py").write_text(SETTINGS)
    return tmp_path


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "FOLIOT_STORE"}
    return subprocess.run(  # noqa: S603 - our own command
        words, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


def write_rows(folder: Path, *, with_refused: bool = False) -> None:
    done = run(folder, sys.executable, "-c", WRITE.replace("{with_refused}", str(with_refused)))
    assert done.returncode == 0, done.stderr


def take_over(folder: Path, *more: str) -> tuple[int, Any, str]:
    words = (str(BIN / "foliot"), "beat", "-A", "site_project", "--import", "django", "-o", "json", *more)
    done = run(folder, *words)
    return done.returncode, json.loads(done.stdout or "null"), done.stderr


def next_at(facts: Any) -> datetime:
    found: str = facts["next_at"]
    return datetime.fromisoformat(found)


def test_rows_become_jobs_that_go_on_after_their_last_run(folder: Path) -> None:
    write_rows(folder)

    code, facts, errors = take_over(folder)

    assert code == 0, errors
    assert facts["done"] == ["once done"]
    assert facts["refused"] == []
    jobs = {job["job"]: job for job in facts["jobs"]}
    assert {job["result"] for job in jobs.values()} == {"imported"}
    zoned = jobs["site.added/zoned"]
    assert (zoned["schedule"], zoned["last_run_at"]) == ("30 4 * * 1-5", LAST)
    assert next_at(zoned) == datetime(2026, 11, 15, 19, 30, tzinfo=UTC)  # 04:30 on Monday, in Tokyo
    assert next_at(jobs["site.added/interval"]) == datetime(2026, 11, 15, 12, 5, tzinfo=UTC)
    assert next_at(jobs["site.added/later"]) == datetime(2098, 6, 1, 1, tzinfo=UTC)
    assert next_at(jobs["site.added/once to come"]) == datetime(2099, 1, 1, tzinfo=UTC)
    assert next_at(jobs["site.added/once missed"]) == datetime(2026, 1, 1, tzinfo=UTC)
    assert jobs["site.added/next hour only"]["schedule"] == "2026-11-15T13:00:00+00:00"
    assert jobs["site.added/off"]["next_at"] is None
    assert next_at(jobs["site/of the code"]) == datetime(2026, 11, 15, 13, tzinfo=UTC)

    shown = run(folder, str(BIN / "foliot"), "job", "show", "site.added/zoned", "-o", "json",
                "--store", "sqlite:///beat.db")  # fmt: skip
    action = json.loads(shown.stdout)["definition"]["action"]
    assert action["kind"] == "celery"
    assert action["data"] == {
        "task": "t.x",
        "args": [1, 2],
        "kwargs": {"a": 1},
        "options": {"queue": "mail", "expires": 60, "headers": {"periodic_task_name": "zoned"}},
    }


def test_refused_rows_stop_the_import_unless_they_are_to_be_skipped(folder: Path) -> None:
    write_rows(folder, with_refused=True)

    code, facts, _ = take_over(folder)

    assert code == 3
    message = facts["error"]["message"]
    assert "by the sun: solar('sunset') is not supported" in message
    assert "too quick: an interval of 5e-06 s" in message
    assert "broken: its args" in message
    assert not (folder / "beat.db").exists()

    code, facts, errors = take_over(folder, "--skip-refused")

    assert code == 0, errors
    assert {one["entry"] for one in facts["refused"]} == {"by the sun", "too quick", "broken"}
    assert len(facts["jobs"]) == 9
