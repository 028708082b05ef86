"""What the store on MongoDB costs: goal P3.

    python -m benchmarks.mongodb                 prints JSON; some minutes
    python -m benchmarks.mongodb --runs 2000     quicker, and less sure
    python -m benchmarks.mongodb --set           on a replica set of one

Jobs that are all due at once are claimed and finished in batches of 500, through the store with the planner,
and by a bare loop that does the same work by hand (`bare`). Rounds take turns.
"""
