"""What the code of a program declares, beside other nodes that may run an older or a newer revision of it.

While a program is replaced, node by node, both revisions live. Who starts declares its jobs as it knows
them, and removes nothing that another living revision may have; when all who live are of one revision, what
that does not have is removed. A revision whose jobs others have removed meanwhile declares them again. Each
node tells its revision with the kinds of action that it serves, as one more kind, which no job has.
"""

from __future__ import annotations

from hashlib import sha256
from uuid import uuid4

from foliot.app.core import Core
from foliot.app.registry import Registry
from foliot.engine.planner import plan_lost
from foliot.engine.reconciler import names_of, reconcile
from foliot.errors import StaleRevisionError
from foliot.model.decision import Event
from foliot.observability.log import tell_burial
from foliot.protocols import Snapshot
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
        self._written: str | None = None
        self._is_keeping = False

    @property
    def marker(self) -> str:
        """The kind that tells which revision of the code a node runs."""
        return f"{self._prefix}{self._registry.snapshot().revision}"

    @property
    def _prefix(self) -> str:
        return f"{_MARKER}{self._core.name}/"

    async def write(self, *, anew: bool = False) -> tuple[Event, ...]:
        """Make the store agree with the code, as it is when it is written: it may grow meanwhile.

        `anew`: also if the store has this revision already.
        """
        store = await self._core.store()
        while True:
            snapshot = self._registry.snapshot()
            if anew:
                snapshot = snapshot._replace(revision=f"{snapshot.revision}-{uuid4().hex[:8]}")
            try:
                return await self._write(store, snapshot)
            except StaleRevisionError:  # another process has declared its code meanwhile
                continue

    async def tidy(self) -> tuple[Event, ...]:
        """What is to be done now that others have come or gone; nothing, nearly always."""
        store = await self._core.store()
        base = await store.revision(self._core.name)
        if base == self._written and not self._is_keeping:
            return ()
        try:
            if not await self._others(store):
                return await self._write(store, self._registry.snapshot())
            return await self._bring_back(store, base)
        except StaleRevisionError:
            return ()  # next time

    async def _write(self, store: FullStore, snapshot: Snapshot) -> tuple[Event, ...]:
        now, source = await store.now(), self._core.name
        base = await store.revision(source)
        events: tuple[Event, ...] = ()
        kept: list[str] = []
        if base != snapshot.revision and base is not None and await self._others(store):
            if getattr(store, "proves_deaths", False):
                # Whose death is proved does not live: what only it had may go.
                recovered = await store.recover(_BATCH, now, plan_lost)
                events = recovered.events
                for dead in recovered.buried:
                    tell_burial(dead)
            if await self._others(store):
                declared = {job.name for job in snapshot.jobs}
                kept = [name for name in await names_of(store, source) if name not in declared]
        if kept:
            digest = sha256("\n".join(sorted(kept)).encode()).hexdigest()
            snapshot = snapshot._replace(revision=f"{snapshot.revision}-keeping-{digest[:8]}")
        events += await reconcile(store, source, snapshot, now, base=base, keep=kept)
        self._written, self._is_keeping = snapshot.revision, bool(kept)
        return events

    async def _bring_back(self, store: FullStore, base: str | None) -> tuple[Event, ...]:
        """Jobs of this revision that the store has no more: somebody did not know that it lives."""
        source, names = self._core.name, set(await names_of(store, self._core.name))
        missing = tuple(job for job in self._registry.snapshot().jobs if job.name not in names)
        if not missing:
            return ()
        snapshot = Snapshot(f"code-{uuid4().hex[:20]}", missing)
        return await reconcile(store, source, snapshot, await store.now(), base=base, keep=names)

    async def _others(self, store: FullStore) -> bool:
        """Whether another revision of the code lives."""
        mine = self.marker
        return any(
            kind != mine and kind.startswith(self._prefix)
            for view in await store.nodes()
            for kind in view.node.kinds or ()
        )
