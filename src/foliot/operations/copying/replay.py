"""Declares the definitions of a job again, in their order, with their original times.

A store keeps the definition that a revision replaces. So the copy of a job begins with the oldest definition
that is kept, and declares the others up to the present one. Then the copy keeps the same numbers, times and
revisions as the original.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from foliot.model.job import Job
from foliot.model.state import State
from foliot.model.version import Version
from foliot.operations.copying.past import Past


class Step(NamedTuple):
    """A definition of a job and the state that comes with it, written by a revision at a time.

    `revision` is None if the job has removed itself, so that no source wrote it.
    """

    at: datetime
    revision: str | None
    job: Job
    state: State


class Steps(NamedTuple):
    """The steps that build the copy of a job: the first definition, and those that follow."""

    job: Job
    state: State
    rest: tuple[Step, ...]


def steps_of(past: Past) -> Steps:
    """The steps that lead to the present definition of a job. The last one is not in the final state yet."""
    final = past.record.state
    known = [version for version in past.versions if version.job is not None]
    old, last_word = known[:-1], known[-1].replaced_by if known else None
    was_removed = final.removed_at is not None and last_word is not None
    if not old and not was_removed:
        return Steps(past.record.job, final._replace(wake_at=None), ())
    rest: list[Step] = []
    for before, after in pairwise([*old, _present(past)]):
        rest += _between(before, after, final)
    if was_removed and final.removed_at is not None:
        gone = _plain(final.version, _since(final), final, removed_at=final.removed_at)
        rest.append(Step(final.removed_at, last_word, past.record.job, gone))
    first = old[0] if old else _present(past)
    return Steps(first.job or past.record.job, _plain(first.number, first.since, final), tuple(rest))


def _present(past: Past) -> Version:
    state = past.record.state
    return Version(state.version, past.record.job, _since(state))


def _between(before: Version, after: Version, final: State) -> Sequence[Step]:
    """From one definition to the next; between them, the job may have been removed."""
    if before.job is None or after.job is None or before.until is None:
        return ()
    arrival = Step(after.since, before.replaced_by, after.job, _plain(after.number, after.since, final))
    if before.until == after.since and before.replaced_by is not None:
        return (arrival,)
    gone = _plain(before.number, before.since, final, removed_at=before.until)
    return Step(before.until, before.replaced_by, before.job, gone), arrival._replace(revision="returned")


def _plain(number: int, since: datetime, final: State, removed_at: datetime | None = None) -> State:
    """A state with only the number and the time of its definition. The job is not due."""
    return State(
        1, final.created_at, served_until=final.served_until, removed_at=removed_at,
        version=number, defined_at=since,
    )  # fmt: skip


def _since(state: State) -> datetime:
    return state.defined_at or state.created_at


class Group(NamedTuple):
    """Steps of several jobs that one revision has written; None: jobs that have removed themselves."""

    revision: str | None
    steps: tuple[Step, ...]


def in_groups(steps: Sequence[Step]) -> list[Group]:
    """The steps of all jobs of a source by the revisions that wrote them, in the order of time.

    Two neighbours never have the same name, because a store ignores the same revision again.
    """
    groups: list[Group] = []
    for number, step in enumerate(sorted(steps, key=lambda step: step.at)):
        last = groups[-1] if groups else None
        if last is None or last.revision != step.revision:
            groups.append(Group(step.revision, (step,)))
        elif step.job.key in {one.job.key for one in last.steps}:
            groups += [Group(f"copying-between-{number}", ()), Group(step.revision, (step,))]
        else:
            groups[-1] = Group(step.revision, (*last.steps, step))
    return groups
