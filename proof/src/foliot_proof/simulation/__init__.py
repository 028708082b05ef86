"""Months of several nodes in a second: the production engine on a virtual clock, with faults.

Everything that runs here is the shipped engine, planner and memory store. Replaced are only the clock,
the way to the store (it may be slow, fail, or swallow answers), the executor (jobs that succeed, fail,
hang, and keep their own witness) and chance, which comes from one seed. One seed replays one history, bit
for bit: `simulate(seed).digest` says so.

    scenario   what jobs there are, what happens when, drawn from the seed
    node       one engine process: started, crashed, paused, cut off, stopped
    world      true time, hosts, trace          virtual_loop   time that jumps
    faulty_store, executor                      simulate       all of it together
"""
