"""Measures a node's health after a heartbeat. This needs queries to the store."""

from __future__ import annotations

from collections.abc import Collection
from datetime import timedelta

from foliot.engine.store_clock import StoreClock
from foliot.model.view import NodeHealth
from foliot.protocols import Clock, Store

_NONE = timedelta(0)


async def measure_health(  # noqa: PLR0913, PLR0917 - all that it is found out from
    node: str,
    store: Store,
    queues: Collection[str],
    kinds: Collection[str],
    store_clock: StoreClock,
    clock: Clock,
) -> NodeHealth:
    """The health of a node with these queues and kinds. Jobs are counted only if one waits."""
    next_at = (await store.wakes(queues, kinds)).first
    now, jump = store_clock.now(), store_clock.take_jump()
    overdue = max(_NONE, now - (next_at or now))
    backlog = (await store.wakes(queues, kinds, now)).due if overdue else 0
    return NodeHealth(node, now, jump, clock.now() - now, overdue, backlog)
