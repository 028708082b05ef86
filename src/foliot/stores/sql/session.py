"""What a connection works with, from one call to the next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, ParamSpec, TypeVar

from foliot.model.state import Node
from foliot.protocols import Clock
from foliot.stores.claim_cursor import ClaimCursor
from foliot.stores.herd import Herds
from foliot.stores.sql.batch import WriteBatch
from foliot.stores.sql.claim import Asked
from foliot.stores.sql.definition import Reader, Writer
from foliot.stores.sql.dialect import Dialect
from foliot.stores.sql.interned import Interned

Answer = TypeVar("Answer")
Facts = ParamSpec("Facts")


class ClaimStart(NamedTuple):
    """What a claim begins with: its node, which lives, and the time by which leases are judged.

    `claim_no` is the number of this claim, `before` that of the same claim, if it was made before. `lanes`
    are those of each queue that lead to what the node can do.
    """

    node_no: int
    lease_until: int
    now: int
    claim_no: int
    before: int | None
    lanes: Mapping[str, Sequence[int]]


class Session(ABC):
    """The dialect, the shared texts, and how jobs are read and written.

    `told` are keys of jobs that were passed over, and told of. `is_careful`: see `WriteBatch`.
    `has_bad_text`: a key may be shown as another than the one that it is sorted by.
    """

    has_bad_text = False

    def __init__(
        self,
        dialect: Dialect,
        jobs: tuple[Reader, Writer],
        clock: Clock,
        lease: timedelta,
        *,
        is_careful: bool,
    ) -> None:
        self.dialect = dialect
        self.reader, self.writer = jobs
        self.clock = clock
        self.lease = lease
        self.interned = Interned(dialect)
        self.herds = Herds(lambda frame, no: self.reader.mould(frame, self.interned.policy(no)))
        self.told: set[str] = set()
        self.claim_cursor = ClaimCursor(clock, has_litter=dialect.has_litter)
        self.is_careful = is_careful

    def forget(self) -> None:
        """What was learned in a transaction that was undone may never have been written."""
        self.is_careful = True
        self.interned.forget()
        self.told.clear()
        self.claim_cursor = ClaimCursor(self.clock, has_litter=self.dialect.has_litter)

    def asking(self, ask: Callable[Facts, Answer]) -> Callable[Facts, Answer]:
        """A function that the caller has given, as it is called in a transaction."""
        return ask

    @abstractmethod
    def batch(self, *, locks: bool = True) -> WriteBatch:
        """A batch for one call. `locks`: no other call writes to the jobs that it reads."""

    @abstractmethod
    def begin_claim(self, asked: Asked) -> ClaimStart:
        """The node of a claim, which cannot be buried meanwhile; NodeBuriedError if it does not live."""

    @abstractmethod
    def write_node(self, node: Node) -> None:
        """Write what a node is and serves. A node whose id is known has begun before, and may have ended."""

    @abstractmethod
    def find_dead(self, now: datetime) -> Collection[int]:
        """Nodes that live no more, by proof or by their leases: by the store's time and by `now`."""

    @abstractmethod
    def forget_nodes(self, ids: Iterable[str]) -> None:
        """Forget what is kept of nodes beside their rows."""

    @abstractmethod
    def lock_group(self, group: str) -> bool:
        """Let no other claim start attempts of a group before this one has committed; False: another does."""

    def proven_dead(self) -> Collection[int]:
        """Nodes of which it is proved that they live no more, whatever their leases."""
        return ()

    @abstractmethod
    def lock_jobs(self, keys: Collection[str]) -> None:
        """Lock jobs, in the order in which all calls lock jobs."""
