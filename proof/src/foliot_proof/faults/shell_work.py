"""Shell jobs of a node: families of processes that the production executor runs and ends.

Each family (`witness.sh`) has a child in a session of its own, which a signal to the shell's process group
does not reach. It gives a sign of life five times a second, so that what really lived, and for how long, is
known also of those that were killed and could write no end.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from foliot.app.part import Workplace
from foliot.engine.reconciler import reconcile
from foliot.errors import StaleRevisionError
from foliot.executors.shell.executor import ShellExecutor
from foliot.executors.shell.warden import process_tree
from foliot.model.job import Action, Job
from foliot.protocols import Executor, Run, Snapshot
from foliot_proof.faults import workload
from foliot_proof.faults.witness_log import Note

# What a dead or silent node's trees may take to end, while another node may have begun the next run.
_TO_END = timedelta(seconds=1)
_GRACE = timedelta(milliseconds=500)
_LINGER = timedelta(milliseconds=300)


class Spot(NamedTuple):
    """Where a family lives; its `revision` is how a process learns which node has started it."""

    path: Path
    revision: str


class Families:
    """A part of the application: declares the shell jobs, and brings the executor for them."""

    def __init__(self, witness_log: str) -> None:
        self._witness_log = witness_log
        self._executor: ShellExecutor | None = None

    async def begin(self, host: Workplace) -> Mapping[str, Executor]:
        """Declare all families, in one revision that all nodes share."""
        snapshot = Snapshot("families", tuple(self._job(work) for work in workload.FAMILIES))
        while True:
            try:
                events = await reconcile(host.store, workload.SHELL, snapshot, await host.store.now())
            except StaleRevisionError:  # another node was quicker
                continue
            break
        host.handle_events(events)
        # Silence is noticed a quarter of the leash late, the last heartbeat may lie a third of the lease
        # back, and ending takes half a second: with a lease of 3 s, half of it would be too long a leash.
        self._executor = ShellExecutor(self, grace=_GRACE, linger=_LINGER, leash=host.lease / 3)
        return {workload.SHELL_KIND: self._executor}

    def _job(self, work: workload.Work) -> Job:
        job = work.job(0)
        data = {**job.action.data, "env": {"WITNESS_LOG": self._witness_log}}
        return replace(job, action=Action(kind=job.action.kind, data=data))

    async def live(self) -> None:
        """Nothing to do."""
        await asyncio.Event().wait()

    async def close(self) -> None:
        """End what runs."""
        if self._executor is not None:
            await self._executor.close()

    def title(self, _: str) -> str | None:
        """No other name than its own."""
        return None

    def enter(self, run: Run) -> Spot:
        """The place of a run."""
        return Spot(Path(__file__).parent, run.attempt.node or "")

    def leave(self, run: Run) -> None:
        """Nothing is kept for a run."""


# -- what they have seen ---------------------------------------------------------------------------


class _Family(NamedTuple):
    """The tree of one attempt, from its start to its last sign of life."""

    run: str
    begin: datetime
    last: datetime


def unwritten_ends(notes: Iterable[Note]) -> Iterator[Note]:
    """For families that were ended before they could write it: they lived until their last sign."""
    signs: dict[tuple[str, int, str], Note] = {}
    ended = set()
    for note in notes:
        if note.what in ("sign", "end"):
            signs[_key(note)] = note
        if note.what == "end":
            ended.add(_key(note))
    yield from (note._replace(what="end") for key, note in signs.items() if key not in ended)


def _key(note: Note) -> tuple[str, int, str]:
    return note.facts["run"], note.facts["number"], note.facts["node"]


def problems(notes: list[Note]) -> Iterator[str]:
    """Trees that lived beside the next one of their job for longer than ending takes, or live still."""
    trees: dict[str, dict[tuple[str, int, str], _Family]] = defaultdict(dict)
    for note in notes:
        if note.what in ("start", "sign", "end") and note.facts["job"].startswith(f"{workload.SHELL}/"):
            name = f"{note.facts['run']} #{note.facts['number']}"
            known = trees[note.facts["job"]].setdefault(_key(note), _Family(name, note.at, note.at))
            trees[note.facts["job"]][_key(note)] = known._replace(last=max(known.last, note.at))
    for families in trees.values():
        for one, next_one in pairwise(sorted(families.values(), key=lambda family: family.begin)):
            if (both := min(one.last, next_one.last) - next_one.begin) > _TO_END:
                yield f"overlap: processes of {one.run} and {next_one.run} lived together for {both}"
    nodes = {note.facts["node"] for note in notes if note.what == "identity"}
    for path in Path("/proc").glob("[0-9]*"):
        pid = int(path.name)
        if process_tree.variable_of(pid, b"FOLIOT_REVISION") in nodes and not process_tree.is_dead(pid):
            yield f"left behind: process {pid} of a shell job"
