"""How often a node does what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

_LONGEST_CALL = timedelta(seconds=5)
RECOVER = timedelta(seconds=4)  # a dead node is found within 5 s after its lease expired


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How often a node does what. `beat` is a third of the lease or less.

    A node that is asked to stop lets its runs end within `drain`. Then it asks the rest to end, within
    `grace`. While the store is down, the node repeats its report, with a `pause` between, until that time is
    over, for `last_report` at most. A hanging claim delays the end by `last_turn` at most, any other call by
    `last_call`.
    """

    slots: Mapping[str, int]
    groups: Mapping[str, int] = field(default_factory=dict)  # limits of groups, over all nodes
    beat: timedelta = timedelta(seconds=10)
    poll: timedelta = timedelta(seconds=30)
    recover: timedelta = RECOVER
    prune: timedelta = timedelta(minutes=1)
    drain: timedelta = timedelta(seconds=30)
    grace: timedelta = timedelta(seconds=10)  # for attempts to end; then the node leaves
    pause: timedelta = timedelta(seconds=1)  # before an unanswered call is repeated
    claim: int = 500  # runs per claim; while they start, the next claim is made
    recover_at_once: int = 1000
    forget_at_once: int = 2000  # deleting more rows at once touches fewer pages for each row

    @property
    def last_call(self) -> timedelta:
        """How long a stopping node waits for the answer to a call. Stores give up earlier."""
        return _LONGEST_CALL

    @property
    def last_turn(self) -> timedelta:
        """How long a stopping node waits for its last claim, so that claimed attempts run."""
        return max(self.last_call, min(self.drain, self.last_report))

    @property
    def last_report(self) -> timedelta:
        """How long a stopping node tries to report to a store that is down."""
        return 3 * self.beat

    @property
    def longest_gap(self) -> timedelta:
        """The longest normal silence between two answers of the store; a longer one counts as an outage."""
        return self.beat + self.pause

    @property
    def patience(self) -> timedelta:
        """How long running nodes may need to renew when the store is back: a hanging call, and a pause."""
        return min(_LONGEST_CALL, self.beat) + self.pause
