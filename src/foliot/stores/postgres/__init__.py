"""The store on PostgreSQL, for any number of nodes on any number of hosts.

- **The database decides.** Each verb is one short transaction. It locks the states of the jobs that it is
  about, reads their records afresh, decides in this process, and writes all rows of a kind with one
  statement. Claims skip locked rows (`batch`); all other calls wait, in the order of job numbers.
- **Time is the server's** (`clock_timestamp()`), for leases and burials. A claim locks its node's row, and
  a burial needs that row alone: so a burial sees every attempt that the node has claimed (`session`).
- **Rows and code are shared with SQLite** (`stores.sql`): one small index finds the due jobs, and the cost of
  a run does not grow with history.
- **Nothing is kept in a session**: settings, the schema's name and the time limits hold for one
  transaction, and no statement is prepared by name. A pooler such as pgbouncer may give each transaction
  to another connection. Only hints (`notice`) need a connection of their own, and are only hints.
- **Every call has a deadline**, on the server and here (`worker`): a quarter of the lease, at most 5 s.
  A call without an answer by then raises StoreUnavailableError; the next call connects anew.

The driver is psycopg 3, in threads: see docs/adr/0012.
"""

from datetime import timedelta

from foliot.protocols import Clock
from foliot.stores.postgres.address import read_address
from foliot.stores.postgres.inspection import find_flaws as flaws_of
from foliot.stores.postgres.inspection import look_at_schema as schema_of
from foliot.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore", "check_url", "flaws_of", "open_store", "schema_of"]


def check_url(url: str) -> None:
    """InvalidStoreError if a URL cannot be read."""
    read_address(url)


def open_store(url: str, clock: Clock, *, lease: timedelta) -> PostgresStore:
    """The store in the schema of a URL; time is the server's."""
    return PostgresStore(url, clock=clock, lease=lease)
