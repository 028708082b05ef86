"""What the stores on SQL databases share: the same rows, the same book, the same claim.

- **Rows** are the same in each database (`rows`, `codes`, `definition`, `put`): instants are whole
  microseconds, words of the model are small numbers, and jobs share their frames.
- **The book** of one call (`book`, `entry`) reads records, asks, and notes the rows that an answer
  writes; `quick` notes those of a run that goes well. The book of a dialect finds, locks and writes them.
- **The verbs**, as far as they need no SQL: a claim (`claim`, `sweep`), endings and losses (`ending`),
  commands and revisions (`declare`), retention (`prune`), what is shown (`answer`), history (`history`).
- **`dialect`** is what all of this needs of a database: how a statement is written and carried out.

A dialect keeps to itself what is its own: statements and their placeholders, locks, how many rows travel at
once, who lives and what time it is, and how a transaction begins and ends. No module here knows a driver.
"""
