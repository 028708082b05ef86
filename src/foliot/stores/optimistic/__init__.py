"""The code that Redis and MongoDB share: look, decide, compare and set; if another writer was quicker, again.

    look ──▶ entries ──▶ decide, in this process ──▶ changes ──▶ write ──▶ refused: look again
             (a mark each)                            (with the marks that were read)

Such a store locks nothing while it decides. It reads a job's *entry*: the record, and a *mark* that no write
gives a second time. A decision makes a *change* of it. The database takes a change only if the job still has
the mark of its entry; otherwise another writer was quicker, and the job is read and decided about anew.

- `entry`: a job as it was read, and the counts of its history (`Tally`).
- `change`: what one decision writes, worked out without the database.
- `session`: what a database must bring.
- `claim`, `verbs`: claims, finishes, recovery and commands on it.
- `revision`: a revision of a source, all or nothing. A large one is *staged* in parts that no node sees, its
  source is held still while the marks are compared once more, and then it counts, in one small step. From
  there on every process that meets it helps to apply it: the decisions are stored, so no planner is asked.

Invariants: a change guards the whole record (ADR 0007, rule 1); history is written with the record, never
before; a node is checked in the same step as the write.
"""
