"""The warden: the small process that starts commands, reads what they write, and ends their trees.

`guard` comes first, forks the `worker` and waits for its end. The worker is one loop over a few descriptors:
orders from the daemon, what commands write, and who has died. It has one thread, so it may change its
directory and its limits for the child that it is about to start. `tree` is one command with all that came
from it, `spawn` starts it, `process_tree` knows who descends from whom.

Only the standard library, and little of it: no asyncio, no typing tricks, no foliot beyond this folder,
`run_log` and `wire`. A warden takes about 10 MB and 20 ms to start.
"""
