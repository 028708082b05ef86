"""Collects the rows that one call of `prune` deletes, and the new counters of the jobs that it looked at."""

from __future__ import annotations

from collections.abc import Collection

from foliot.stores.retention import NEVER
from foliot.stores.sql import history_links
from foliot.stores.sql.dialect import Dialect
from foliot.stores.sql.look import Counted
from foliot.stores.sql.rows import Row


class Erasure:
    """Collects deletions, at most `room` attempts and skips, and writes them in the order of time."""

    def __init__(self, room: int) -> None:
        self.room = room
        self._attempts: list[Row] = []
        self._skips: list[Row] = []
        self._outputs: list[Row] = []
        self._ends: list[Row] = []
        self._states: dict[str, list[Row]] = {"trim_at": [], "look_at": [], "cut_at": []}

    def attempts(self, job: Counted, gone: Collection[Row], *, has_outputs: bool) -> None:
        """Delete attempts of a job: rows that begin with instant, request and number."""
        keys = [(row[0], job.number, row[1], row[2]) for row in gone]
        self.room -= len(keys)
        self._attempts += keys
        if has_outputs:
            self._outputs += history_links.output_keys(job.key, gone)

    def skips(self, job: Counted, gone: list[Row]) -> None:
        """Delete skips of a job: as many as there is room for."""
        self.room -= len(gone)
        self._skips += [(job.number, *skip) for skip in gone]

    def end_at(self, attempt: Row) -> None:
        """Let a history end at the attempt of that key."""
        self._ends.append((None, *attempt))

    def trim_at(self, job_no: int, count: int) -> None:
        """Look at a job's history when the job has had `count` attempts and skips."""
        self._states["trim_at"].append((min(count, NEVER), job_no))

    def look_at(self, job_no: int, time: int | None) -> None:
        """Look at a job's history at that time."""
        self._states["look_at"].append((time, job_no))

    def cut_at(self, job: Counted, newest_at: int | None) -> None:
        """Remember where a job's history may be cut when it has doubled."""
        self._states["cut_at"].append((newest_at, job.number))

    def write(self, dialect: Dialect) -> None:
        """Write all of it."""
        dialect.delete("outputs", "run_key, number", self._outputs)
        history_links.delete(dialect, self._attempts)
        dialect.delete("skips", "job_no, first_at, last_at", self._skips)
        dialect.set_column("attempts", "previous_at", history_links.KEY, self._ends)
        for column, rows in self._states.items():
            dialect.set_column("states", column, "job_no", rows)
