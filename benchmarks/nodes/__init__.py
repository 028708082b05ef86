"""How fast jobs fire when many nodes share one PostgreSQL.

- *store* (goal P3): claim and finish through the store beside a bare loop on the driver, on the same tables,
  in turns, for several sizes of batches; on PostgreSQL, and on SQLite for comparison.
- *race* (goal P9): no-op jobs, all due at the same second; 1, 2 and 4 nodes, each a process with an engine of
  its own, as `Foliot` makes it. When has the last one started, who used the cores meanwhile, and what did the
  server wait for?
- *growth* (goal P9): idle cost and cost per fired job, of the node and of the server, while more and more
  jobs are stored that are not due.
- *million* (the headline): a million jobs that are due at the same second.

A PostgreSQL is brought up for it, on this host, and it waits for the disk at each commit. So nodes and server
share the cores here, which they would not where it matters.

    python -m benchmarks.nodes             tables to stdout, docs/assets/bench-nodes.json and .svg
    python -m benchmarks.nodes --million   the same, and the million; half an hour
    python -m benchmarks.nodes --tiny      a few jobs, to see that it works
"""
