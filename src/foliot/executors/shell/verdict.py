"""From what a warden tells of a tree to the result of an attempt, in words that make a good log line."""

from __future__ import annotations

import signal
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any

from foliot.errors import shorten
from foliot.model.attempt import Outcome
from foliot.protocols import Result

_OK = (0,)
_USUAL: Mapping[str, Collection[int]] = MappingProxyType({})
_LINES = 20  # of what it wrote to stderr, in the error


def judge(told: dict[str, Any], exit_codes: Mapping[str, Collection[int]] = _USUAL) -> Result:
    """How an attempt ended. The first line of its error says what, and the last complaint.

    `exit_codes`: those that are `ok`, and those by which a command says that it had nothing to do (`skip`).
    """
    if "refusal" in told:
        return Result(Outcome.FAILED, f"cannot be started: {told['refusal']}")
    outcome, error = _judge(told, exit_codes)
    return Result(outcome, error, told["text"], told["dropped"], told["code"])


def _judge(told: dict[str, Any], exit_codes: Mapping[str, Collection[int]]) -> tuple[Outcome, str | None]:
    code = told["code"]
    if told["left"]:
        pids = ", ".join(map(str, told["left"]))
        return (
            Outcome.FAILED,
            f"could not be ended: process {pids} goes on (another user's, or stuck in the kernel)",
        )
    if told["is_asked"]:
        return Outcome.CANCELLED, None
    if told["because"]:
        outcome = Outcome.FAILED if told["is_fault"] else Outcome.INTERRUPTED
        return outcome, f"was ended: {told['because']}"
    if code in exit_codes.get("ok", _OK):
        return Outcome.SUCCEEDED, None
    if code in exit_codes.get("skip", ()):
        return Outcome.CANCELLED, f"exit code {code}: the command has skipped this run"
    return Outcome.FAILED, _with_complaint(_what_happened(code, is_oom=told["is_oom"]), told["complaint"])


def _what_happened(code: int, *, is_oom: bool) -> str:
    perhaps = " (perhaps out of memory: the kernel has killed for want of it)" if is_oom else ""
    if code < 0:
        return f"killed by {_signal(-code)}{perhaps}"
    # How a shell tells that what it ran was killed; but any program may use these codes as it likes.
    if 128 < code <= 128 + signal.SIGRTMAX:  # noqa: PLR2004 - as shells have it
        return f"exit code {code}, as after {_signal(code - 128)}{perhaps}"
    return f"exit code {code}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _with_complaint(what: str, complaint: str) -> str:
    lines = [line.rstrip() for line in complaint.splitlines() if line.strip()][-_LINES:]
    if not lines:
        return what
    first = f"{what}: {shorten(lines[-1].strip())}"
    return first if len(lines) == 1 else "\n".join([first, *(f"  {line}" for line in lines)])
