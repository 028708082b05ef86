"""`foliot import` writes all files or none, and never through a link."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cli.calls import Result, call
from foliot.cli.import_files import write_files

FROM = ("--from", "2026-11-17", "--zone", "UTC", "--prove", "1")
NAMES = ("rollcron.yaml", "IMPORT.md")


@pytest.fixture
def ops(tmp_path: Path) -> Path:
    (tmp_path / "t").write_text('MAILTO=""\n0 3 * * * bob tidy\n')
    (tmp_path / "victims").mkdir()
    (tmp_path / "ops").mkdir()
    return tmp_path / "ops"


def split(ops: Path, *more: str) -> Result:
    table = str(ops.parent / "t")
    return call(
        "import", "crontab", table, "--system", "--split-by-user", "--to", str(ops), *FROM, *more
    )  # fmt: skip


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


@pytest.mark.parametrize("place", ["bob/rollcron.yaml", "IMPORT.md"])
@pytest.mark.parametrize("theirs", ["", "theirs"])
def test_a_link_is_there_and_force_puts_a_file_into_its_place(ops: Path, place: str, theirs: str) -> None:
    victim = ops.parent / "victims/file"
    if theirs:  # otherwise the link leads nowhere
        victim.write_text(theirs)
    (ops / "bob").mkdir()
    (ops / place).symlink_to(victim)
    done = split(ops)
    assert (done.code, f"{place} is there already" in done.err) == (1, True)
    assert files_in(ops) == [place], "nothing was written"
    assert split(ops, "--force").code != 1
    assert files_in(ops) == ["IMPORT.md", "bob/rollcron.yaml"]
    assert not (ops / place).is_symlink()
    assert [file.read_text() for file in victim.parent.iterdir()] == ([theirs] if theirs else [])


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_the_directory_of_a_user_is_no_link(ops: Path, force: tuple[str, ...]) -> None:
    (ops / "bob").symlink_to(ops.parent / "victims")
    done = split(ops, *force)
    assert (done.code, "bob is a symbolic link: nothing was written" in done.err) == (1, True)
    assert files_in(ops.parent / "victims") == []
    assert not (ops / "IMPORT.md").exists()


def test_what_cannot_be_written_over_is_found_before_anything_is_written(ops: Path) -> None:
    (ops / "bob").write_text("a file")
    assert "bob is no directory: nothing was written" in split(ops, "--force").err
    (ops / "bob").unlink()
    (ops / "IMPORT.md").mkdir()
    assert "IMPORT.md is a directory: nothing was written" in split(ops, "--force").err
    assert files_in(ops) == []


def test_a_file_that_fails_leaves_none_behind(ops: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_files(ops, {"bob/rollcron.yaml": "jobs: {}\n", "IMPORT.md": "\udcff"}, force=False)
    assert files_in(ops) == []


def test_a_file_that_only_its_owner_reads_stays_so(ops: Path) -> None:
    before = os.umask(0o022)
    try:
        write_files(ops, dict.fromkeys(NAMES, "old"), force=False)
        (ops / "rollcron.yaml").chmod(0o600)
        write_files(ops, dict.fromkeys(NAMES, "new"), force=True)
    finally:
        os.umask(before)
    modes = [(ops / name).stat().st_mode & 0o777 for name in NAMES]
    assert modes == [0o600, 0o644]
    assert (ops / "rollcron.yaml").read_text() == "new"


@pytest.mark.parametrize("user", ["IMPORT.md", "import.md", "rollcron.yaml"])
def test_a_user_with_the_name_of_a_file_gets_no_directory(ops: Path, user: str) -> None:
    (ops.parent / "t").write_text(f"0 3 * * * bob tidy\n0 4 * * * {user} tidy\n")
    done = split(ops, "--force")
    assert (done.code, f"line 2: the user {user} can have no directory" in done.err) == (1, True)
    assert list(ops.iterdir()) == []
