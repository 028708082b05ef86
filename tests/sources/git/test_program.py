"""What git complains, in a line that a person can use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from foliot.sources.git.address import parse_address
from foliot.sources.git.errors import GitError
from foliot.sources.git.program import CommandFailedError, GitProgram

COMPLAINTS = [
    ("fatal: repository 'x' not found\n", "repository 'x' not found", None),
    ("remote: busy\nfatal: unable to access 'x': no route\n", "unable to access 'x': no route", None),
    (
        "me@host: Permission denied (publickey).\nfatal: Could not read from remote repository.\n\n",
        "me@host: Permission denied (publickey).",
        "ssh key",
    ),
    (
        "fatal: could not read Username for 'http://x': terminal prompts disabled\n",
        "could not read Username for 'http://x': terminal prompts disabled",
        "token",
    ),
    (
        "Host key verification failed.\nfatal: Could not read from remote repository.\n",
        "Host key",
        "known_hosts",
    ),
    (
        "fatal: detected dubious ownership in repository at 'x'\n",
        "detected dubious ownership",
        "--trust-path",
    ),
    ("\x1b[31mfatal: red\n" + "x" * 10_000, "xxxxxxxxxx", None),
    ("", "git ended with 128", None),
    ("only this\n", "only this", None),
]


@pytest.mark.parametrize(("said", "reason", "hint"), COMPLAINTS)
def test_a_complaint_becomes_one_line_and_a_hint(said: str, reason: str, hint: str | None) -> None:
    error = CommandFailedError("fetch", 128, said)

    assert error.reason.startswith(reason)
    assert error.reason.isprintable()
    assert len(error.reason) < 300
    assert (hint in str(error.hint)) if hint else (error.hint is None)


def program(url: str, says: str, place: Path) -> GitProgram:
    """A git that only complains."""
    git = place / "git"
    git.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{says}\nEND\nexit 128\n")
    git.chmod(0o755)
    return GitProgram(parse_address(url), place, {**os.environ, "PATH": f"{place}:{os.environ['PATH']}"})


SECRET = "s3cr3t-and-long-enough"  # noqa: S105 - of no server
REPEATED = [
    (f"https://me:{SECRET}@host.example/x", f"remote: {SECRET} has expired"),
    (f"https://{SECRET}@host.example/x", f"fatal: who is {SECRET}?"),
    (f"https://{SECRET}:x-oauth-basic@host.example/x", f"fatal: who is {SECRET}?"),
    (f"ssh://{SECRET}@host.example/x", f"fatal: no 'ssh://{SECRET}@host.example/x'"),
]


@pytest.mark.parametrize(("url", "says"), REPEATED)
def test_a_secret_that_is_repeated_is_not_heard(
    url: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = program(url, says, tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(CommandFailedError) as caught:
        git.run("fetch", online=True)
    assert SECRET not in f"{caught.value!r} {caught.value.said}"
    assert "…" in caught.value.said or "ssh://host.example/x" in caught.value.said


def test_a_git_without_memory_is_no_damaged_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git = program("/x", "fatal: Out of memory, malloc failed (tried to allocate 9 bytes)", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(GitError, match="too much memory"):
        git.run("archive")
