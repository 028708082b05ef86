"""Revisions that are large enough to be written in portions: all of one is there, or nothing of it.

Beside the jobs that run, the source has hundreds that never do. Each revision changes all of these, and
none of those that run. Who declares looks first whether what the dead have left is whole.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from foliot.engine.reconciler import reconcile
from foliot.errors import StoreUnavailableError
from foliot.model.job import Action, Job
from foliot.protocols import JobQuery, Snapshot, Store
from foliot.schedules import Cron

FILLERS = 260  # more than a store writes in one script
_NEVER = Cron("0 0 29 2 *")
_KIND = "never"
_Answer = TypeVar("_Answer")
_ASKED, _DONE, _TORN = "asked", "done", "torn"


class Revisions:
    """Declares one revision after another, and notes in a file beside the witness what became of each."""

    def __init__(self, store: Store, source: str, jobs: Sequence[Job], witness: str) -> None:
        self._store = store
        self._source = source
        self._jobs = jobs
        self._file = notes_of(Path(witness))

    async def declare(self, number: int, now: datetime) -> None:
        """Declare a revision; look first at what was there before it."""
        if number and (torn := tears(await _answered(lambda: found(self._store, self._source)))):
            self._note(_TORN, torn)
        snapshot = Snapshot(f"r{number}", self._declared(number))
        self._note(_ASKED, str(number))
        await _answered(lambda: reconcile(self._store, self._source, snapshot, now))
        self._note(_DONE, str(number))

    def _declared(self, number: int) -> tuple[Job, ...]:
        action = Action(kind=_KIND, data={"version": number})
        fillers = (
            Job(source=self._source, name=f"filler-{place:03}", schedule=_NEVER, action=action)
            for place in range(FILLERS)
        )
        return (*self._jobs, *fillers)

    def _note(self, what: str, words: str) -> None:
        with self._file.open("ab", buffering=0) as file:  # one write(): what is written stays
            os.write(file.fileno(), f"{what} {words}\n".encode())


async def _answered(ask: Callable[[], Awaitable[_Answer]]) -> _Answer:
    """Ask until the store answers: the machine may be busy, or a dead node may hold the source still."""
    while True:
        with suppress(StoreUnavailableError):
            return await ask()


Found = tuple[str | None, Counter[int]]


def notes_of(witness: Path) -> Path:
    """The file beside a witness."""
    return witness.with_suffix(".revisions")


async def found(store: Store, source: str) -> Found:
    """The revision that a source is at, and how many of its fillers there are of each version."""
    views = await store.jobs(JobQuery(source=source, limit=FILLERS * 2))
    actions = (view.record.job.action for view in views if view.record)
    versions = Counter(int(str(action.data["version"])) for action in actions if action.kind == _KIND)
    return await store.revision(source), versions


def tears(there: Found) -> str:
    """What is not whole; empty: all is."""
    revision, versions = there
    wanted = {f"r{version}": count for version, count in versions.items()}
    return "" if wanted == {revision: FILLERS} else f"the source is at {revision} and has {dict(versions)}"


def revision_problems(there: Found, lines: Iterable[str]) -> Iterator[str]:
    """A revision that is torn, one that was confirmed and is gone, or one that nobody has asked for."""
    legal: list[str] = []
    for what, _, words in (line.partition(" ") for line in lines):
        if what == _TORN:
            yield f"TORN {words}"
        elif what == _DONE:
            legal = [f"r{words}"]
        else:
            legal.append(f"r{words}")
    if torn := tears(there):
        yield f"TORN {torn}"
    if there[0] not in legal:
        yield f"REVISION_LOST the source is at {there[0]}, where one of {legal} should be"
