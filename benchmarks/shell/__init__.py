"""How fast shell commands are started and reaped (goal P5), and how late the last of many starts (ROLL-19).

- *race*: `sh -c true`, some at a time. The floor is a bare loop in one process, `posix_spawn` and a pidfd for
  each command, which reads nothing, watches over nothing and ends nothing; beside it the same with two pipes
  that are read to their end. Foliot is its `ShellExecutor`, also in a daemon that holds a gigabyte; asyncio
  is what most programs would use. They take turns, round by round, and the ratio is that of neighbours.
- *burst*: so many commands are ordered at once; each writes down when it has started.

    python -m benchmarks.shell           tables to stdout, docs/assets/bench-shell.json and its page
    python -m benchmarks.shell --quick   a few seconds, tables only
"""
