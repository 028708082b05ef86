"""Shell commands as actions: each run is a tree of processes, and none of it outlives the run.

    daemon, on the engine's loop               warden: two small processes in a session of their own
    ┌───────────────┐   orders, a line each    ┌────────┐ fork ┌────────┐ posix_spawn ┌──────────────┐
    │ ShellExecutor │ ───────────────────────▶ │ guard  │ ───▶ │ worker │ ──────────▶ │ sh -c …      │
    │  WardenLink   │ ◀─────────────────────── │ waits  │      │ reaps  │ ◀────────── │ and its tree │
    └───────────────┘   what became of them    └────────┘      └────────┘   two pipes └──────────────┘

*Warden*: what starts commands for the daemon, reads what they write, and ends them. It is small, so that a
spawn costs the same whatever the daemon's size; and it is a child subreaper: whoever loses its parent in a
tree becomes the worker's own child, `setsid` and double forks included, and cannot get lost.
*Tree*: the shell of one run and all that came from it. *Orphan*: a part of a tree whose parent is gone.

Invariant: a run has ended when no process of its tree is left, and not before.

What may die, and what follows:
- a command's shell, before its children: they have a second to end by themselves, then they are ended;
- the daemon, by any signal: the worker sees it and ends every tree, the deaf ones after half a second;
- the worker: the guard inherits all trees, ends them, and goes; the guard: the worker does the same. Either
  way the daemon learns that the warden is gone when the trees are, and starts another for the next run;
- both at once: the daemon looks for the run ids in the environments of all processes, and ends what it finds;
- the daemon is stopped (SIGSTOP) for longer than its leash: the worker ends every tree, and tells it later;
- the worker is stopped: the guard wakes it. Both are: the daemon wakes the guard after five seconds without
  an answer, and kills them with all their trees after twenty. Its death, by any signal, wakes them, too.

The warden imports only `warden/`, `wire` and `run_log`: it has to stay small.
"""
