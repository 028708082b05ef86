"""Computes what a change of definitions would do to runs, before the change is made. All of it is pure.

    records of the store ─┐                          ┌─▶ the switch: starts, skips, drops, keeps
                          ├─▶ plan_declared / ───────┤
    snapshot to come ─────┘   plan_removed  (deed)   └─▶ records after it ─▶ runs before and after, compared

A plan uses the same decisions as the real change (the *deed*), never other code. The cost depends on the
number of jobs that change; of all other jobs only the rules are read, once for each distinct rule.

    model.py    what a plan says          runs.py    runs ahead, and how two lists differ
    plan.py     `plan_change`             days.py    two runs a day, none, a long gap
    deed.py     the decisions             clocks.py  changes of the clocks, a year ahead
    base.py     records without a store   herd.py    the busiest minutes
    fields.py   fields that differ        effects.py what follows, in sentences
    effort.py   how much it may cost
"""

from foliot.engine.change.base import as_declared, as_served, bare_record
from foliot.engine.change.model import (
    ChangePlan,
    Code,
    JobChange,
    Kind,
    Known,
    PlanEffect,
    Severity,
    Switch,
    note,
    warning,
)
from foliot.engine.change.plan import plan_change

__all__ = [
    "ChangePlan", "Code", "JobChange", "Kind", "Known", "PlanEffect", "Severity", "Switch", "as_declared",
    "as_served", "bare_record", "note", "plan_change", "warning",
]  # fmt: skip
