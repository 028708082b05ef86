"""The store on a SQL database. SQLite and PostgreSQL are two dialects of it.

- **`store`** has every verb once, and says which *lane* does it. `session` is what a connection works with.
- **`dialect`** is the interface to a database: how a statement is written and carried out, how many
  rows are written at once, what time it is, where tables differ. No module here knows a driver.
- **Rows** are the same in each database (`rows`, `codes`, `definition`, `upsert`): instants are whole
  microseconds, words of the model are small numbers, and jobs share their frames. Texts that many rows share
  have numbers (`interned`).
- **A batch** (`batch`, `entry`) is the work of one call: it reads records, asks, and notes the rows that an
  answer writes.
- **Verbs by subject**: claims, ends and losses (`runs`, `claim`), nodes (`node_rows`),
  sources (`source_rows`), commands and revisions (`declare`), questions (`queries`, `answer`).
- **History** is found by links (`history_links`, `history_queries`) and forgotten when that is worth a look
  (`prune`, `look`, `cut`, `erasure`).

Each dialect has its own code for: connections and threads, how a transaction begins and ends, locks,
deadlines, proofs of death, hints, and the steps of its schema. See docs/adr/0019.
"""
