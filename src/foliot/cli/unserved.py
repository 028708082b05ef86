"""Jobs that are due and that no node will start, in words."""

from __future__ import annotations

from datetime import datetime

from foliot.operations import Unserved
from foliot.shown import relative


def unserved_words(unserved: Unserved, now: datetime) -> str:
    """In a sentence."""
    queue, action, jobs, first = unserved
    are = "job is" if jobs == 1 else "jobs are"
    since = relative(first, now).removesuffix(" ago")
    due = f"{jobs} {are} due" + ("" if since == "now" else f", the first for {since}")
    return f"{due}, and {runner_words(queue, action)}"


def runner_words(queue: str, action: str) -> str:
    """That no node can run something, in a sentence."""
    prefix, _, name = action.partition(":")
    what = f"jobs of the repository {name}" if prefix == "shell" and name else action
    return f"no running node can run {what} (queue {queue})"
