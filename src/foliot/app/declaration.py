"""Declares the jobs of a program's code, beside nodes with an older or newer version of the code.

`engine.convergence` explains how the versions agree. A node announces its version by a kind such as
`code:shop/code-4f1a…`, which no job has.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from foliot.app.core import Core
from foliot.app.registry import Registry
from foliot.engine.convergence import Declared, Mark, other_marks
from foliot.engine.planner import plan_lost
from foliot.engine.reconciler import Declarer
from foliot.model.decision import Event
from foliot.model.events import joined
from foliot.model.job import Job
from foliot.observability.log import tell_burial
from foliot.protocols import JobView
from foliot.wiring import FullStore

_BATCH = 1000
_MARKER = "code:"


def is_marker(kind: str) -> bool:
    """Whether a kind announces the version of a program's code."""
    return kind.startswith(_MARKER)


class Declaration:
    """The jobs of a program's code, and the store that must equal them."""

    def __init__(self, core: Core, registry: Registry) -> None:
        self._core = core
        self._registry = registry
        self._declarer: Declarer | None = None

    @property
    def marker(self) -> str:
        """The kind that announces this version of the code."""
        return self._declared().mark.own

    def _declared(self) -> Declared:
        """The present declarations; more may come while the program runs."""
        name, snapshot = self._core.name, self._registry.snapshot()
        mark = Mark(f"{_MARKER}{name}", f"{_MARKER}{name}/{snapshot.revision}")
        return Declared(name, mark, {job.name: job for job in snapshot.jobs}, snapshot.revision)

    async def write(self) -> Sequence[Event]:
        """Make the store equal to the code."""
        store = await self._core.store()
        events: tuple[Event, ...] = ()
        if store.traits.proves_deaths and other_marks(self._declared().mark, await store.nodes()):
            events = await bury_dead_nodes(
                store, await store.now()
            )  # first declare dead nodes dead, so that they keep no jobs
        self._declarer = Declarer(store, self._declared, _job_of)
        return joined(events, await self._declarer.declare())

    async def tidy(self) -> Sequence[Event]:
        """React to nodes of other versions that came or left; usually there is nothing to do."""
        return () if self._declarer is None else await self._declarer.look_again()


async def bury_dead_nodes(store: FullStore, now: datetime) -> tuple[Event, ...]:
    """Declare nodes with an expired lease dead, and log it."""
    recovered = await store.recover(_BATCH, now, plan_lost)
    for dead in recovered.buried:
        tell_burial(dead)
    return recovered.events


def _job_of(view: JobView) -> Job | None:
    """The stored job; None if it was set aside, and then the code declares it again."""
    return None if view.record is None or view.damage is not None else view.record.job
