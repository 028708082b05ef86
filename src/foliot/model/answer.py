"""What a store answers to the verbs that start, end, recover and forget attempts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from foliot.model.attempt import Refused
from foliot.model.decision import Event
from foliot.model.run import Run
from foliot.model.view import NodeView


class Claimed(NamedTuple):
    """What a claim has started for a node; `more`: it is worth asking again."""

    runs: Sequence[Run] = ()
    events: Sequence[Event] = ()
    more: bool = False


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
