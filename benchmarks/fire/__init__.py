"""How fast jobs fire: Foliot on SQLite with `synchronous=FULL`, and the schedulers people use today.

- *race* (goal P4): N no-op jobs, all due at the same second, scheduled before by the public API. When does
  the last one start, and when is the last end recorded? Each contender in a process of its own, in turns.
- *store* (goal P3): claim and finish through the store, in batches, beside a bare loop on `sqlite3` that
  reads and writes the same rows.
- *lateness* (goal P6): 10,000 jobs at once, and one job every second.
- *growth* (goals P7 to P9): memory, time to the first start, idle CPU time and CPU time per fired job of a
  fresh process, while more and more jobs that are not due are stored.

Foliot is used as its users use it: `Foliot`, `schedule_many`, default policies, a payload of its own for each
job, and a listener that counts events. Peers are used in the fastest durable way found; what each of them
records, and what not, stands beside its figures (`contender.py`).

    python -m benchmarks.fire             tables to stdout, docs/assets/bench-fire.json and .svg
    python -m benchmarks.fire --million   the same with a million jobs; some ten minutes
    python -m benchmarks.fire --quick     under a minute, tables only
"""
