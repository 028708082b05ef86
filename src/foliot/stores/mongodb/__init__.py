"""The store on MongoDB, standalone or as a replica set, for any number of nodes on any number of hosts.

- **One document a job, which has a mark.** Each write gives a new mark. This process reads documents,
  decides, and sends its writes with the marks that it has read; the server compares (`codec`).
- **No transactions**: a standalone server has none, and in a herd one conflict would undo a batch. Writes to
  other collections, such as history, go into the job's own document first (`effects`).
- **A revision is prepared in the jobs themselves**, and counts when the document of its source says so
  (`transaction`). Before that nothing has changed; after that every process that meets it helps to apply it.
- **A node is checked before a write**, not in the same step. A write that was under way at the burial may
  still start attempts. The next `recover` finds them: it reads holders first, and living nodes second.
- **Every write waits for a majority and for the journal**; a failed write concern counts as no answer.
- **Time is the server's** (`$$NOW`), for leases and burials. A lease carries the election of the primary that
  stamped it, because another primary may have another clock.
- **Every call has a deadline**: a quarter of the lease, at most 5 s. A call without an answer by then
  raises StoreUnavailableError.

Read `layout` first, then `codec`, `effects`, `transaction`, `session`. `stores.optimistic` has the code
that it shares with Redis. The driver is pymongo, in threads: see docs/adr/0044.
"""

from datetime import timedelta

from foliot.protocols import Clock
from foliot.stores.mongodb.address import read_address
from foliot.stores.mongodb.inspection import find_flaws as flaws_of
from foliot.stores.mongodb.inspection import look_at_schema as schema_of
from foliot.stores.mongodb.store import MongoStore

__all__ = ["MongoStore", "check_url", "flaws_of", "open_store", "schema_of"]


def check_url(url: str) -> None:
    """InvalidStoreError if a URL cannot be read."""
    read_address(url)


def open_store(url: str, clock: Clock, *, lease: timedelta) -> MongoStore:
    """The store in the database of a URL; time is the server's."""
    return MongoStore(url, clock=clock, lease=lease)
