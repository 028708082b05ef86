"""`foliot beat`: --check, and what it refuses. What it does as a beat is in tests/doors/celery_beat."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.calls import call

PROJECT = """
from celery import Celery
from celery.schedules import crontab
app = Celery("proj", broker="memory://", set_as_current=False)
app.conf.update(result_expires=None, timezone="Europe/Berlin", beat_schedule={entries})
other = 5
"""
GOOD = '{"a": {"task": "t.a", "schedule": crontab(30, 3)}, "b": {"task": "t.b", "schedule": 60.0}}'
DIFFERENT = '{"a": {"task": "t.a", "schedule": crontab(30, 2)}}'
REFUSED = '{"a": {"task": "t.a", "schedule": crontab(30, 3)}, "b": {"task": "t.b", "schedule": 0.5}}'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a project in it, from which the command is called."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delenv("FOLIOT_STORE", raising=False)
    yield tmp_path
    sys.modules.pop("beat_project", None)


def write_project(folder: Path, entries: str) -> None:
    (folder / "beat_project.py").write_text(PROJECT.format(entries=entries))


def test_check_proves_the_entries_and_notes_the_phase_of_intervals(folder: Path) -> None:
    write_project(folder, GOOD)

    result = call("beat", "-A", "beat_project", "--check")

    assert result.code == 0, result.err
    rows = [line.split() for line in result.out.splitlines()]
    assert rows[0][:2] == ["ENTRY", "SCHEDULE"]
    assert rows[1][0] == "a"
    assert rows[1][-2:] == ["1000", "same"]
    assert "note: b: runs at each multiple of 1m since 1970-01-01 UTC" in result.out


def test_check_names_differences_with_their_cause(folder: Path) -> None:
    write_project(folder, DIFFERENT)

    result = call("beat", "-A", "beat_project", "--check", "-o", "json")

    assert result.code == 9
    (facts,) = result.json()["entries"]
    assert result.json()["ok"] is False
    assert facts["schedule"] == "30 2 * * *"
    assert facts["compared"] == 1000
    assert {"the clocks go forward", "the clocks go back"} == {
        difference["cause"].partition(",")[0] for difference in facts["differences"]
    }


def test_check_shows_all_that_is_refused(folder: Path) -> None:
    write_project(folder, REFUSED)

    result = call("beat", "-A", "beat_project:app", "--check")

    assert result.code == 9
    assert "error: entry b: an interval of 0.5 s is no whole number of seconds" in result.out
    assert "hint: write 1.0" in result.out


def test_check_of_an_application_without_entries(folder: Path) -> None:
    write_project(folder, "{}")

    assert call("beat", "-A", "beat_project", "--check").out == "No entries.\n"


def test_refused_entries_are_no_beat(folder: Path) -> None:
    write_project(folder, REFUSED)

    result = call("beat", "-A", "beat_project", "--store", f"sqlite:///{folder}/beat.db")

    assert result.code == 3
    assert "error: 1 entry cannot be carried over: entry b: an interval of 0.5 s" in result.err
    assert "--skip-refused" in result.err
    assert not (folder / "beat.db").exists()


def test_without_a_store_it_says_what_to_write(folder: Path) -> None:
    write_project(folder, GOOD)

    result = call("beat", "-A", "beat_project")

    assert result.code == 3
    assert "error: foliot_store is not set" in result.err
    assert "FOLIOT_STORE" in result.err


@pytest.mark.parametrize(
    ("app", "reason"),
    [
        ("no_such_project", "cannot be imported: ModuleNotFoundError"),
        ("beat_project:none", "cannot be imported: "),
        ("beat_project:other", "is no Celery application, but of the type int"),
    ],
)
def test_what_is_no_application_is_refused(folder: Path, app: str, reason: str) -> None:
    write_project(folder, GOOD)

    result = call("beat", "-A", app, "--check")

    assert result.code == 3
    assert reason in result.err


def test_an_import_without_its_library_or_server_says_so(folder: Path) -> None:
    write_project(folder, GOOD)

    result = call("beat", "-A", "beat_project", "--import", "redbeat", "--store", "memory://")

    assert result.code == 1
    assert "error: RedBeat: memory:// is no address of one Redis" in result.err
    assert "redbeat_redis_url" in result.err
