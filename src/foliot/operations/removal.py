"""Removes a source from a store: first all its jobs, and then the source itself.

There are two steps, because a process may end between them. The first step reconciles the source to no jobs,
under a revision for removals. The second step forgets the source, if it is still at that revision. A program
that declares the source meanwhile, or later, declares it as new.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import uuid4

from foliot.engine.reconciler import names_of, reconcile
from foliot.errors import SourceNotFoundError, StaleRevisionError, StoreError
from foliot.model.view import NodeView
from foliot.operations.facts import serves_source
from foliot.operations.questions import Questions
from foliot.protocols import Snapshot
from foliot.wiring import FullStore


class Removal(NamedTuple):
    """The result: how many jobs were removed, and how many of their runs go on until they end.

    `nodes`: nodes that still serve the source.
    """

    source: str
    jobs: int
    running: int
    nodes: tuple[NodeView, ...]


async def remove_source(
    ops: Questions, source: str, *, force: bool = False, dry_run: bool = False
) -> Removal:
    """Remove a source; StoreError if a node serves it, unless forced."""
    store = ops.store
    now = await store.now()
    known = {view.source: view.revision for view in await store.sources()}
    names = await names_of(store, source)
    if "/" in source or (source not in known and not names):  # `a/b` would mean jobs b/… of a source a
        await ops.check_source(source)  # raises, with a suggestion
        raise SourceNotFoundError(source, hint="foliot source list shows all")
    serving = tuple(view for view in await store.nodes() if view.until >= now and serves_source(view, source))
    if serving and not force:
        raise _served(source, serving)
    if not dry_run:
        await _remove(store, source, known.get(source), now, has_jobs=bool(names))
    attempts = await ops.attempts(is_open=True)
    running = sum(a.is_running and a.job.startswith(f"{source}/") for a in attempts)
    return Removal(source, len(names), running, serving)


async def _remove(
    store: FullStore, source: str, revision: str | None, now: datetime, *, has_jobs: bool
) -> None:
    if has_jobs:
        base, revision = revision, f"removed-{uuid4().hex[:20]}"
        await reconcile(store, source, Snapshot(revision, ()), now, base=base)
    if not await store.forget_source(source, revision):
        raise StaleRevisionError(source, revision, await store.revision(source))


def where(nodes: Sequence[NodeView]) -> str:
    """Which nodes, and where they run."""
    return ", ".join(
        f"{view.node.id} ({view.node.host}, process {view.node.process})" if view.node.host else view.node.id
        for view in nodes
    )


def _served(source: str, nodes: Sequence[NodeView]) -> StoreError:
    return StoreError(
        f"the source {source} is served by a node that lives: {where(nodes)}",
        details={"source": source, "nodes": [view.node.id for view in nodes]},
        hint="stop it first, or it declares the source again; --force removes it anyway",
    )
