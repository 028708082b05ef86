"""The beat beside RedBeat and Celery's own beat, on one real Redis: `python -m benchmarks.beat` (BAN-18).

    parts   taking a lock, reading and writing the state of a schedule, beside the bare commands
    ours    a turn with so many schedules: none due, and all due at one instant
    peers   the same turn of RedBeat, and of Celery beat

Nobody publishes anything: a queue that takes a job at once is in the place of the broker, so what is measured
is the beat. The answer is JSON, with ratios of one run: a rate of another machine tells nothing.
"""
