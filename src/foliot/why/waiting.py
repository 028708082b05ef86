"""Explains what a job waits for outside of itself: a place in its group, or a running node."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from foliot.model.view import Outage
from foliot.why.answer import time_text


class GroupCount(NamedTuple):
    """How many attempts of a group run, and how many may. None: no running node has a limit for it."""

    name: str
    running: int
    limit: int | None


def group_words(group: GroupCount | None) -> str:
    """Explain that a job waits for its group; empty if the group has a free place."""
    if group is None:
        return ""
    if group.limit is None:
        return f"waits for group {group.name}, for which no running node has a limit"
    is_full = group.running >= group.limit
    return f"waits for group {group.name} ({group.running} of {group.limit} running)" if is_full else ""


def outage_at(outages: Iterable[Outage], at: datetime) -> Outage | None:
    """The outage that an instant lies in."""
    return next((outage for outage in outages if outage.first <= at < outage.last), None)


def outage_words(outages: Iterable[Outage], at: datetime) -> str:
    """The period without a running node that contains an instant, in words; empty if there is none."""
    found = outage_at(outages, at)
    if found is None:
        return ""
    times = f"from {time_text(found.first)} to {time_text(found.last)}"
    return f"; as far as the store knows, no node was running {times}"
