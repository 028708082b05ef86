"""The plugin in projects of their own: with it, beside other plugins, and where nobody uses it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from textwrap import dedent

import pytest

from foliot.testing import plugin
from foliot.testing.clock import ManualClock

ROOT = Path(__file__).parent.parent.parent.parent
JOBS = """
    import asyncio
    import pytest
    from foliot import Foliot, Outcome

    app = Foliot("sqlite:///never-touched.db")

    @app.job("0 0 1 * *", timezone="Europe/Berlin")
    async def invoice():
        await asyncio.sleep(60)

    def month_end(foliot_stepper):
        with foliot_stepper(app, at="2026-01-31T23:00:00+01:00") as time:
            time.advance(days=1)
            assert time.runs("invoice")[0].outcome is Outcome.SUCCEEDED
"""


class Project:
    """A project with tests, in an environment that has Foliot installed."""

    def __init__(self, home: Path) -> None:
        self.home = home
        entries = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
        installed = home / "site/installed_foliot-1.dist-info"
        installed.mkdir(parents=True)
        lines = [f"{name} = {where}" for name, where in entries["pytest11"].items()]
        (installed / "entry_points.txt").write_text("\n".join(["[pytest11]", *lines]))
        (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: installed-foliot\nVersion: 1\n")

    def test(self, text: str, *options: str) -> str:
        """What pytest prints about a file of tests."""
        (self.home / "test_jobs.py").write_text(dedent(text))
        done = subprocess.run(  # noqa: S603 - our own interpreter, our own project
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", *options],
            cwd=self.home,
            env={"PYTHONPATH": str(self.home / "site"), "PATH": "/usr/bin:/bin", "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        return done.stdout + done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_plain_test_asks_for_the_fixture(project: Project) -> None:
    printed = project.test(JOBS + "\n    test_month_end = month_end\n", "-p", "no:anyio")

    assert "1 passed" in printed, printed
    assert not (project.home / "never-touched.db").exists()


def test_an_asynchronous_test_asks_for_it_too(project: Project) -> None:
    pytest.importorskip("anyio")
    lines = """
    pytestmark = pytest.mark.anyio

    @pytest.fixture
    def anyio_backend():
        return "asyncio"

    async def test_month_end(foliot_stepper):
        month_end(foliot_stepper)
        with foliot_stepper(app) as time:
            await app.trigger("invoice", request="july")
            time.advance("1m")
            assert [run.run_key for run in await app.history("invoice")] == ["app/invoice!july"]
        await asyncio.sleep(0.001)
    """
    printed = project.test(JOBS + lines)

    assert "1 passed" in printed, printed


def test_a_project_that_does_not_use_it_pays_for_next_to_nothing(project: Project) -> None:
    printed = project.test(
        """
        import sys

        def test_nothing_is_there_but_the_plugin(request):
            assert request.config.pluginmanager.has_plugin("foliot")
            ours = sorted(name for name in sys.modules if name.partition(".")[0] == "foliot")
            assert ours == ["foliot", "foliot.testing", "foliot.testing.plugin"]
        """
    )

    assert "1 passed" in printed, printed


def test_all_that_the_plugin_brings_is_called_foliot() -> None:
    brought = [name for name in vars(plugin) if not name.startswith("_")]

    assert [name for name in brought if name.startswith("pytest_")] == []  # no hook: nothing changes
    assert sorted(name for name in brought if name.startswith("foliot_")) == [
        "foliot_clock",
        "foliot_stepper",
    ]


def test_the_clock_stands_still(foliot_clock: ManualClock) -> None:
    assert foliot_clock.now() == foliot_clock.now()
