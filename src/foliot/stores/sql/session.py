"""The state of a connection that lives from one call to the next."""

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
    """The first facts of a claim: its living node, and the time for comparing leases.

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

    `told`: keys of jobs that were passed over and reported. `is_careful`: see `WriteBatch`. `has_bad_text`:
    some keys have invalid characters, so they are shown with other characters than they are sorted by.
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
        """Forget what a transaction has cached that was rolled back."""
        self.is_careful = True
        self.interned.forget()
        self.told.clear()
        self.claim_cursor = ClaimCursor(self.clock, has_litter=self.dialect.has_litter)

    def asking(self, ask: Callable[Facts, Answer]) -> Callable[Facts, Answer]:
        """Wrap a function of the caller for the time of a transaction."""
        return ask

    @abstractmethod
    def batch(self, *, locks: bool = True) -> WriteBatch:
        """A batch for one call. `locks`: no other call writes to the jobs that it reads."""

    @abstractmethod
    def begin_claim(self, asked: Asked) -> ClaimStart:
        """Lock the node of a claim, so that it cannot be buried meanwhile. NodeBuriedError if it is dead."""

    @abstractmethod
    def write_node(self, node: Node) -> None:
        """Write the row of a node. If the id exists, the node has joined before, and may be dead."""

    @abstractmethod
    def find_dead(self, now: datetime) -> Collection[int]:
        """The dead nodes: by proof, or by a lease that is over by the store's time and by `now`."""

    @abstractmethod
    def forget_nodes(self, ids: Iterable[str]) -> None:
        """Delete data of nodes that is not in their rows, such as lock files."""

    @abstractmethod
    def lock_group(self, group: str) -> bool:
        """Lock a group until this claim commits. False if another claim has the lock."""

    def proven_dead(self) -> Collection[int]:
        """The nodes that are dead by proof, whatever their leases."""
        return ()

    @abstractmethod
    def lock_jobs(self, keys: Collection[str]) -> None:
        """Lock jobs, in the order in which all calls lock jobs."""
