"""Protocols of stores that measure themselves, or migrate while nodes work. See also `protocols`."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from foliot.model.view import StoreHealth as StoreHealth  # noqa: PLC0414 - it is imported from here


@runtime_checkable
class MeasuredStore(Protocol):
    """A store that measures itself, because its server may lose writes that it has confirmed."""

    async def health(self) -> StoreHealth:
        """The server's own figures, and the counts of this process."""
        ...


@runtime_checkable
class StoreWatcher(Protocol):
    """A monitor that receives the measurements of such a store."""

    def on_store(self, health: StoreHealth) -> None:
        """The store was measured, after a heartbeat."""
        ...


@runtime_checkable
class Migrates(Protocol):
    """A store that migrates its schema step by step while nodes work, and not when it is opened."""

    async def migrate(self) -> None:
        """Take all remaining steps."""
        ...
