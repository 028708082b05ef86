"""What a store answers to the verbs that start, end, recover and forget attempts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from foliot.model.attempt import Refused
from foliot.model.decision import Event
from foliot.model.run import Run
from foliot.model.view import NodeView

NO_LIMITS: Mapping[str, int] = MappingProxyType({})  # of groups


class Claimed(NamedTuple):
    """What a claim has started for a node; `more`: it is worth asking again.

    `waits`: a job was due, and its group was full.
    """

    runs: Sequence[Run] = ()
    events: Sequence[Event] = ()
    more: bool = False
    waits: bool = False


class Finished(NamedTuple):
    """What came of the endings that were reported."""

    refused: tuple[Refused, ...] = ()
    events: Sequence[Event] = ()


class Recovered(NamedTuple):
    """What came of the losses of the dead; `more`: some are left. `buried`: by this call, as they were."""

    events: tuple[Event, ...] = ()
    more: bool = False
    buried: tuple[NodeView, ...] = ()


class Pruned(NamedTuple):
    """How much was forgotten; `more`: it is worth asking again soon."""

    forgotten: int = 0
    more: bool = False


class Wakes(NamedTuple):
    """When the first job is to be looked at, and how many are due, if they were counted."""

    first: datetime | None = None
    due: int = 0
