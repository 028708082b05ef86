"""The workflows of the page about plans are what their services understand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from foliot.engine.change import Code

PAGE = Path(__file__).parent.parent.parent / "docs/how-to/plan-a-change.md"
BLOCKS = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.mark.parametrize(("number", "schema"), [(0, "vendor.github-workflows"), (1, "vendor.gitlab-ci")])
def test_a_workflow_fits_its_schema(number: int, schema: str, tmp_path: Path) -> None:
    file = tmp_path / "workflow.yml"
    file.write_text(BLOCKS[number])
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]
    if schema == "vendor.gitlab-ci":
        command += ["--data-transform", "gitlab-ci"]
    done = subprocess.run([*command, str(file)], capture_output=True, text=True, check=False)  # noqa: S603 - our own file
    assert done.returncode == 0, done.stdout + done.stderr
    file.write_text(BLOCKS[number].replace("rules:", "ruls:").replace("runs-on:", "run-on:"))
    broken = subprocess.run([*command, str(file)], capture_output=True, text=True, check=False)  # noqa: S603 - our own file
    assert broken.returncode != 0


def test_each_code_is_on_the_page() -> None:
    text = PAGE.read_text()
    assert [code.value for code in Code if f"`{code.value}`" not in text] == []
