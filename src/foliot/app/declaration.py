"""What the code of a program declares, beside nodes of an older or a newer revision of it.

How the revisions agree is said in `engine.convergence`. A node tells its revision by a kind such as
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
    """Whether a kind tells which revision of a program's code a node runs."""
    return kind.startswith(_MARKER)


class Declaration:
    """The jobs of a program's code, and the store that is to agree with them."""

    def __init__(self, core: Core, registry: Registry) -> None:
        self._core = core
        self._registry = registry
        self._declarer: Declarer | None = None

    @property
    def marker(self) -> str:
        """The kind that tells which revision of the code a node runs."""
        return self._declared().mark.own

    def _declared(self) -> Declared:
        """The code as it is now: it may grow while the program runs."""
        name, snapshot = self._core.name, self._registry.snapshot()
        mark = Mark(f"{_MARKER}{name}", f"{_MARKER}{name}/{snapshot.revision}")
        return Declared(name, mark, {job.name: job for job in snapshot.jobs}, snapshot.revision)

    async def write(self) -> Sequence[Event]:
        """Make the store agree with the code."""
        store = await self._core.store()
        events: tuple[Event, ...] = ()
        if store.traits.proves_deaths and other_marks(self._declared().mark, await store.nodes()):
            events = await bury_dead_nodes(
                store, await store.now()
            )  # a node whose death is proved keeps no jobs
        self._declarer = Declarer(store, self._declared, _job_of)
        return joined(events, await self._declarer.declare())

    async def tidy(self) -> Sequence[Event]:
        """Do what follows when nodes of other revisions have come or gone; nearly always nothing."""
        return () if self._declarer is None else await self._declarer.look_again()


async def bury_dead_nodes(store: FullStore, now: datetime) -> tuple[Event, ...]:
    """Declare nodes dead whose lease has run out, and tell the log."""
    recovered = await store.recover(_BATCH, now, plan_lost)
    for dead in recovered.buried:
        tell_burial(dead)
    return recovered.events


def _job_of(view: JobView) -> Job | None:
    """What is stored of a job; None if it was set aside: the code declares it anew."""
    return None if view.record is None or view.damage is not None else view.record.job
