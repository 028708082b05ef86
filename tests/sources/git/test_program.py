"""What git complains, in a line that a person can use."""

from __future__ import annotations

import pytest

from foliot.sources.git.program import CommandFailedError

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
        "safe.directory",
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
