"""`foliot plan`: what a change of definitions will do to runs, before it is pushed."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple

import click

from foliot.cli.check import read_bytes, write_problems
from foliot.cli.exit_code import ExitCode, exit_code_of
from foliot.cli.instants import in_zone, read_duration, read_time
from foliot.cli.output import write, write_error, write_json
from foliot.cli.plan_input import Declared, Place, Side, choose_source, files_effect, read_side
from foliot.cli.plan_markdown import markdown_of
from foliot.cli.plan_text import text_of
from foliot.cli.session import Session, opened
from foliot.clock import SystemClock
from foliot.daemon.directories import default_store
from foliot.daemon.load import load_app
from foliot.doors.rollcron.following import commit_of
from foliot.engine.change import ChangePlan, Known, as_declared, as_served, bare_record, plan_change
from foliot.engine.change.effort import MOST_EFFORT
from foliot.errors import ConfigInvalidError, ConfigNotFoundError, JobNotFoundError
from foliot.model.job import Job
from foliot.model.state import Record
from foliot.operations.export import digested, read_export
from foliot.operations.plan import LONGEST_HORIZON, SHORTEST_HORIZON, plan_records, records_of
from foliot.operations.plan_facts import facts_of
from foliot.protocols import Snapshot
from foliot.schedules.zone import load_zone, resolve_timezone
from foliot.sources.git.beside import Noted
from foliot.sources.git.errors import GitError, InvalidRepositoryError, RevisionNotFoundError

_LARGEST_STATE = 200 << 20


class Asked(NamedTuple):
    """What the options say."""

    path: Path
    base: str | None
    head: str | None
    app: str | None
    store: str | None
    state: Path | None
    source: str | None
    at: datetime | None
    horizon: timedelta
    local: str | None


def _horizon(context: click.Context, parameter: click.Parameter, text: str) -> timedelta:
    found = read_duration(context, parameter, text)
    if found is None or not SHORTEST_HORIZON <= found <= LONGEST_HORIZON:
        raise click.BadParameter("it must lie between 1h and 400d")
    return found


def _zone(_: click.Context, __: click.Parameter, name: str | None) -> str | None:
    return None if name is None else resolve_timezone(name)


@click.command(
    name="plan",
    short_help="Show what a change will do to runs.",
    epilog="""
\b
Examples:
  foliot plan                                 the work tree against the store
  foliot plan --base main                     the work tree against a revision
  foliot plan --base main --head HEAD -o markdown
  foliot plan --state state.json --fail-on warnings
  foliot plan --app billing.jobs:app          a program against its store
  foliot plan --job backup                    one job in full

\b
Exit codes:
  0  planned          4  no such revision, file, source or job
  1  an error         6  store or git unreachable
  2  wrong usage      9  a --fail-on matched
  3  the file has errors, or the store URL
""",
)
@click.argument("path", default=".", metavar="[PATH]", type=click.Path(path_type=Path))
@click.option("--base", metavar="REV|FILE", help="Compare with this revision or file, not with a store.")
@click.option("--head", metavar="REV|FILE", help="What is to be.  [default: the work tree]")
@click.option("--app", metavar="MODULE:NAME", help="Plan for an application, such as billing.jobs:app.")
@click.option("--store", metavar="URL", envvar="FOLIOT_STORE", help="The store to compare with.")
@click.option(
    "--state", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Compare with what foliot source export has written, not with a store.",
)  # fmt: skip
@click.option(
    "--source", metavar="NAME", help="Which source of the store it is.  [default: by PATH, by remotes]"
)
@click.option(
    "--at", metavar="TIME", callback=read_time, help="When it takes effect (ISO 8601).  [default: now]"
)
@click.option(
    "--horizon", metavar="DURATION", default="7d", show_default=True, callback=_horizon,
    help="How far to look ahead: 1h to 400d.",
)  # fmt: skip
@click.option(
    "--local", metavar="ZONE", callback=_zone, help="The zone of the daemon's host, for jobs without one."
)
@click.option(
    "--fail-on", type=click.Choice(("changes", "warnings", "removals")), multiple=True, metavar="WHAT",
    help="Exit with 9 if there are changes, warnings or removals; repeatable.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=click.Choice(("text", "json", "markdown")), default="text", show_default=True,
    metavar="FORMAT", help="text, for people; json, for programs; markdown, for a comment.",
)  # fmt: skip
@click.option("--job", metavar="NAME", help="Show one job in full.")
@click.pass_context
def plan(  # noqa: PLR0913, PLR0917 - what may be compared, and how it is shown
    context: click.Context,
    path: Path,
    base: str | None,
    head: str | None,
    app: str | None,
    store: str | None,
    state: Path | None,
    source: str | None,
    at: datetime | None,
    horizon: timedelta,
    local: str | None,
    fail_on: tuple[str, ...],
    output: str,
    job: str | None,
) -> ExitCode:
    """Show what a change of a rollcron.yaml, or of a program, will do to runs.

    PATH is the file, or the directory that it lies in. It is compared with what the store has declared for
    that source: by the same decisions that are made when it is pushed. Nothing is written, anywhere; a push
    is what applies a plan.
    """
    _check_usage(context, base=base, state=state, app=app)
    asked = Asked(path, base, head, app, store, state, source, at, horizon, local)
    try:
        found = _make(asked)
    except _InvalidSideError as error:
        write_problems(error.error, error.texts, as_json=output == "json")
        return exit_code_of(error.error)
    except GitError as error:
        is_other = isinstance(error, InvalidRepositoryError | RevisionNotFoundError)
        write_error(error, None, as_json=output == "json")
        return exit_code_of(error) if is_other else ExitCode.UNREACHABLE
    if job is not None and not any(job in (one.name, one.old_name) for one in found.jobs):
        raise JobNotFoundError(job, hint="it is not among the jobs that change")
    _show(found, output, job)
    return ExitCode.FINDINGS if any(_fails(found, what) for what in fail_on) else ExitCode.OK


def _check_usage(context: click.Context, *, base: str | None, state: Path | None, app: str | None) -> None:
    given = context.get_parameter_source("store") is click.core.ParameterSource.COMMANDLINE
    others = [name for name, value in (("--base", base), ("--state", state)) if value is not None]
    if len(others) + given > 1:
        both = [*others, *(["--store"] if given else [])]
        raise click.UsageError(f"{' and '.join(both)} name several sides to compare with: give one", context)
    if app is not None and (base is not None or state is not None):
        raise click.UsageError(
            "--app compares a program with a store: give no --base and no --state", context
        )


def _show(found: ChangePlan, output: str, job: str | None) -> None:
    if output == "json":
        facts = facts_of(found)
        if job is not None:
            facts["jobs"] = [one for one in facts["jobs"] if job in (one["job"], one["renamed_from"])]
        write_json(facts)
    else:
        write(markdown_of(found) if output == "markdown" else text_of(found, job), sys.stdout)


def _fails(found: ChangePlan, what: str) -> bool:
    if what == "warnings":
        return bool(found.warnings)
    return bool(found.jobs) if what == "changes" else any(change.removes for change in found.jobs)


# -- the two sides ---------------------------------------------------------------------------------


class _InvalidSideError(Exception):
    """A side has errors; `texts` are its files, by name."""

    def __init__(self, error: ConfigInvalidError, texts: Mapping[str, bytes]) -> None:
        super().__init__(str(error))
        self.error, self.texts = error, texts


def _make(asked: Asked) -> ChangePlan:
    if asked.app is not None:
        return asyncio.run(_with_app(asked, asked.app))
    place = Place(asked.path)
    if asked.base is not None:
        return _with_base(asked, place, asked.base)
    if asked.state is not None:
        return _with_state(asked, place, asked.state)
    return asyncio.run(_with_store(asked, place))


def _declared(side: Side, source: str, stored: dict[str, Record], local: str | None) -> Declared:
    noted = Noted(side.files)
    try:
        return read_side(side, source, stored, local, noted)
    except ConfigInvalidError as error:
        raise _InvalidSideError(error, side.texts(noted)) from error


def _with_base(asked: Asked, place: Place, given: str) -> ChangePlan:
    """Two texts. If they are the same, they are not even read."""
    now = _at(asked, SystemClock().now())
    base, head = place.side(given), _head(asked, place)
    source = asked.source or next(place.slugs())
    plan = ChangePlan(source, now, now + asked.horizon)
    declared = Declared(Snapshot(head.label, ()))
    if not is_same(base, head):
        before = _declared(base, source, {}, asked.local)
        declared = _declared(head, source, {}, asked.local)
        records = {job.name: bare_record(job, now) for job in before.snapshot.jobs}
        known = Known(prepare=as_declared(now))
        plan = plan_change(source, records, declared.snapshot, now, now + asked.horizon, known)
    return _finish(plan, place, base, head, declared)


def _head(asked: Asked, place: Place) -> Side:
    """What is to be. Without its file it would remove all jobs, which a push does not do."""
    head = place.side(asked.head)
    if head.data is None:
        raise ConfigNotFoundError(f"{place.name} at {head.label}", hint="give a revision that has it")
    return head


def is_same(base: Side, head: Side) -> bool:
    """Whether two sides are the same text, and no other file is a part of it."""
    if base.data is None or base.data != head.data:
        return False
    return b"include" not in base.data and b"calendars" not in base.data


def _with_state(asked: Asked, place: Place, file: Path) -> ChangePlan:
    """A text, and a file of definitions and states. What is not shown is compared by its digest."""
    exported = read_export(read_bytes(file, _LARGEST_STATE).decode(errors="replace"))
    source = choose_source(asked.source or exported.source, place, [exported.source])
    now = _at(asked, max(exported.at, SystemClock().now()))
    head = _head(asked, place)
    declared = _declared(head, source, exported.records, asked.local)
    jobs = tuple(digested(job, exported.salt) for job in declared.snapshot.jobs)
    known = Known(exported.durations, exported.slots, prepare=partial(as_served, at=now))
    plan = plan_change(source, exported.records, Snapshot(head.label, jobs), now, now + asked.horizon, known)
    base = Side(f"{file.name} ({_short(exported.revision)})", None, commit_of(exported.revision))
    return _finish(plan, place, base, head, declared)


async def _with_store(asked: Asked, place: Place) -> ChangePlan:
    async with opened(asked.store or default_store(os.environ)) as session:
        sources = {view.source: view for view in await session.store.sources()}
        source = choose_source(asked.source, place, sources)
        head, commit = _head(asked, place), commit_of(sources[source].revision)
        base = _stored_side(place, commit)
        label = Side(_short(sources[source].revision), None, commit if base else None)
        if base is not None and is_same(base, head):
            now = _at(asked, session.now)
            plan = ChangePlan(source, now, now + asked.horizon, unchanged=sources[source].jobs)
            return _finish(plan, place, label, head, Declared(Snapshot(head.label, ())))
        records = await records_of(session.ops, source)
        declared = _declared(head, source, records, asked.local)
        plan = await _planned(session, source, records, declared.snapshot, asked)
        return _finish(plan, place, label, head, declared)


def _stored_side(place: Place, commit: str | None) -> Side | None:
    """The text that the store was last made to agree with, if this repository has it."""
    if place.tree is None or commit is None:
        return None
    try:
        return place.side(commit)
    except GitError:
        return None


async def _with_app(asked: Asked, name: str) -> ChangePlan:
    app = load_app(name)
    source, snapshot = asked.source or app.name, app.snapshot()
    async with opened(asked.store or app.store) as session:
        records = await records_of(session.ops, source)
        plan = await _planned(session, source, records, snapshot, asked)
        known = await session.store.revision(source)
        return plan._replace(base=_short(known), head=f"{name} ({_short(snapshot.revision)})")


async def _planned(
    session: Session, source: str, records: dict[str, Record], snapshot: Snapshot, asked: Asked
) -> ChangePlan:
    at = None if asked.at is None else _at(asked, session.now)
    return await plan_records(
        session.ops, source, records, snapshot, at=at, horizon=asked.horizon, most=MOST_EFFORT
    )


def _at(asked: Asked, now: datetime) -> datetime:
    return now if asked.at is None else in_zone(asked.at, load_zone(asked.local) if asked.local else UTC)


def _short(revision: str | None) -> str:
    return "nothing" if revision is None else revision.partition("+")[0][:12]


def _finish(plan: ChangePlan, place: Place, base: Side, head: Side, declared: Declared) -> ChangePlan:
    """Say what was compared, what was guessed, and which files differ if no definition does."""

    def jobs() -> tuple[Job, ...]:
        return declared.snapshot.jobs or _declared(head, plan.source, {}, "UTC").snapshot.jobs

    effects = (*plan.effects, *declared.effects)
    if not plan.jobs:
        effects += files_effect(place.tree, base.commit, head, place.name, jobs)
    return plan._replace(base=base.label, head=head.label, effects=effects)
