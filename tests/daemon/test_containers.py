"""The daemon as containers start it: no HOME, no entry in /etc/passwd, an unwritable root, process 1."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

FOLIOT = str(Path(sys.executable).with_name("foliot"))
STRANGER = ["unshare", "--user", "--map-user=12345", "--map-group=12345"]
CONFIG = "jobs:\n  hello:\n    schedule: '@every 1s'\n    timeout: 10s\n    run: echo hello\n"
SERVE = ("serve", "--drain", "1s", "--log-format", "json")


def in_container(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run words with these variables and no others, to their end."""
    environment = {"PATH": os.environ["PATH"], **variables}
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - our own


def can_unshare(*options: str) -> bool:
    try:
        return in_container("unshare", *options, "true").returncode == 0
    except OSError:
        return False


needs_users = pytest.mark.skipif(not can_unshare("--user"), reason="no user namespaces here")
needs_processes = pytest.mark.skipif(
    not can_unshare("--user", "--map-root-user", "--pid", "--fork"), reason="no namespaces of processes here"
)


@needs_users
@pytest.mark.parametrize("words", [("job", "list"), ("serve", ".")], ids=" ".join)
def test_a_user_without_home_and_without_a_name_gets_a_clear_line(words: tuple[str, ...]) -> None:
    result = in_container(*STRANGER, FOLIOT, *words)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [
        "error: this user has no home directory, and HOME is not set",
        "hint: name a place with --store (and --cache for serve), or set HOME to a folder of your own",
    ]


def test_a_home_that_cannot_be_written_is_told_with_its_path() -> None:
    result = in_container(FOLIOT, "serve", ".", HOME="/proc")
    assert result.returncode == 1
    assert "error: the folder /proc/.local/state/foliot cannot be created" in result.stderr
    assert "hint: name a place with --store" in result.stderr


def _daemon_of(process: int) -> int:
    """The process that a process waits for, which itself takes no signal."""
    return int(Path(f"/proc/{process}/task/{process}/children").read_text().split()[0])


def served(tmp_path: Path, *words: str) -> str:
    """What the daemon logs that was started so, until its job has run."""
    config = tmp_path / "jobs"
    config.mkdir(exist_ok=True)
    (config / "rollcron.yaml").write_text(CONFIG)
    places = ("--store", f"sqlite:///{tmp_path}/jobs.db", "--cache", f"{tmp_path}/cache")
    process = subprocess.Popen(  # noqa: S603 - our own
        [*words, FOLIOT, *SERVE, str(config), *places],
        env={"PATH": os.environ["PATH"]}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    log = ""
    try:
        assert process.stdout is not None
        for line in process.stdout:
            log += line
            if "run_succeeded" in line:
                break
    finally:
        os.kill(_daemon_of(process.pid) if "--fork" in words else process.pid, signal.SIGTERM)
        log += process.communicate(timeout=30)[0] or ""
    return log


@needs_users
def test_any_user_id_can_serve_if_places_are_named(tmp_path: Path) -> None:
    assert "run_succeeded" in served(tmp_path, *STRANGER)
    result = in_container(*STRANGER, FOLIOT, "job", "list", "--store", f"sqlite:///{tmp_path}/jobs.db")
    assert "hello" in result.stdout


@needs_processes
def test_it_works_as_the_first_process(tmp_path: Path) -> None:
    namespace = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child")
    assert "run_succeeded" in served(tmp_path, *namespace)


def test_no_other_user_can_read_the_store(tmp_path: Path) -> None:
    served(tmp_path)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("jobs.db*")}
    assert modes["jobs.db"] == 0o600
    assert set(modes.values()) == {0o600}
