"""How fast the planner decides, and how fast jobs are read and written.

- *herd* (goal P2): the next times of a million jobs that share a thousand rules, as in `benchmarks.cron`.
- *decisions*: planner time per decision, over 10,000 distinct jobs with 10,000 distinct rules in five
  zones, so that nothing but what all jobs share is warm. A run that goes well takes two of them, `due` and
  `ended`; together they are to stay under 10 µs.
- *codec*: a job as JSON text, there and back, its policy in the text or apart from it. A rule is known if
  it was read before; of 10,000 rules in turn, more than the cache holds, none is.

Every decision is looked at once before it is timed, so that each row measures what it says. The rows take
turns, round by round, and the median of the rounds counts.

    python -m benchmarks.plan           tables to stdout, docs/assets/bench-plan.json
    python -m benchmarks.plan --quick   a few seconds, tables only
"""
