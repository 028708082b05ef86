"""Jobs that are due and that no node will start, in words."""

from __future__ import annotations

from datetime import datetime

from foliot.cli.moment import relative
from foliot.operations import Unserved


def unserved_words(unserved: Unserved, now: datetime) -> str:
    """In a sentence."""
    queue, action, jobs, first = unserved
    are = "job is" if jobs == 1 else "jobs are"
    since = relative(first, now).removesuffix(" ago")
    due = f"{jobs} {are} due" + ("" if since == "now" else f", the first for {since}")
    return f"{due}, and no node that lives serves the queue {queue} and runs {action}"
