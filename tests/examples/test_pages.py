"""Programs that pages show, run as their readers run them."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path

from foliot.model.attempt import Outcome
from programs import Program, ordered

ROOT = Path(__file__).parent.parent.parent
BLOCK = re.compile(r"^```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SETTINGS = """
INSTALLED_APPS = ["django.contrib.sessions", "shop"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "site.db"}}
"""


def test_the_ten_lines_of_the_readme_are_a_program(tmp_path: Path) -> None:
    (lines,) = BLOCK.findall((ROOT / "README.md").read_text())
    (tmp_path / "ten.py").write_text(lines)
    with Program(tmp_path, sys.executable, "ten.py") as program:
        assert ordered(tmp_path / "jobs.db", "app", "refresh").outcome is Outcome.SUCCEEDED
        assert program.end(signal.SIGTERM) == 0
    assert len([line for line in lines.splitlines() if line]) <= 10


def test_the_files_of_the_django_page_are_a_site(tmp_path: Path) -> None:
    jobs, command = BLOCK.findall((ROOT / "docs/how-to/django.md").read_text())
    commands = tmp_path / "shop/management/commands"
    commands.mkdir(parents=True)
    for folder in (tmp_path / "shop", tmp_path / "shop/management", commands):
        (folder / "__init__.py").touch()
    (tmp_path / "shop/jobs.py").write_text(jobs.replace("/var/lib/shop", str(tmp_path)))
    (commands / "runjobs.py").write_text(command)
    (tmp_path / "settings.py").write_text(SETTINGS)
    manage = (sys.executable, "-m", "django")
    options = ("--settings", "settings", "--pythonpath", ".")
    with Program(tmp_path, *manage, "migrate", *options) as program:
        program.read_to_end()
    with Program(tmp_path, *manage, "runjobs", *options) as program:
        attempt = ordered(tmp_path / "jobs.db", "shop", "clear_sessions")
        assert (attempt.outcome, attempt.error) == (Outcome.SUCCEEDED, None)
        assert program.end(signal.SIGTERM) == 0
