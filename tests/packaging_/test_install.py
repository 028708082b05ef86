"""The wheel installs alone, and brings commands that work: with pip, pipx and uv."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.prove, pytest.mark.req("OWN-20")]


def call(*command: str, **more: str) -> str:
    done = subprocess.run(  # noqa: S603 - installers, and our own commands
        command, capture_output=True, text=True, check=False, env={**os.environ, **more}
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("wheel")
    call(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place))
    (made,) = place.glob("*.whl")
    return made


def _works(foliot: Path, folder: Path) -> None:
    """The first commands of a new user."""
    assert call(str(foliot), "cron", "explain", "@daily").strip() == "at 00:00 every day, UTC"
    repository = folder / "jobs"
    repository.mkdir()
    (repository / "rollcron.yaml").write_text(
        'jobs:\n  a:\n    schedule: "@daily"\n    run: "true"\n    timeout: 1m\n'
    )
    assert "a" in call(str(foliot), "check", str(repository))


def test_pip_installs_it_into_a_bare_environment(wheel: Path, tmp_path: Path) -> None:
    call(sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "env"))
    python = tmp_path / "env/bin/python"
    pip = (sys.executable, "-m", "pip", "--python", str(python))
    call(*pip, "install", "--quiet", str(wheel))
    _works(tmp_path / "env/bin/foliot", tmp_path)
    call(*pip, "uninstall", "--quiet", "--yes", "foliot")
    assert not (tmp_path / "env/bin/foliot").exists()


def test_pipx_installs_it(wheel: Path, tmp_path: Path) -> None:
    program = shutil.which("pipx")
    if program is None:
        assert os.environ.get("CI") != "true", "there is no pipx"
        pytest.skip("there is no pipx here")
    places = {"PIPX_HOME": str(tmp_path / "home"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    call(program, "install", "--python", sys.executable, str(wheel), **places)
    _works(tmp_path / "bin/foliot", tmp_path)


def test_uv_installs_it(wheel: Path, tmp_path: Path) -> None:
    call(sys.executable, "-m", "pip", "install", "--quiet", "--target", str(tmp_path / "uv"), "uv")
    places = {"UV_TOOL_DIR": str(tmp_path / "home"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
    call(str(tmp_path / "uv/bin/uv"), "tool", "install", "--python", sys.executable, str(wheel), **places)
    _works(tmp_path / "bin/foliot", tmp_path)
