"""What became of a job's occurrences, why, and the definitions that it has had."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from foliot.api.answers import (
    Diff,
    Difference,
    Ledger,
    OccurrenceAnswer,
    VersionAnswer,
    VersionList,
    WhyAnswer,
)
from foliot.api.call import Call
from foliot.api.cursor import Query
from foliot.api.finders import FINDERS
from foliot.api.problem import ProblemError
from foliot.api.reading import Instant
from foliot.api.route import Group
from foliot.api.show import definition_of, utc
from foliot.api.terms import Repeated
from foliot.model.access import Scope
from foliot.model.query import AuditQuery
from foliot.model.version import Version
from foliot.operations import Fate, Occurrence, Past, readable
from foliot.protocols import JobView
from foliot.schedules.schedule import since_epoch

MOST = 1000
_AUDITED = 200  # entries of a job among which authors are looked for
routes = Group("jobs", FINDERS)


class LedgerQuery(Query, frozen=True, rename={"first": "from", "last": "to"}):
    """A period. Without `from`: the last `limit` occurrences up to `to`. Without both: up to the next one."""

    first: Instant | None = None
    last: Instant | None = None
    limit: Annotated[int, Meta(ge=1, le=MOST)] = 100


@routes.get("/jobs/{job}/occurrences", Scope.READ)
async def occurrences(call: Call, job: JobView, query: LedgerQuery) -> Ledger:
    """Tell what became of each occurrence, and what is planned."""
    return await ledger_of(call, job, query)


async def ledger_of(call: Call, job: JobView, query: LedgerQuery, past: Past | None = None) -> Ledger:
    """A part of the ledger; several parts may share what is read of the past."""
    if query.first and query.last and query.last < query.first:
        raise ProblemError(422, "INVALID", "`to` lies before `from`", hint="give the earlier time as `from`")
    ledger = await call.ops.occurrences(job, query.first, query.last, limit=query.limit, past=past)
    zone = getattr(readable(job).job.schedule, "timezone", None) or "UTC"
    lines = tuple(_line(one, zone) for one in ledger.occurrences)
    return Ledger(job=job.key, occurrences=lines, next=utc(ledger.next))


def _line(one: Occurrence, zone: str) -> OccurrenceAnswer:
    is_covered = one.fate is Fate.COVERED
    return OccurrenceAnswer(
        at=one.at.astimezone(UTC),
        wall=one.wall,
        zone=zone,
        verdict=one.fate,
        reason=one.reason,
        run=None if is_covered else one.run,
        covered_by=one.run if is_covered else None,
        outcome=one.outcome,
        dst=_dst(one.wall),
    )


def _dst(wall: datetime) -> Repeated | None:
    """Whether a wall time comes twice, and which of the two this is."""
    if since_epoch(wall.replace(fold=0)) == since_epoch(wall.replace(fold=1)):
        return None
    return "fold_second" if wall.fold else "fold_first"


class WhyQuery(Query, frozen=True):
    """The instant that is asked about; without one, what is next."""

    at: Instant | None = None


@routes.get("/jobs/{job}/why", Scope.READ)
async def why(call: Call, job: JobView, query: WhyQuery) -> WhyAnswer:
    """Tell why a job runs, ran or did not, at any instant, past or future."""
    answer = await call.ops.why(job, query.at)
    record, notes = job.record, list[str]()
    is_open = query.at is None or query.at > await call.ops.store.now()
    if record is not None and is_open and not await call.ops.servants(record.job):
        notes.append(
            f"no node that lives serves the queue {record.job.queue} and runs {record.job.action.kind}"
        )
    blocking = {attempt.run_key for attempt in record.attempts} if record and is_open else set()
    return WhyAnswer(
        job=job.key, asked=utc(query.at), verdict=answer.verdict, text=answer.text, at=utc(answer.at),
        rule=answer.rule, revision=answer.revision, version=answer.version, is_replaced=answer.is_replaced,
        blocking_runs=tuple(sorted(blocking)), notes=tuple(notes),
    )  # fmt: skip


# -- definitions -----------------------------------------------------------------------------------


@routes.get("/jobs/{job}/versions", Scope.READ)
async def versions(call: Call, job: JobView) -> VersionList:
    """List the definitions that a job has had, the newest first; twenty are kept."""
    found = await call.ops.store.versions(job.key)
    authors, shows = (
        await _authors(call, job.key),
        call.identity.allows(Scope.OPERATE, job.key.partition("/")[0]),
    )
    return VersionList(
        job=job.key,
        versions=tuple(
            VersionAnswer(
                version=one.number,
                since=one.since.astimezone(UTC),
                until=utc(one.until),
                replaced_by=one.replaced_by,
                author=authors.get(one.number),
                damage=None if one.damage is None else str(one.damage),
                definition=_definition(one, shows=shows),
            )
            for one in found
        ),
    )


class DiffQuery(Query, frozen=True):
    """The version to compare with; without one, the one after."""

    to: Annotated[int, Meta(ge=1, le=1_000_000_000)] | None = None


@routes.get("/jobs/{job}/versions/{number}/diff", Scope.READ)
async def diff(call: Call, job: JobView, number: int, query: DiffQuery) -> Diff:
    """Tell what differs between two definitions of a job."""
    found = {one.number: one for one in await call.ops.store.versions(job.key)}
    later = number + 1 if query.to is None else query.to
    for wanted in (number, later):
        if wanted not in found:
            known = ", ".join(map(str, sorted(found)))
            raise ProblemError(404, "NOT_FOUND", f"there is no version {wanted}", hint=f"there are {known}")
    shows = call.identity.allows(Scope.OPERATE, job.key.partition("/")[0])
    before, after = (_definition(found[one], shows=shows) or {} for one in (number, later))
    authors = await _authors(call, job.key)
    return Diff(
        job=job.key, before=number, after=later, author=authors.get(later),
        differences=tuple(differences_of(before, after)),
    )  # fmt: skip


def _definition(version: Version, *, shows: bool) -> dict[str, Any] | None:
    if version.job is None:
        return None
    definition = definition_of(version.job)
    if not shows:
        definition["action"] = {"kind": version.job.action.kind}
    return definition


def differences_of(
    before: Mapping[str, Any], after: Mapping[str, Any], path: str = ""
) -> Sequence[Difference]:
    """What differs between two definitions, field by field."""
    found: list[Difference] = []
    for name in sorted({*before, *after} - {"revision"}):
        old, new = before.get(name), after.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            found += differences_of(old, new, f"{path}{name}.")
        elif old != new:
            found.append(Difference(field=f"{path}{name}", before=old, after=new))
    return found


async def _authors(call: Call, job: str) -> dict[int, str]:
    """The author of each version that was made over the API, as far as the audit goes back."""
    entries = await call.ops.store.audit(AuditQuery(object=f"job:{job}", limit=_AUDITED))
    authors: dict[int, str] = {}
    for entry in reversed(entries):
        try:
            facts = json.loads(entry.after or "null")
            version = msgspec.convert(facts["version"], int)
        except (ValueError, KeyError, TypeError, msgspec.ValidationError):
            continue  # it is no change of a definition
        authors.setdefault(version, entry.actor)
    return authors
