"""The budget of a plan: steps, which all its jobs share. A step is one occurrence that is read.

Steps are counted, not timed, so that a plan of the same facts is always the same. 250,000 take about half a
second of a processor.
"""

from __future__ import annotations

MOST_EFFORT = 10_000_000
SERVED_EFFORT = 250_000  # for a plan that a server makes while other requests wait
LOOK, WALK, COUNT, LINT, PROJECT = 20, 20, 30, 100, 30  # the cost of looks at a job or a rule, in steps


class Effort:
    """The steps that are left."""

    def __init__(self, most: int = MOST_EFFORT) -> None:
        self.left = most

    @property
    def is_spent(self) -> bool:
        """Whether the budget is used up."""
        return self.left <= 0

    def take(self, steps: int) -> None:
        """Use some steps."""
        self.left -= steps
