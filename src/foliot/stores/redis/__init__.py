"""The store on Redis, and on Valkey, for any number of nodes on any number of hosts.

- **A script decides which writer was first.** Each job is a text that begins with a mark; each write gives a
  new mark. This process reads texts, decides, and sends its writes with the marks that it has read. A Lua
  script (`scripts/commit.lua`) compares and writes, in one step with the check of the node.
- **Few big keys, written by few commands**: texts, definitions and indices of all jobs are a hash or a sorted
  set each (`layout`). A script writes 125 jobs at most, so none holds the server for long.
- **What is due is sorted by bytes**: an entry is the wake, in hexadecimal digits, and the key. So order and
  bounds are exact for every instant of the calendar.
- **Time is the server's** (`TIME`), for leases and burials.
- **All keys begin with the namespace in braces**, so they are in one slot of a cluster.
- **Every call has a deadline**: a quarter of the lease, at most 5 s. A call without an answer by then
  raises StoreUnavailableError; the next call connects anew.

The server's settings decide whether a confirmed write survives a crash: `durability` reads and logs them.
Read `layout` first, then `scripts/common.lua`, `session`, `encode`. `stores.optimistic` has the code
that it shares with MongoDB. The driver is redis-py, in threads: see docs/adr/0034.
"""

from datetime import timedelta

from foliot.protocols import Clock
from foliot.stores.redis.address import read_address
from foliot.stores.redis.inspection import find_flaws as flaws_of
from foliot.stores.redis.inspection import find_sizes as sizes_of
from foliot.stores.redis.inspection import look_at_schema as schema_of
from foliot.stores.redis.store import RedisStore

__all__ = ["RedisStore", "check_url", "flaws_of", "open_store", "schema_of", "sizes_of"]


def check_url(url: str) -> None:
    """InvalidStoreError if a URL cannot be read."""
    read_address(url)


def open_store(url: str, clock: Clock, *, lease: timedelta) -> RedisStore:
    """The store in the namespace of a URL; time is the server's."""
    return RedisStore(url, clock=clock, lease=lease)
