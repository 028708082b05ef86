"""How often a node does what."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

_LONGEST_CALL = timedelta(seconds=5)
RECOVER = timedelta(seconds=4)  # who died is found within 5 s of the end of its lease


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How often a node does what. `beat` is a third of the lease or less.

    A node that is asked to stop lets what runs end within `drain`. What has not ended by then is asked to end
    within `grace`. While the store is away, the node reports again what has ended, with a `pause` between:
    until that time is over, and for `last_report` at most. A claim that hangs holds up the end for no longer
    than `last_turn`, any other call for no longer than `last_call`.
    """

    slots: Mapping[str, int]
    groups: Mapping[str, int] = field(default_factory=dict)  # how many of each may run, over all nodes
    beat: timedelta = timedelta(seconds=10)
    poll: timedelta = timedelta(seconds=30)
    recover: timedelta = RECOVER
    prune: timedelta = timedelta(minutes=1)
    drain: timedelta = timedelta(seconds=30)
    grace: timedelta = timedelta(seconds=10)  # for what was asked to end and does not; then it is left behind
    pause: timedelta = timedelta(seconds=1)  # before a call that was not answered is made again
    claim: int = 500  # at most so many at once; while they start, the store is asked for the next
    recover_at_once: int = 1000
    forget_at_once: int = 2000  # attempts of neighbours share pages: the more at once, the fewer pages each

    @property
    def last_call(self) -> timedelta:
        """For how long a node that is to stop waits for the answer to a call: stores give up sooner."""
        return _LONGEST_CALL

    @property
    def last_turn(self) -> timedelta:
        """For how long a claim that is under way at the stop is waited for: what it has started is to run."""
        return max(self.last_call, min(self.drain, self.last_report))

    @property
    def last_report(self) -> timedelta:
        """For how long a node reports before it leaves a store that is away: then others have buried it."""
        return 3 * self.beat

    @property
    def longest_gap(self) -> timedelta:
        """The longest normal silence between two answers of the store; a longer one counts as an outage."""
        return self.beat + self.pause

    @property
    def patience(self) -> timedelta:
        """How long living nodes may need to renew when the store is back: a call that hangs, and a pause."""
        return min(_LONGEST_CALL, self.beat) + self.pause
