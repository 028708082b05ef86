"""State that all connections of one store share."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import count
from threading import RLock
from uuid import uuid4

from foliot.model.histogram import Histogram
from foliot.protocols import Clock
from foliot.stores.optimistic.entry import Entry
from foliot.stores.optimistic.ring import Ring
from foliot.stores.redis.written import Written

_MOST_REMEMBERED = 20_000
PLACES = 4096  # of runs within one call: more than a script starts
_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)


class Counts:
    """Counters of this process since the store was opened."""

    def __init__(self) -> None:
        self.calls: dict[str, Histogram] = {}
        self.conflicts: Counter[str] = Counter()
        self.script_loads = 0
        self.regressions = 0
        self.last_regression = ""

    def note_call(self, verb: str, seconds: float) -> None:
        """Count a call, and the time that it took."""
        found = self.calls.get(verb)
        if found is None:
            found = self.calls.setdefault(verb, Histogram(_BOUNDS))
        found.observe_seconds(seconds)

    def note_regression(self, how: str) -> None:
        """Count a loss of confirmed writes."""
        self.regressions += 1
        self.last_regression = how


class Shared:
    """State that all connections of one store share.

    `birth` names the data, `run_id` the process of the server. `seq` is the highest count of writes seen.
    `entries`: jobs as this process has written them last, so that a finish need not read what its own claim
    wrote. `ring` has the last writes, and `nodes` the facts of this process's nodes: if the server loses
    them, they are sent again. The connection that does so holds `lock`. `history`: how many attempts the
    store keeps.
    """

    def __init__(  # noqa: PLR0913 - what a store is opened with
        self,
        prefix: str,
        clock: Clock,
        lease: timedelta,
        told: Callable[[], int | None] = lambda: None,
        failpoint: Callable[[str], None] = lambda _: None,
        *,
        history: int = 0,
    ) -> None:
        self.prefix = prefix
        self.history = history
        self.pruned_to = "-"  # where the deletion of the oldest attempts continues, if there are too many
        self.failpoint = failpoint
        self.clock = clock
        self.lease = lease
        self.told = told
        self.birth = self.run_id = ""
        self.seq = 0
        self.losses = 0  # how often the server has lost data
        self.begins = 0  # how often a connection has begun to find out whether it has
        self.entries: OrderedDict[str, Entry] = OrderedDict()
        # Not a generator: two threads may ask at once, and a generator refuses the second.
        self.marks: Iterator[str] = map(f"{uuid4().hex[:12]}.{{:x}}".format, count(1))
        self.starts = count(1)  # of calls and jobs that start runs, in their order
        self.lanes: dict[str, tuple[str, str]] = {}
        self.nodes: dict[str, str] = {}
        self.ring: Ring[Written] = Ring(clock)
        self.heals_until = 0.0
        self.is_migrated = False  # all steps of the schema were taken
        self.is_unconfirmed = False  # a write is not confirmed yet
        self.lock = RLock()
        self.counts = Counts()

    def known(self) -> dict[str, object]:
        """The facts for every script."""
        told = self.told()
        return {"birth": self.birth} if told is None else {"birth": self.birth, "told": told}

    def forget(self) -> None:
        """The server has lost data, so this process's cached entries may be wrong."""
        self.losses += 1
        self.is_migrated = False
        self.entries.clear()
        self.lanes = {}

    def remember(self, entry: Entry) -> None:
        """Remember a job as this process has written it."""
        self.entries[entry.key] = entry
        self.entries.move_to_end(entry.key)
        while len(self.entries) > _MOST_REMEMBERED:
            self.entries.popitem(last=False)
