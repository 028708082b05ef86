"""What a rule does around a change of the clocks: its `dst`.

              a wall time that is left out          a wall time that comes twice
    exact     no run                                 two runs
    cron      one run, right after the gap           one run, the first time
    systemd   no run                                 one run, the first time
    once      one run, right after the gap           one run, the first time

`cron` is what Vixie's cron and its heirs do: a rule whose minute or hour begins with `*` is `exact`, because
it follows the clock, and so is every rule at a change of more than three hours. What is left out runs once
after the gap, however many times were left out: two occurrences cannot share an instant.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal, NamedTuple, get_args

from foliot.errors import InvalidScheduleError
from foliot.schedules.zone import Change

Dst = Literal["exact", "cron", "systemd", "once"]
DST: tuple[Dst, ...] = get_args(Dst)
_OF_CRON = timedelta(hours=3)  # what cron takes for a change of the clocks, and not for a clock set anew


class Around(NamedTuple):
    """What is not `exact`, at changes up to a length."""

    runs_after_gap: bool
    longest: timedelta = timedelta.max

    def is_late(self, change: Change) -> bool:
        """Whether what a change leaves out runs after it."""
        return self.runs_after_gap and change.is_gap and change.length < self.longest

    def is_single(self, change: Change) -> bool:
        """Whether what a change shows twice runs once."""
        return not change.is_gap and change.length <= self.longest


_ONCE = Around(runs_after_gap=True)
_CRON = Around(runs_after_gap=True, longest=_OF_CRON)
_SYSTEMD = Around(runs_after_gap=False)


def around_changes(dst: Dst, *, follows_the_clock: bool) -> Around | None:
    """What a rule does around changes of the clocks; None: nothing of its own, it is exact."""
    if dst not in DST:
        raise InvalidScheduleError(
            "dst", dst, "there is no such rule for clock changes", hint="choose one of " + ", ".join(DST)
        )
    if dst == "cron":
        return None if follows_the_clock else _CRON
    return {"exact": None, "systemd": _SYSTEMD, "once": _ONCE}[dst]


def is_repeated(change: Change, instant: datetime) -> bool:
    """Whether an instant (UTC) shows a wall time for the second time, because of that change."""
    return not change.is_gap and change.at <= instant < change.at + change.length
