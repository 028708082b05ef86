"""Taking a source out of a store: its jobs go as if it declared none any more, and then it is forgotten.

In two steps, because a store may be left between them: a source of a million jobs is removed by one
reconciliation, under a revision that says so, and then forgotten if it is still at that revision. Whoever
declares the source meanwhile, or later, does so as if it were new.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from uuid import uuid4

from foliot.cli.session import Session
from foliot.engine.reconciler import names_of, reconcile
from foliot.errors import SourceNotFoundError, StaleRevisionError, StoreError
from foliot.model.view import NodeView
from foliot.protocols import Snapshot

_ADDED = ".added"  # what an application schedules while it runs is a source of its own


class Removal(NamedTuple):
    """What was done: so many jobs are removed, and so many runs of theirs go on until they end.

    `nodes` are those that serve the source all the same.
    """

    source: str
    jobs: int
    running: int
    nodes: tuple[NodeView, ...]


async def remove(session: Session, source: str, *, force: bool) -> Removal:
    """Remove a source; StoreError if a node serves it, unless forced."""
    store = session.store
    known = {view.source: view.revision for view in await store.sources()}
    names = await names_of(store, source)
    if "/" in source or (source not in known and not names):  # else `a/b` would be jobs b/… of a source a
        raise SourceNotFoundError(source, hint="foliot source list shows all")
    serving = tuple(
        view for view in await store.nodes() if view.until >= session.now and serves(view, source)
    )
    if serving and not force:
        raise _served(source, serving)
    revision = known.get(source)
    if names:
        base, revision = revision, f"removed-{uuid4().hex[:20]}"
        await reconcile(store, source, Snapshot(revision, ()), session.now, base=base)
    if not await store.forget_source(source, revision):
        raise StaleRevisionError(source, revision, await store.revision(source))
    attempts = await session.ops.attempts(is_open=True)
    running = sum(a.is_running and a.job.startswith(f"{source}/") for a in attempts)
    return Removal(source, len(names), running, serving)


def serves(view: NodeView, source: str) -> bool:
    """Whether a node declares a source: it follows that repository, or runs the code of that application.

    Such a node tells so by a kind of action: `shell:ops`, `code:billing/r7`, `declarative:billing`.
    """
    subjects = {kind.partition(":")[2].partition("/")[0] for kind in view.node.kinds or ()}
    return not subjects.isdisjoint((source, source.removesuffix(_ADDED)))


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
        hint="stop it first, or it declares the source again; --force removes it all the same",
    )
