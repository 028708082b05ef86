"""The git process: what it may use, so that no other process is killed for memory."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from sources.git.scene import Remote, following, played

OOM = Path("/proc/self/oom_score_adj")


def _oom_score() -> int:
    return int(OOM.read_text())


@pytest.mark.skipif(not OOM.exists(), reason="only Linux tells what a process may use")
@played
async def test_git_has_bounds_and_is_the_first_to_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit of a few megabytes can make git ask for gigabytes."""
    remote, own = Remote(tmp_path / "project"), _oom_score()
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    told = "cat /proc/self/limits /proc/self/oom_score_adj"
    git.write_text(f'#!/bin/sh\n{told} >{tmp_path}/told\nexec {shutil.which("git")} "$@"\n')
    git.chmod(0o755)
    monkeypatch.setenv("PATH", f"{git.parent}:{os.environ['PATH']}")

    async with following(remote.path, tmp_path / "cache") as source:
        await source.start()

    lines = (tmp_path / "told").read_text().splitlines()
    bounds = {m[1]: int(m[2]) for line in lines if (m := re.match(r"Max (data|file) size +(\d+) ", line))}
    assert bounds["data"] <= 2 << 30
    assert bounds["file"] <= 4 << 30
    assert int(lines[-1]) == min(1000, own + 200)
