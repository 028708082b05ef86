"""Compares two schedules in the year ahead: effects of clock changes (DST), and findings of `check`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from foliot.engine.change.effort import LINT, Effort
from foliot.engine.change.model import Code, PlanEffect, note, warning
from foliot.schedules import Schedule
from foliot.schedules.lint import Finding, lint

_DST = {"dst-gap": Code.DST_GAP, "dst-overlap": Code.DST_FOLD}
_LOST = {Code.DST_GAP: "left out by the clocks", Code.DST_FOLD: "shown twice by the clocks"}
_MOST_RULES = 500
_MOST_DATES = 4


class Findings(NamedTuple):
    """Findings that are new, and findings that are gone."""

    effects: tuple[PlanEffect, ...] = ()
    new: tuple[str, ...] = ()
    resolved: tuple[str, ...] = ()


class Clocks:
    """Looks a year ahead, at 500 rules at most. Jobs with the same rule share the result."""

    def __init__(self, now: datetime, effort: Effort) -> None:
        self._now, self._effort = now, effort
        self._known: dict[Schedule, dict[str, Finding]] = {}

    def compare(self, before: Schedule | None, after: Schedule | None) -> Findings:
        """The differences between two schedules."""
        if before == after or after is None or len(self._known) > _MOST_RULES:
            return Findings()
        old, new = (self._look(rule) for rule in (before, after))
        effects = tuple(_clock_effects(old, new))
        others = [{code: one for code, one in side.items() if code not in _DST} for side in (old, new)]
        return Findings(
            effects,
            tuple(one.message for code, one in others[1].items() if code not in others[0]),
            tuple(one.message for code, one in others[0].items() if code not in others[1]),
        )

    def _look(self, rule: Schedule | None) -> dict[str, Finding]:
        if rule is None:
            return {}
        if rule not in self._known:
            self._effort.take(LINT)
            found: dict[str, Finding] = {}
            for one in lint(rule, self._now, years=1):
                found.setdefault(one.code, one)  # warnings come first
            self._known[rule] = found
        return self._known[rule]


def _clock_effects(old: dict[str, Finding], new: dict[str, Finding]) -> Iterator[PlanEffect]:
    for word, code in _DST.items():
        before, after = old.get(word), new.get(word)
        if after is not None and (before is None or before.times != after.times):
            say = note if after.severity == "note" else warning
            yield say(code, after.message)
        elif before is not None and after is None and before.severity == "warning":
            dates = sorted({f"{at:%Y-%m-%d}" for at in before.times})[:_MOST_DATES]
            yield note(code, f"no run is {_LOST[code]} any more: {', '.join(dates)}")
