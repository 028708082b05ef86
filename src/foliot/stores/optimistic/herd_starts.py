"""Herds within one claim, and their ends within one finish, for stores that keep a job as one text.

A run of a herd knows the mark that its start gave to the job. If the job still has this mark when the run
succeeds, there was no decision about the job since.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from foliot.model.attempt import Ending
from foliot.model.deciding import DecidesAlike
from foliot.model.decision import Event
from foliot.model.events import joined
from foliot.model.json_text import read_objects
from foliot.model.run import Run
from foliot.protocols import DecideDue, DecideEnded, Finished
from foliot.stores.herd import Herds, ended, started
from foliot.stores.optimistic import verbs
from foliot.stores.optimistic.herd import Parts, TextHerdRun, TextHerdStart, quiet_run
from foliot.stores.optimistic.session import OptimisticSession
from foliot.stores.sql.codes import whole


class Taken(NamedTuple):
    """A run to start, or to end. `mark`: the mark that its job must have."""

    run: TextHerdRun
    mark: str
    ending: Ending | None = None


WriteTaken = Callable[[Sequence[Taken]], Collection[str]]  # the keys of the runs that were refused


class HerdStarts:
    """The herd runs that one claim starts. `write` writes the taken runs."""

    def __init__(self, herds: Herds, node: str, now: datetime, decide: DecideDue, write: WriteTaken) -> None:
        self._node = node
        self._write = write
        self._at, self._now = now, whole(now)
        self._starts: dict[int, TextHerdStart] = {}  # by the identity of the herd
        self._taken: list[Taken] = []
        self._herds: Herds | None = None
        if isinstance(decide, DecidesAlike):
            self._herds = herds
            self._herds.use(decide)

    @property
    def keys(self) -> list[str]:
        """The jobs of the taken runs."""
        return [run.job_key for run, _, _ in self._taken]

    def start_of(self, digest: str, at: int) -> TextHerdStart | None:
        """The herd of a definition and an occurrence; None if each of its jobs needs its own decision."""
        herd = None if self._herds is None else self._herds.of(digest, at)
        if herd is None or self._now > herd.until or at > self._now:
            return None
        found = self._starts.get(id(herd))
        if found is None:
            found = self._starts[id(herd)] = TextHerdStart(herd, self._node, self._at)
        return found

    def take(self, rows: Sequence[tuple[str, TextHerdStart, Parts, str, str]]) -> list[Run]:
        """Take jobs, up to the first with damaged data. A row: key, herd, parts of the body, data, mark."""
        data = read_objects([row[3] for row in rows])
        runs: list[Run] = []
        for (key, start, parts, _, mark), own in zip(rows, data, strict=False):
            run = TextHerdRun(start, key, parts, own)
            runs.append(run)
            start.runs.append(run)
            self._taken.append(Taken(run, mark))
        return runs

    def flush(self) -> Collection[str]:
        """Write the taken runs. Returns the keys of jobs that another writer has changed meanwhile."""
        taken, self._taken = self._taken, []
        refused = self._write(taken)
        if refused:
            for start in self._starts.values():
                start.runs = [run for run in start.runs if run.key[0] not in refused]
        return {run.job_key for run, _, _ in taken if run.key[0] in refused}

    def events(self) -> Sequence[Sequence[Event]]:
        """What was started."""
        return started(list(self._starts.values()), self._at)


def finish(  # noqa: PLR0913, PLR0917 - what a node says, and how it is written
    session: OptimisticSession,
    node: str,
    endings: Sequence[Ending],
    now: datetime,
    decide: DecideEnded,
    write: WriteTaken,
) -> Finished:
    """Record how attempts ended: successes of herds together, all others one by one."""
    quiet = {run.key[0]: Taken(run, run.mark, e) for e in endings if (run := quiet_run(e)) is not None}
    refused = write(list(quiet.values())) if quiet else ()
    done = {id(taken.ending) for key, taken in quiet.items() if key not in refused}
    if endings and len(done) == len(endings):
        return Finished((), ended(endings, now))
    left = [ending for ending in endings if id(ending) not in done]
    others = verbs.finish(session, node, left, now, decide)
    told = ended([ending for ending in endings if id(ending) in done], now)
    return Finished(others.refused, joined(told, others.events))
