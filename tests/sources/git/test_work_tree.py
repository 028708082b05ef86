"""A repository of the user's: git runs no program that its settings name; in another's, git is not run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli.calls import call
from foliot.sources.git.errors import ForeignRepositoryError
from foliot.sources.git.work_tree import WorkTree, find_work_tree
from sources.git.scene import git

CONFIG = 'jobs:\n  a: {schedule: "@daily", timezone: UTC, run: ./a.sh}\n'
NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    place = tmp_path / "ops"
    place.mkdir()
    git(place, "init", "--quiet", "--initial-branch=main")
    (place / "rollcron.yaml").write_text(CONFIG)
    for name in ("a.sh", "b.sh", "c.sh"):
        (place / name).write_text(f"echo {name}\n")
    (place / "link").symlink_to("a.sh")
    git(place, "add", ".")
    git(place, "commit", "--quiet", "-m", "one")
    return place


def plant(top: Path) -> Path:
    """A filter that leaves a trace when it runs."""
    trace = top.parent / "trace"
    git(top, "config", "filter.evil.clean", f"touch {trace}; cat")
    git(top, "config", "filter.evil.process", f"touch {trace}; cat")
    (top / ".git/info").mkdir(exist_ok=True)
    (top / ".git/info/attributes").write_text("* filter=evil\n")
    return trace


def tree_of(top: Path) -> WorkTree:
    found = find_work_tree(top, os.environ)
    assert found is not None
    return found


def test_files_that_differ_are_found_and_no_filter_runs(top: Path) -> None:
    trace = plant(top)
    (top / "a.sh").write_text("echo b.sh\n")  # of the same size
    (top / "b.sh").unlink()
    (top / "c.sh").chmod(0o755)
    (top / "link").unlink()
    (top / "link").symlink_to("b.sh")
    (top / "new.sh").write_text("new")
    (top / "rollcron.yaml").touch()  # is the same, although git would have to look
    assert tree_of(top).changed_files("main") == ("a.sh", "b.sh", "c.sh", "link", "new.sh")
    result = call("plan", "--base", "main", str(top))
    assert (result.code, result.err) == (0, "")
    assert "5 files differ" in result.out
    assert not trace.exists()


def test_files_that_are_staged_differ_and_those_of_a_sparse_checkout_do_not(top: Path) -> None:
    (top / "staged.sh").write_text("x")
    git(top, "add", "staged.sh")
    git(top, "update-index", "--skip-worktree", "c.sh")
    (top / "c.sh").unlink()
    assert tree_of(top).changed_files("main") == ("staged.sh",)
    git(top, "commit", "--quiet", "-m", "two")
    assert tree_of(top).changed_files("main") == ()
    assert tree_of(top).changed_files("main~1", "main") == ("staged.sh",)


@needs_root
@pytest.mark.parametrize("owned", [".", ".git", ".git/config"])
def test_nothing_is_run_in_the_repository_of_another_user(
    top: Path, owned: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = plant(top)
    (top / "a.sh").write_text("echo b.sh\n")
    os.chown(top / owned, NOBODY, NOBODY)
    monkeypatch.setenv("PATH", "/nonexistent")  # git cannot even start
    result = call("plan", "--base", "main", str(top))
    assert result.code == 6
    assert "dubious ownership: the user 65534 owns" in result.err
    assert "clone it as yourself" in result.err
    assert not trace.exists()


@needs_root
def test_a_link_to_what_another_user_owns_is_refused_too(top: Path) -> None:
    (top / ".git").rename(top.parent / "kept")
    (top / ".git").write_text("gitdir: ../kept\n")
    tree_of(top)
    os.chown(top.parent / "kept", NOBODY, NOBODY)
    with pytest.raises(ForeignRepositoryError, match="dubious ownership"):
        find_work_tree(top, os.environ)


@needs_root
def test_root_reads_what_the_user_owns_who_has_called_sudo(top: Path) -> None:
    os.chown(top, NOBODY, NOBODY)
    assert find_work_tree(top, {**os.environ, "SUDO_UID": str(NOBODY)}) is not None
    for wrong in ("", "1", "nobody"):
        with pytest.raises(ForeignRepositoryError):
            find_work_tree(top, {**os.environ, "SUDO_UID": wrong})
