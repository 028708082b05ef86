"""All that one store keeps, written into another of any kind, and compared at the end.

    copy.py      the way: check both stores, copy source by source, then the rest, then compare
    past.py      what one job has: its record, its definitions, its history; as both stores tell it
    replay.py    definitions in the order in which they held, so that the copy counts the same versions
    beside.py    what is no job: tokens, the audit, pipelines
    compare.py   whether the copy has the same

It uses the verbs that every store has. `reconcile` and `update` ask a function what to write: here the
function answers with what the other store has, instead of planning. So no store needs code for copies, but
for `restore_source`.

Copied are jobs with their definitions, states and versions, sources with revisions and status, attempts with
outputs, skips, alerts, tokens, the audit and pipelines. Not copied are nodes, their leases and outages, and
logins of the dashboard: they are of the old store's processes. A run whose node has died is lost in the copy,
as the first node on the old store would find it; the old store itself is not changed.
"""

from foliot.operations.copying.copy import Copied, copy_store

__all__ = ["Copied", "copy_store"]
