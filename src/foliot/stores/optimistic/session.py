"""The interface to a database, for verbs that compare before they write."""

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
    """Conditions for a write, beside the marks.

    `node` must be alive; with `needs_lease` its lease must not be over. `claim_id` must be new, or belong to
    `asker`. `limits`: how many attempts of each group may run; a change that starts more is refused.
    `has_news`: send a hint, because other nodes should look at the store now.
    """

    node: str | None = None
    needs_lease: bool = False
    claim_id: str | None = None
    asker: str = ""
    has_news: bool = False
    limits: Mapping[str, int] = NO_LIMITS


class Losses(NamedTuple):
    """The buried nodes, and the attempts without a living node: by job, each with its dead node."""

    buried: tuple[NodeView, ...]
    lost: Mapping[str, Sequence[tuple[str, Key]]]
    more: bool


class ClaimedElsewhereError(Exception):
    """Another call has claimed under the same id. Its answer counts."""


class OptimisticSession(ABC):
    """A connection at work. Its calls raise StoreError, and NodeBuriedError where a node is named."""

    @abstractmethod
    def entries(self, keys: Collection[str], *, remembered: bool = False) -> Mapping[str, Entry]:
        """The existing jobs of these keys. `remembered`: this process's own last writes are enough."""

    @abstractmethod
    def write(self, changes: Sequence[Change], guard: Guard) -> Collection[str]:
        """Write changes. Returns the keys of refused jobs: another writer has changed them meanwhile.

        If the guard needs a lease and the lease is over, all are refused. NodeBuriedError or
        ClaimedElsewhereError if another condition of the guard does not hold.
        """

    @abstractmethod
    def orders(self, key: str, attempts: Sequence[Attempt]) -> Mapping[Name, int]:
        """The attempts among these that are in the history, each with its order of opening."""

    @abstractmethod
    def past(self, key: str) -> Past:
        """The whole history of a job."""

    @abstractmethod
    def bury(self, limit: int, now: datetime) -> Losses:
        """Bury nodes whose lease is over. Returns at most `limit` attempts of dead nodes."""

    @abstractmethod
    def drop_holds(self, holds: Sequence[tuple[str, str, Key]]) -> None:
        """Delete index entries (node, job, attempt) of attempts that are not in the job's record."""
