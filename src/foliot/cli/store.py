"""`foliot store check | migrate`: the state of the store itself. `store_care` has the other commands."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, NamedTuple

from foliot.cli.exit_code import ExitCode
from foliot.cli.group import epilog, make_group
from foliot.cli.node import node_facts
from foliot.cli.output import labelled, write, write_json
from foliot.cli.session import LEASE, Session, checked_schema, opened, output_option, store_option
from foliot.cli.store_care import backup, copy, prune
from foliot.clock import SystemClock
from foliot.errors import StoreError, StoreUnavailableError
from foliot.model.view import Schema
from foliot.protocols_health import Migrates
from foliot.shown import relative
from foliot.wiring import flaws_of, open_store, schema_of, sizes_of

store = make_group(
    "store",
    "Look after a store.",
    "Look after a store: check it, back it up, copy it, bring it to the newest schema.",
    "foliot store check --store sqlite:///jobs.db\n"
    "foliot store backup /backup/jobs.db\n"
    "foliot store copy sqlite:///jobs.db postgresql://…/jobs",
)
for command in (backup, prune, copy):
    store.add_command(command)


class Finding(NamedTuple):
    """Something that is wrong."""

    code: str
    severity: str
    message: str


@store.command(
    name="check",
    short_help="Look for damage.",
    epilog=epilog("foliot store check\nfoliot store check -o json", 9),
)
@store_option
@output_option
def check(*, store: str, output: str) -> ExitCode:
    """Read all of a store and look for damage.

    Looked for are flaws of the file, an old schema, jobs that cannot be read, and runs held by nodes that
    have been silent for longer than their lease. Exits with 9 if there is any. Jobs that cannot be read are
    set aside.
    """
    findings: list[Finding] = []
    facts: dict[str, Any] = {}
    try:
        schema = checked_schema(store)
        facts["schema"] = schema._asdict()
        findings += (Finding("flaw", "error", flaw) for flaw in flaws_of(store))
        if 0 < schema.found < schema.newest:
            words = f"the schema is {schema.found}, and the newest is {schema.newest}: foliot store migrate"
            findings.append(Finding("old_schema", "warning", words))
        else:
            facts |= asyncio.run(_look(store, findings))
    except StoreUnavailableError:
        raise
    except StoreError as error:
        findings.append(Finding("unreadable", "error", error.message))
    if output == "json":
        write_json({"ok": not findings, **facts, "findings": [finding._asdict() for finding in findings]})
    else:
        _tell(facts, findings)
    return ExitCode.FINDINGS if findings else ExitCode.OK


async def _look(url: str, findings: list[Finding]) -> dict[str, Any]:
    async with opened(url) as session:
        await _look_for_damage(session, findings)
        overview = await session.ops.overview()
        nodes = await session.store.nodes()
        for view in nodes:
            if view.until < session.now and view.open_count:
                since = relative(view.until, session.now)
                holds = f"it holds {view.open_count} open attempt(s)"
                message = f"node {view.node.id} is silent: its lease ended {since}, and {holds}"
                findings.append(Finding("silent_node", "warning", message))
        sizes = sizes_of(url)
        return {
            **({"bytes": sizes} if sizes else {}),
            "jobs": overview.jobs,
            "open_attempts": overview.open_attempts,
            "next_wake_at": overview.next_wake_at,
            "nodes": [node_facts(view, session.now) for view in nodes],
        }


async def _look_for_damage(session: Session, findings: list[Finding]) -> None:
    async for view in session.ops.every_job(with_removed=True):
        if view.damage is not None or view.record is None:
            message = f"{view.key} cannot be read: {view.damage}"
            findings.append(Finding("damaged_job", "error", message))


def _tell(facts: dict[str, Any], findings: list[Finding]) -> None:
    lines = [labelled(finding.severity, finding.message, sys.stdout) for finding in findings]
    if not findings:
        lines.append(labelled("ok", "no damage was found", sys.stdout))
    if "jobs" in facts:
        alive = sum(node["alive"] for node in facts["nodes"])
        counts = f"jobs: {facts['jobs']}, open attempts: {facts['open_attempts']}, nodes alive: {alive}"
        lines.append(f"{counts}, schema: {facts['schema']['found']}")
    if "bytes" in facts:
        lines.append("bytes: " + ", ".join(f"{name} {size:,}" for name, size in facts["bytes"].items()))
    write("\n".join(lines), sys.stdout)


@store.command(
    name="migrate",
    short_help="Bring a store to the newest schema.",
    epilog=epilog("foliot store migrate --store sqlite:///jobs.db"),
)
@store_option
@output_option
def migrate(*, store: str, output: str) -> ExitCode:
    """Bring a store to the newest schema, or create it.

    Engines do so by themselves when they start. Programs of the same major version of the schema can go on
    working meanwhile.
    """
    try:
        before: Schema | None = checked_schema(store)
    except StoreUnavailableError:  # there is none yet; if that is not it, the next step says so
        before = None
    asyncio.run(_open_and_close(store))
    after = schema_of(store)
    found = before.found if before else 0
    if output == "json":
        write_json({"from": found, "to": after.found, "created": found == 0})
        return ExitCode.OK
    if found == 0:
        text = f"the store was created, with schema {after.found}"
    elif found == after.found:
        text = f"the schema is {found}, the newest already"
    else:
        text = f"the schema went from {found} to {after.found}"
    write(labelled("ok", text, sys.stdout), sys.stdout)
    return ExitCode.OK


async def _open_and_close(url: str) -> None:
    async with open_store(url, SystemClock(), lease=LEASE) as store:
        if isinstance(store, Migrates):
            await store.migrate()
