"""What a database brings to the verbs that compare before they write."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from foliot.model.answer import NO_LIMITS
from foliot.model.attempt import Attempt
from foliot.model.view import NodeView
from foliot.stores.matching import Key
from foliot.stores.optimistic.change import Change, Past
from foliot.stores.optimistic.entry import Entry, Name


class Guard(NamedTuple):
    """What must hold, beside the marks, for anything to be written.

    `node` lives, and with `needs_lease` its lease has not run out. `claim_id` is asked for the first time,
    or by `asker` still. `limits`: how many attempts of each group may run; a change that starts more is
    refused. `has_news`: somebody should look sooner than they meant to.
    """

    node: str | None = None
    needs_lease: bool = False
    claim_id: str | None = None
    asker: str = ""
    has_news: bool = False
    limits: Mapping[str, int] = NO_LIMITS


class Losses(NamedTuple):
    """Who was buried, and attempts that no living node holds: by job, with the node that held each."""

    buried: tuple[NodeView, ...]
    lost: Mapping[str, Sequence[tuple[str, Key]]]
    more: bool


class ClaimedElsewhereError(Exception):
    """Another call has claimed under the same id: its answer is the answer."""


class OptimisticSession(ABC):
    """A connection at work. Its calls raise StoreError, and NodeBuriedError where a node is named."""

    @abstractmethod
    def entries(self, keys: Collection[str], *, remembered: bool = False) -> Mapping[str, Entry]:
        """The jobs that are there. `remembered`: as this process has last written them, where it knows."""

    @abstractmethod
    def write(self, changes: Sequence[Change], guard: Guard) -> Collection[str]:
        """Write changes; the keys of jobs that another has changed meanwhile, about which nothing is written.

        Of a node whose lease has run out all are refused, where a lease is needed. NodeBuriedError or
        ClaimedElsewhereError if the guard does not hold otherwise.
        """

    @abstractmethod
    def orders(self, key: str, attempts: Sequence[Attempt]) -> Mapping[Name, int]:
        """Which of these attempts have ended before, each with its order of opening."""

    @abstractmethod
    def past(self, key: str) -> Past:
        """All that is kept of a job's history."""

    @abstractmethod
    def bury(self, limit: int, now: datetime) -> Losses:
        """Bury nodes whose lease is over, and name what the dead have held, at most so many attempts."""

    @abstractmethod
    def drop_holds(self, holds: Sequence[tuple[str, str, Key]]) -> None:
        """Nodes no longer hold these attempts: node, job and attempt. Their jobs know nothing of them."""
