"""What a server remembers between pages: a bounded number of values for each purpose."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from foliot.api.service import Service

V = TypeVar("V")


class Memory(Generic[V]):
    """Values by their keys, of each server its own; the oldest are forgotten first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: WeakKeyDictionary[Service, OrderedDict[Hashable, V]] = WeakKeyDictionary()

    def find(self, service: Service, key: Hashable) -> V | None:
        """What is known under a key."""
        return self._known.get(service, OrderedDict[Hashable, V]()).get(key)

    def keep(self, service: Service, key: Hashable, value: V) -> None:
        """Remember a value."""
        known = self._known.setdefault(service, OrderedDict())
        known[key] = value
        known.move_to_end(key)
        if len(known) > self._most:
            known.popitem(last=False)
