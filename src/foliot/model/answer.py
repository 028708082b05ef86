"""Answers of a store: to claim, finish, recover and prune."""

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
    """What a claim has started for a node; `more`: claim again.

    `waits`: a job was due, and its group was full.
    """

    runs: Sequence[Run] = ()
    events: Sequence[Event] = ()
    more: bool = False
    waits: bool = False


class Finished(NamedTuple):
    """The answer to reported endings."""

    refused: tuple[Refused, ...] = ()
    events: Sequence[Event] = ()


class Recovered(NamedTuple):
    """What was recovered from dead nodes; `more`: recover again.

    `buried`: nodes that this call declared dead.
    """

    events: tuple[Event, ...] = ()
    more: bool = False
    buried: tuple[NodeView, ...] = ()


class Pruned(NamedTuple):
    """How much was deleted; `more`: prune again soon."""

    forgotten: int = 0
    more: bool = False


class Wakes(NamedTuple):
    """When the first job wakes, and how many are due, if they were counted."""

    first: datetime | None = None
    due: int = 0
