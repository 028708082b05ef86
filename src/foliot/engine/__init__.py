"""Runs the jobs of a store: a pure planner decides, and a thin engine carries it out.

Read `planner` first (what happens to a job), then `engine` (the loop that carries it out).
"""
