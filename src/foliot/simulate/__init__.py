"""The real engine on a virtual clock: how jobs will fare, with the durations that they have.

    jobs ─▶ a store in memory ─▶ the engine, on a loop whose time jumps ─▶ what started when, what was skipped

Nothing is carried out: an attempt takes as long as it took before, and succeeds. All else is as in service:
the engine claims, has slots, meets deadlines, retries what timed out, and the planner decides. So what a
projection cannot know is seen: what happens if there are fewer slots than runs. Without that limit both must
say the same: that is a law, and tested.

    world.py         the run of it          virtual_loop.py   an event loop whose time jumps
    measure.py       what it amounts to     chart.py          a drawing of it
"""

from foliot.simulate.measure import JobReport, Report, measure
from foliot.simulate.world import MOST_RUNS, Simulated, TooManyRunsError, simulate

__all__ = ["MOST_RUNS", "JobReport", "Report", "Simulated", "TooManyRunsError", "measure", "simulate"]
