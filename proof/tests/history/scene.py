"""Where one can lie in a legal history: questions about its facts, and ways to change them.

What a mutation needs of a place (that nobody was down, that nothing changed, that the job was idle) is
looked up in the facts, not in the checker.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from foliot.model.attempt import Attempt, Outcome, Trigger
from foliot.model.policy import OverlapMode, Policy
from foliot_proof.history import Code, History, Mark, Operation, Witness
from history.legal import seconds

Found = tuple[History, set[Code]] | None
Mutation = Callable[["Scene"], Found]
MUTATIONS: dict[str, Mutation] = {}


def mutation(function: Mutation) -> Mutation:
    """Note a way to lie. It gives nothing if the history has no place where its lie would be one."""
    MUTATIONS[function.__name__] = function
    return function


class Scene:
    """A history, and what can be asked of it and done to it."""

    def __init__(self, history: History, rng: random.Random) -> None:
        self.history = history
        self.rng = rng

    def pick(self, found: Iterable[Attempt]) -> Attempt | None:
        attempts = list(found)
        return self.rng.choice(attempts) if attempts else None

    # -- questions ---------------------------------------------------------------------------------

    def policy(self, job: str) -> Policy:
        return next(c.definition.policy for c in self.history.changes if c.job == job and c.definition)

    def of_job(self, job: str) -> list[Attempt]:
        found = [a for a in self.history.attempts if a.job == job and a.claimed_at]
        return sorted(found, key=lambda a: a.claimed_at or a.scheduled_for)

    def ended(self, *outcomes: Outcome) -> list[Attempt]:
        return [a for a in self.history.attempts if a.outcome in outcomes and a.claimed_at]

    def follower(self, attempt: Attempt) -> Attempt | None:
        key = attempt.run_key, attempt.number + 1
        return next((a for a in self.history.attempts if a.key == key), None)

    def slots_between(self, job: str, begin: datetime, end: datetime) -> list[datetime]:
        """Occurrences in a time, as far as anything was noted of them."""
        noted = {a.scheduled_for for a in self.history.attempts if a.job == job}
        noted |= {at for skip in self.history.skips if skip.job == job for at in skip[1:3]}
        return sorted(at for at in noted if begin < at <= end)

    def is_settled(self, job: str, begin: datetime, end: datetime) -> bool:
        """Whether nobody changed the job."""
        margin = timedelta(minutes=2)
        asked = [c.asked_at for c in self.history.changes if c.job == job]
        return all(at < begin - margin or at > end + margin for at in asked)

    def is_well(self, begin: datetime, end: datetime) -> bool:
        """Whether no fault was near."""
        margin = timedelta(minutes=2)
        return all((f.end or end) < begin - margin or f.begin > end + margin for f in self.history.faults)

    def is_idle(self, job: str, begin: datetime, end: datetime, but: Attempt) -> bool:
        """Whether no other run of the job was open, or waited to start."""
        others = [a for a in self.history.attempts if a.job == job and a.run_key != but.run_key]
        return all((a.finished_at or end) < begin or (a.claimed_at or a.scheduled_for) > end for a in others)

    def calm(self, room: float = 30) -> list[Attempt]:
        """Runs in time, of one attempt that succeeded, with some quiet and idle time around them."""
        found = []
        for a in self.ended(Outcome.SUCCEEDED):
            is_plain = a.number == 1 and a.trigger is Trigger.SCHEDULE and a.covers_from is None
            if not is_plain or a.claimed_at is None or a.claimed_at - a.scheduled_for > seconds(1):
                continue
            begin, end = a.scheduled_for - seconds(5), (a.finished_at or a.claimed_at) + seconds(room)
            is_quiet = self.is_well(begin, end) and self.is_settled(a.job, begin, end)
            if is_quiet and self.is_idle(a.job, begin, end, a):
                found.append(a)
        return found

    def must_be_followed(self, attempt: Attempt) -> bool:
        """Whether nothing but the policy decides that there is another attempt."""
        policy, ended = self.policy(attempt.job), attempt.finished_at or self.history.final
        gives_way = policy.retry.is_preempted or policy.overlap.mode is OverlapMode.REPLACE
        if gives_way and self.slots_between(attempt.job, attempt.scheduled_for, ended + seconds(6)):
            return False
        removals = [
            c.asked_at for c in self.history.changes if c.job == attempt.job and c.what is Operation.REMOVE
        ]
        return all(ended < at - seconds(2) for at in removals)

    # -- changes -----------------------------------------------------------------------------------

    def without(self, *attempts: Attempt, rows: bool = True, lines: bool = True) -> Scene:
        keys, history = {attempt.key for attempt in attempts}, self.history
        return self._with(
            attempts=tuple(a for a in history.attempts if not (rows and a.key in keys)),
            witness=tuple(w for w in history.witness if not (lines and (w.run_key, w.number) in keys)),
        )

    def adding(self, *attempts: Attempt, is_seen: bool = True) -> Scene:
        scene = self._with(attempts=(*self.history.attempts, *attempts))
        return scene.seeing(*(line for a in attempts for line in lines_of(a))) if is_seen else scene

    def seeing(self, *lines: Witness) -> Scene:
        return self._with(witness=(*self.history.witness, *lines))

    def changing(self, old: Attempt, new: Attempt) -> Scene:
        """Another row in the place of one, and its witness with it."""
        return self.without(old).adding(new)

    def cutting_after(self, attempt: Attempt) -> Scene:
        """Without the later attempts at a run."""
        found = [a for a in self.history.attempts if a.run_key == attempt.run_key]
        return self.without(*(a for a in found if a.number > attempt.number))

    def _with(self, **logs: object) -> Scene:
        return Scene(replace(self.history, **logs), self.rng)  # type: ignore[arg-type]  # logs by name

    def next_token(self) -> int:
        return max(attempt.token for attempt in self.history.attempts) + 1


def lines_of(attempt: Attempt) -> tuple[Witness, ...]:
    """What a job writes down of an attempt."""
    start = Witness(
        Mark.START, attempt.job, attempt.run_key, attempt.number, attempt.token, attempt.node or "",
        attempt.claimed_at or attempt.scheduled_for,
    )  # fmt: skip
    if attempt.finished_at is None or attempt.outcome is Outcome.LOST:
        return (start,)
    return start, start._replace(what=Mark.END, at=attempt.finished_at)


def moved(attempt: Attempt, by: float) -> Attempt:
    """The same at another time."""
    claimed, finished = attempt.claimed_at, attempt.finished_at
    return attempt._replace(
        claimed_at=claimed and claimed + seconds(by), finished_at=finished and finished + seconds(by)
    )


def after(attempt: Attempt, by: float = 1) -> Attempt:
    """Another one, for a moment, soon after it."""
    begin = (attempt.finished_at or attempt.scheduled_for) + seconds(by)
    return attempt._replace(claimed_at=begin, finished_at=begin + seconds(1), outcome=Outcome.SUCCEEDED)
