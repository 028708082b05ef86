"""The store in one file, for one program or for several processes on one host.

- **One writer.** A thread of its own does all that changes anything, in transactions that take the
  file's only write lock at once (BEGIN IMMEDIATE): `decide` runs inside, so what it saw is what is written
  over. What waits is committed together (`worker`).
- **Rows for runs.** A run is one update of its job's state, one attempt added, one attempt changed;
  attempts are stored by time, so none of this grows with history (`history`). What is due is found by one
  index of (lane, wake_at); a lane is a queue and a kind of action (`shelf`).
- **Entries.** A verb reads the records that it is about, decides, and notes rows that are written
  together (`book`). What cannot be read or decided about is set aside; the others go on.
- **Questions** have connections of their own, and see what was committed when they were asked.
- **Death is proved** by a lock file on the same host (`lock_file`), so that a restart recovers at once
  what its predecessor held; otherwise by the lease, by the clock that was given.

If the disk is full, the file read-only, or locked for too long, a verb raises StoreUnavailableError, has
written nothing, and works again when the trouble is over.
"""

from foliot.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
