"""What the checker found: violations with their evidence, and measures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple


class Code(StrEnum):
    """What can be wrong. The conditions stand on the rules that find them."""

    MISSED = "MISSED"
    DUP_SLOT = "DUP_SLOT"
    SKIP_AND_RUN = "SKIP_AND_RUN"
    WRONG_SKIP = "WRONG_SKIP"
    DUP_CLAIM = "DUP_CLAIM"
    TOKEN_NOT_MONOTONIC = "TOKEN_NOT_MONOTONIC"  # noqa: S105 - a fencing token is no password
    TOKEN_MISMATCH = "TOKEN_MISMATCH"  # noqa: S105 - the same
    STALE_FINISH = "STALE_FINISH"
    DUP_EFFECT = "DUP_EFFECT"
    FABRICATED = "FABRICATED"
    UNRECORDED_EFFECT = "UNRECORDED_EFFECT"
    EARLY = "EARLY"
    LATE = "LATE"
    LATE_CATCHUP = "LATE_CATCHUP"
    WRONG_COALESCE = "WRONG_COALESCE"
    STUCK = "STUCK"
    UNEXPLAINED_LOSS = "UNEXPLAINED_LOSS"
    ORPHAN_DROPPED = "ORPHAN_DROPPED"
    RETRY_DROPPED = "RETRY_DROPPED"
    RETRY_NOT_PREEMPTED = "RETRY_NOT_PREEMPTED"
    OVERLAP = "OVERLAP"
    ZOMBIE_OVERLAP = "ZOMBIE_OVERLAP"
    ALERT_LOST = "ALERT_LOST"
    ALERT_INVENTED = "ALERT_INVENTED"
    ALERT_RENAMED = "ALERT_RENAMED"
    ALERT_REPEATED = "ALERT_REPEATED"


class Finding(NamedTuple):
    """What a rule says: what is wrong, around when, and in words."""

    code: Code
    at: datetime
    text: str


class Violation(NamedTuple):
    """A finding about a job, with the job's timeline around it."""

    code: Code
    job: str
    at: datetime
    text: str
    evidence: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join((f"{self.code} {self.job}: {self.text}", *(f"    {line}" for line in self.evidence)))


class Lag(NamedTuple):
    """How late things were: the middle, the slowest of a hundred, and the slowest."""

    p50: timedelta
    p99: timedelta
    most: timedelta
    starts: int


def summarize(lags: Sequence[timedelta]) -> Lag:
    """The three numbers that tell a distribution."""
    if not lags:
        return Lag(timedelta(0), timedelta(0), timedelta(0), 0)
    ordered = sorted(lags)
    return Lag(ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100], ordered[-1], len(ordered))


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """What can be counted. `excuses` says for how many occurrences the checker could not decide, and why.

    `recoveries`: from the loss of a node to the next attempt, one for each attempt that was lost; only time
    in which somebody was able counts.
    `calm_lag`: the start lag of those whose host was able and whose job was free all the while.
    """

    start_lag: Lag
    calm_lag: Lag
    recoveries: tuple[timedelta, ...]
    triggers: Mapping[str, int]
    outcomes: Mapping[str, int]
    occurrences: int
    excuses: Mapping[str, int]

    @property
    def excused(self) -> float:
        """The share of occurrences that could not be judged: a checker that excuses all is worthless."""
        return sum(self.excuses.values()) / self.occurrences if self.occurrences else 0.0

    @property
    def unknown_outcomes(self) -> float:
        """The share of attempts of which nobody knows how they ended."""
        ended = sum(self.outcomes.values())
        return self.outcomes.get("lost", 0) / ended if ended else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The verdict. `zombies`: overlaps with nodes that were cut off; violations only beyond their budget."""

    violations: tuple[Violation, ...]
    zombies: tuple[Violation, ...]
    measures: Measures
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_clean(self) -> bool:
        return not self.violations

    @property
    def codes(self) -> Counter[Code]:
        """How often each thing was wrong."""
        return Counter(violation.code for violation in self.violations)

    def smallest(self) -> tuple[Violation, ...]:
        """The violations of the failing job about which the logs say least: where to begin to read."""
        if not self.violations:
            return ()
        job = min({v.job for v in self.violations}, key=lambda name: (self.sizes.get(name, 0), name))
        return tuple(violation for violation in self.violations if violation.job == job)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        found = ", ".join(f"{code} × {count}" for code, count in sorted(self.codes.items()))
        yield found or "no violations"
        for violation in self.smallest():
            yield str(violation)
        measures = self.measures
        lag = measures.start_lag
        yield f"start lag: p50 {lag.p50}, p99 {lag.p99}, most {lag.most} of {lag.starts} starts"
        calm = measures.calm_lag
        yield f"… where no fault was: p50 {calm.p50}, p99 {calm.p99}, most {calm.most} of {calm.starts}"
        if measures.recoveries:
            recovery = summarize(measures.recoveries)
            yield f"recovery: p50 {recovery.p50}, most {recovery.most} of {recovery.starts} losses"
        yield f"attempts by trigger: {_counts(measures.triggers)}; by outcome: {_counts(measures.outcomes)}"
        yield f"unknown outcomes: {measures.unknown_outcomes:.1%}; zombies: {len(self.zombies)}"
        excuses = f" ({_counts(measures.excuses)})" if measures.excuses else ""
        yield f"excused: {measures.excused:.1%} of {measures.occurrences} occurrences{excuses}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "none"
