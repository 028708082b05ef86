"""Queries and commands of people, in one place: the application, the command line and all doors use it.

    Questions    find a job, list jobs and attempts, why, the ledger of occurrences, wait for a run
        ▲        read only
    Operations   trigger, rerun, pause, resume, cancel, backfill
                 each with `dry_run`: the planner decides on the record as it is, and nothing is written

    Definitions  jobs of a source are added, changed and removed one by one
    plan         what a change of definitions would do to runs; `facts_of` makes JSON of it
    facts        how a job and a node are, in single words; which jobs no node serves

A command returns an `Effect`; its dry run returns the same, with `is_dry_run`. An impossible command raises
an error of `foliot.errors`. Queries of a store are built here, and in no door.
"""

from foliot.operations.definitions import Check, Defined, Definitions
from foliot.operations.effect import Effect, Start
from foliot.operations.facts import Unserved, find_unserved, next_at, node_state, serves_source, state_of
from foliot.operations.ledger import Fate, Ledger, Occurrence, Past
from foliot.operations.operations import Operations, Which
from foliot.operations.plan import plan_changes, plan_source
from foliot.operations.plan_facts import facts_of
from foliot.operations.questions import EVERYTHING, Questions, can_start, readable

__all__ = [
    "EVERYTHING", "Check", "Defined", "Definitions", "Effect", "Fate", "Ledger", "Occurrence", "Operations",
    "Past", "Questions", "Start", "Unserved", "Which", "can_start", "facts_of", "find_unserved", "next_at",
    "node_state", "plan_changes", "plan_source", "readable", "serves_source", "state_of",
]  # fmt: skip
