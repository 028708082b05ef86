"""Versions: the definitions that a job has had. Revisions: the states that a source has been in.

r1 declares  backup  0 3 * * *     version 1, from r1 on
r2 declares  backup  0 4 * * *     version 2; version 1 is kept, replaced by r2
r3 removes   backup                version 2 is kept, too, replaced by r3
r4 declares  backup  0 4 * * *     version 3: a job that comes back goes on counting
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import Enum, auto
from typing import NamedTuple

from foliot.model.damage import Damage
from foliot.model.decision import Decision
from foliot.model.job import Job
from foliot.model.state import Record, State

KEPT_VERSIONS = 20  # of each job, beside the present one
KEPT_REVISIONS = 100  # of each source
API_SOURCE = "api"  # of the jobs that are declared over the REST API
_ADDED = ".added"


class Changes(NamedTuple):
    """What a source declares: jobs that are there (new, changed or the same), and names that are gone."""

    declared: tuple[Job, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def wanted(self) -> tuple[Job, ...]:
        """The jobs that are declared; of several with one name the last counts."""
        named = {job.key: job for job in self.declared}
        return self.declared if len(named) == len(self.declared) else tuple(named.values())


class Version(NamedTuple):
    """A definition of a job, and from when to when it held; `until` is None: it holds.

    `replaced_by` is the revision of the source that replaced or removed it; None: it holds, or the job has
    removed itself. `job` is None if the text cannot be read here; `damage` tells why.
    """

    number: int
    job: Job | None
    since: datetime
    until: datetime | None = None
    replaced_by: str | None = None
    damage: Damage | None = None


class Revision(NamedTuple):
    """A revision of a source: when the store was made to agree, and how many jobs that changed."""

    source: str
    ordinal: int
    revision: str
    at: datetime
    added: int = 0
    changed: int = 0
    removed: int = 0


class Change(Enum):
    """What a revision does to a job."""

    NONE = auto()
    ADDED = auto()
    CHANGED = auto()
    REMOVED = auto()


def change_of(before: State | None, decision: Decision) -> Change:
    """What a decision about a job that is declared, or is no longer declared, does to it."""
    was_there = before is not None and before.removed_at is None
    is_there = not decision.remove and decision.state.removed_at is None
    if was_there != is_there:
        return Change.ADDED if is_there else Change.REMOVED
    is_other = is_there and before is not None and before.version != decision.state.version
    return Change.CHANGED if is_other else Change.NONE


def ended_version(record: Record, decision: Decision, revision: str) -> Version | None:
    """The definition that a decision ends, and that is to be kept; None if it ends none.

    What a source removes is kept at once; what has removed itself is kept when it comes back, if it does.
    """
    job, before, _ = record
    change = change_of(before, decision)
    if change is Change.NONE or decision.remove:
        return None
    since = before.defined_at or before.created_at
    if change is Change.ADDED:
        return Version(before.version, job, since, before.removed_at)
    until = decision.state.removed_at or decision.state.defined_at
    return Version(before.version, job, since, until, revision)


def all_versions(record: Record, kept: Sequence[Version]) -> tuple[Version, ...]:
    """The definition that a job has, or had when it was removed; and those before, which are kept."""
    job, state, _ = record
    replaced_by = next((old.replaced_by for old in kept if old.number == state.version), None)
    newest = Version(state.version, job, state.defined_at or state.created_at, state.removed_at, replaced_by)
    return newest, *(old for old in kept if old.number < state.version)


def keeps_revisions(source: str) -> bool:
    """Whether the revisions of a source are worth keeping: not if every job that is added makes one."""
    return source != API_SOURCE and not source.endswith(_ADDED)
