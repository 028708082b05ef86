"""`foliot init` writes files that are good."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from cli.calls import call
from foliot.doors.rollcron import read_config


@pytest.mark.parametrize(
    ("words", "more"),
    [((), ".github/workflows/check.yml"), (("--ci", "gitlab"), ".gitlab-ci.yml"), (("--ci", "none"), None)],
)
def test_the_files_are_written_and_pass_a_strict_check(
    tmp_path: Path, words: tuple[str, ...], more: str | None
) -> None:
    folder = tmp_path / "new" / "ops"
    names = ["rollcron.yaml", "hello.sh", *([more] if more else [])]

    result = call("init", str(folder), *words)

    assert result.code == 0
    assert result.out == "".join(f"ok: wrote {folder / name}\n" for name in names)
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()) == sorted(
        names
    )
    assert os.access(folder / "hello.sh", os.X_OK)
    assert call("check", str(folder), "--strict").code == 0
    (job,) = read_config((folder / "rollcron.yaml").read_bytes(), source="x")
    assert (folder / job.action.data["run"]).is_file()
    if more:
        assert "foliot check --strict" in str(yaml.safe_load((folder / more).read_text()))


def test_what_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "hello.sh").write_text("mine")

    result = call("init", str(tmp_path))

    assert result.code == 1
    assert "hello.sh is there already: nothing was written" in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["hello.sh"]
    assert (tmp_path / "hello.sh").read_text() == "mine"
