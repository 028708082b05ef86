"""`foliot job versions`: the definitions that a job has had."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from itertools import zip_longest
from typing import Any

import click

from foliot.cli.complete import job_argument
from foliot.cli.group import epilog
from foliot.cli.output import say, write_json
from foliot.cli.session import Session, takes_store
from foliot.cli.table import Column, Row, write_rows
from foliot.model.codec import encode_job
from foliot.model.job import Job
from foliot.model.version import Version
from foliot.shown import relative
from foliot.why import rule_text

COLUMNS = (
    Column("VERSION"),
    Column("SINCE"),
    Column("UNTIL"),
    Column("SCHEDULE", least=21),
    Column("CHANGED", 1),
    Column("REPLACED BY", 2, 12),
)


@click.command(
    name="versions",
    short_help="List the definitions that a job has had.",
    epilog=epilog("foliot job versions billing/refresh\nfoliot job versions refresh -o json", 4),
)
@job_argument
@takes_store
async def versions(session: Session, *, job: str, as_json: bool) -> None:
    """List the definitions that JOB has had, the newest first: what each changed, and what replaced it.

    A definition is kept when its source changes or removes it, the newest twenty of each job.
    """
    view = await session.ops.find(job, with_removed=True)
    found = await session.store.versions(view.key)
    if as_json:
        write_json({"job": view.key, "versions": [_facts(version) for version in found]})
        return
    before = zip_longest(found, found[1:])
    write_rows(COLUMNS, [_row(new, old, session.now) for new, old in before if new is not None])
    for version in found:
        if version.damage is not None:
            say("note", f"version {version.number} cannot be read: {version.damage}")


def _row(version: Version, before: Version | None, now: datetime) -> Row:
    job = version.job
    return (
        str(version.number),
        relative(version.since, now),
        relative(version.until, now),
        "" if job is None else rule_text(job.schedule),
        ", ".join(_changes(job, before.job) if job and before and before.job else ()),
        version.replaced_by or "",
    )


def _changes(job: Job, before: Job) -> Sequence[str]:
    """The parts of a definition that are other than before."""
    names = (field.name for field in fields(Job) if field.name != "revision")
    return [name for name in names if getattr(job, name) != getattr(before, name)]


def _facts(version: Version) -> dict[str, Any]:
    definition = None if version.job is None else json.loads(encode_job(version.job))
    damage = None if version.damage is None else str(version.damage)
    return {
        "version": version.number,
        "since": version.since,
        "until": version.until,
        "replaced_by": version.replaced_by,
        "definition": definition,
        "damage": damage,
    }
