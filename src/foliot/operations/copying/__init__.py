"""Copies the whole content of a store into another store of any kind, and compares both at the end.

    copy.py      the way: check both stores, copy source by source, then the rest, then compare
    past.py      what one job has: its record, its definitions, its history; as both stores tell it
    replay.py    definitions in the order in which they held, so that the copy counts the same versions
    beside.py    what is no job: tokens, the audit, pipelines
    compare.py   whether the copy has the same

It uses the verbs that every store has. `reconcile` and `update` ask a function what to write. Here the
function does not plan: it returns the data of the other store. So a store needs no code for copies, except
for `restore_source`.

Copied are jobs with their definitions, states and versions, sources with revisions and status, attempts with
outputs, skips, alerts, tokens, the audit and pipelines. Not copied are nodes, their leases and outages, and
logins of the dashboard: they belong to the processes of the old store. If the node of a run has died, the run
is lost in the copy, as the next node on the old store would decide. The old store itself does not change.
"""

from foliot.operations.copying.copy import Copied, copy_store

__all__ = ["Copied", "copy_store"]
