"""How fast the next time of a cron rule is found: by Foliot, and by the libraries people use today.

Three questions are measured, each with the rule parsed beforehand:

- *next time* (goal P1): an aware datetime in, the next occurrence as an aware datetime out. Nothing is
  remembered from one instant to the next, as in a scheduler that asks about many jobs.
- *run* : N occurrences in a row, each library in its own best way. Here it may remember where it is.
- *herd* (goal P2): the next times of a million jobs that share a thousand rules.

A ratio is only worth something if both sides did the same work at the same time. So every library
answers the same instants; its answers are compared with ours before it is timed; the libraries take
turns, round by round, so that a noisy minute hits all of them; and the median of the rounds counts.
Each peer is used in the fastest way found, even where its manual shows a slower one (`peers.py`).

    python -m benchmarks.cron           tables to stdout, docs/assets/bench-cron.json and .svg
    python -m benchmarks.cron --quick   a few seconds, tables only
"""
