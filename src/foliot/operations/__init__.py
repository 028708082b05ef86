"""What people ask of Foliot, in one place: application, command line and every other door stand on it.

    Questions    find a job, list jobs and attempts, why, the ledger of occurrences, wait for a run
        ▲        read only
    Operations   trigger, rerun, pause, resume, cancel, backfill
                 each with `dry_run`: the planner decides on the record as it is, and nothing is written

A command answers with an `Effect`; its dry run with the same one, but for `is_dry_run`. What cannot be done
raises an error of `foliot.errors`. Queries of a store are built here, and at no door.
"""

from foliot.operations.effect import Effect, Start
from foliot.operations.ledger import Fate, Ledger, Occurrence
from foliot.operations.operations import Operations, Which
from foliot.operations.questions import EVERYTHING, Questions, can_start, readable

__all__ = [
    "EVERYTHING", "Effect", "Fate", "Ledger", "Occurrence", "Operations", "Questions", "Start",
    "Which", "can_start", "readable",
]  # fmt: skip
