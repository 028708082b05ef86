"""The wheel that users install: the product, what they need for their own tests, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parent.parent
FOR_TESTS = {
    "__init__.py", "clock.py", "contract", "documents", "plugin.py", "servers", "step_loop.py", "stepper.py",
    "virtual_loop.py",
}  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What stands in the wheel."""
    place = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)  # noqa: S603 - our own wheel
    (wheel,) = place.iterdir()
    with ZipFile(wheel) as opened:
        return opened.namelist()


def test_the_wheel_has_one_package(files: list[str]) -> None:
    packages = {name.split("/")[0] for name in files}
    assert {name for name in packages if not name.endswith(".dist-info")} == {"foliot"}


def test_the_wheel_has_every_module_of_the_package(files: list[str]) -> None:
    source = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "foliot").rglob("*.py")}
    assert {name for name in files if name.endswith(".py")} == source


def test_the_long_proofs_are_not_shipped(files: list[str]) -> None:
    """`foliot.testing` is for users and writers of stores; the long proofs are a package of their own."""
    shipped = {name.split("/")[2] for name in files if name.startswith("foliot/testing/")}
    assert shipped == FOR_TESTS
