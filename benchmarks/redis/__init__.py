"""What the store on Redis costs: goal P3, how long its scripts hold the server, and memory.

    python -m benchmarks.redis                 prints JSON; some minutes
    python -m benchmarks.redis --runs 5000     quicker, and less sure

- `p3`: jobs that are all due at once, claimed and finished in batches of 500, through the store with the
  planner, and by a bare loop that does the same work with scripts of its own (`bare`). Rounds take turns.
- `scripts`: the longest that a script holds the server while jobs are declared, changed and run (`hold`).
- `memory`: bytes of the server for a job, and for an attempt that is kept.

The server is one of this machine, with `appendfsync always`.
"""
