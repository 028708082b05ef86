"""What carries occurrences out: a pure planner, and a thin engine around it.

Read `planner` first (what happens to a job), then `engine` (the loop that lets it happen).
"""
