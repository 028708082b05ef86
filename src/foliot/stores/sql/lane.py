"""Lanes as they are shown: which have jobs that somebody must look at, and since or from when."""

from __future__ import annotations

from collections.abc import Iterable

from foliot.model.view import Lane
from foliot.stores.sql.codes import UNREADABLE, an_instant
from foliot.stores.sql.rows import Row


def lanes_of(rows: Iterable[Row]) -> tuple[tuple[Lane, ...], tuple[int, ...]]:
    """Lanes, of rows of queue, kind, first wake and the number of its job; jobs whose wake cannot be read."""
    lanes, damaged = [], []
    for queue, kind, wake_at, job_no in rows:
        try:
            lanes.append(Lane(queue, kind, an_instant(wake_at)))
        except UNREADABLE:
            damaged.append(job_no)
    return tuple(sorted(lanes)), tuple(damaged)
