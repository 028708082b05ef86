"""The seams by which a store tells how it fares by itself, and is brought up to date: see `protocols`."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from foliot.model.view import StoreHealth as StoreHealth  # noqa: PLC0414 - it is imported from here


@runtime_checkable
class MeasuredStore(Protocol):
    """A store whose server may lose what it has answered, and that measures itself."""

    async def health(self) -> StoreHealth:
        """What its server says of itself, and what this process has counted."""
        ...


@runtime_checkable
class StoreWatcher(Protocol):
    """A monitor that wants to know how a measured store fares."""

    def on_store(self, health: StoreHealth) -> None:
        """The store was asked, after a heartbeat."""
        ...


@runtime_checkable
class Migrates(Protocol):
    """A store that takes the steps of its schema while nodes work, and not when it is opened."""

    async def migrate(self) -> None:
        """Take all steps that are still to be taken."""
        ...
