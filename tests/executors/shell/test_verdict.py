"""From what the warden tells to a result: the words that stand in the log."""

from __future__ import annotations

from typing import Any

import pytest

from foliot.executors.shell.verdict import judge
from foliot.model.attempt import Outcome

PLAIN: dict[str, Any] = {
    "ended": 1,
    "code": 0,
    "is_asked": False,
    "because": None,
    "is_fault": False,
    "text": "out",
    "dropped": 4,
    "complaint": "",
    "is_oom": False,
    "left": [],
}


@pytest.mark.parametrize(
    ("told", "outcome", "error"),
    [
        ({}, Outcome.SUCCEEDED, None),
        ({"code": 2}, Outcome.FAILED, "exit code 2"),
        ({"code": 255}, Outcome.FAILED, "exit code 255"),
        ({"code": 143}, Outcome.FAILED, "exit code 143, as after SIGTERM"),
        ({"code": 128 + 64}, Outcome.FAILED, "exit code 192, as after SIGRTMAX"),
        ({"code": -40}, Outcome.FAILED, "killed by signal 40"),
        (
            {"code": -9, "is_oom": True},
            Outcome.FAILED,
            "killed by SIGKILL (perhaps out of memory: the kernel has killed for want of it)",
        ),
        (
            {"code": 1, "complaint": "a\n\n  b\x1b[0m \n"},
            Outcome.FAILED,
            "exit code 1: b\\x1b[0m\n  a\n    b\x1b[0m",
        ),
        ({"code": 1, "complaint": "x" * 300}, Outcome.FAILED, f"exit code 1: {'x' * 200}…"),
        ({"code": -15, "is_asked": True, "complaint": "no"}, Outcome.CANCELLED, None),
        ({"code": 0, "is_asked": True}, Outcome.CANCELLED, None),
        ({"code": -15, "because": "x"}, Outcome.INTERRUPTED, "was ended: x"),
        ({"code": -15, "because": "x", "is_fault": True}, Outcome.FAILED, "was ended: x"),
        ({"code": 0, "because": "x"}, Outcome.INTERRUPTED, "was ended: x"),
        (
            {"code": None, "left": [7, 8], "is_asked": True},
            Outcome.FAILED,
            "could not be ended: process 7, 8 goes on (another user's, or stuck in the kernel)",
        ),
    ],
)
def test_the_words_for_an_end(told: dict[str, Any], outcome: Outcome, error: str | None) -> None:
    facts = PLAIN | told
    assert judge(facts)[:5] == (outcome, error, "out", 4, facts["code"])


def test_only_the_last_lines_of_a_long_complaint_are_shown() -> None:
    error = judge(PLAIN | {"code": 1, "complaint": "\n".join(map(str, range(100)))}).error
    assert error is not None
    assert error.splitlines() == ["exit code 1: 99", *(f"  {number}" for number in range(80, 100))]


def test_what_was_not_started_has_no_code() -> None:
    told = judge({"ended": 1, "refusal": "[Errno 11] Resource temporarily unavailable"})
    assert told[:5] == (
        Outcome.FAILED,
        "cannot be started: [Errno 11] Resource temporarily unavailable",
        "",
        0,
        None,
    )
