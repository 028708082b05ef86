"""`foliot store backup | prune | copy`: a store in safe keeping, smaller, or elsewhere."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import click

from foliot.cli.exit_code import ExitCode
from foliot.cli.group import epilog
from foliot.cli.output import say, visible, write, write_json
from foliot.cli.session import (
    LEASE,
    checked_schema,
    opened,
    output_option,
    store_option,
)
from foliot.cli.table import Column, write_rows
from foliot.clock import SystemClock
from foliot.errors import StoreError, StoreUnavailableError, without_password
from foliot.model.view import FreeSpace
from foliot.operations.copying import Copied, copy_store
from foliot.operations.pruning import find_superfluous, prune_all
from foliot.wiring import FileStoreModule, file_module, open_store

_SERVER = "a server's store is backed up with the tools of its server (pg_dump, BGSAVE, mongodump)"
_WORTH_IT = 8  # a file is written anew if this part of it, or more, is free
_SHOWN = 10


@click.command(
    name="backup",
    short_help="Copy a store of a file, while nodes work on it.",
    epilog=epilog("foliot store backup /backup/jobs-2026-11-17.db\nfoliot store backup jobs.bak -o json"),
)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@store_option
@output_option
def backup(*, file: Path, store: str, output: str) -> ExitCode:
    """Copy a store on SQLite into FILE, consistent also while nodes work on it.

    FILE is new, and only you can read it; a file that is there is never replaced. It is a store like the one
    it was made of: every command takes it with --store. Do not let nodes run on both: they would both run the
    jobs. Do not use cp: the newest runs are in a second file beside the store.
    """
    checked_schema(store)
    module = file_module(store)
    if module is None:
        raise StoreError(f"{without_password(store)} is no file", hint=f"{_SERVER}; or see foliot store copy")
    size = module.back_up(store, file.absolute())
    if output == "json":
        write_json({"file": str(file.absolute()), "bytes": size})
    else:
        say("ok", f"{file} has the whole store, {_bytes(size)}")
        say("note", f"foliot store check --store sqlite:///{file} reads all of it and looks for damage")
    return ExitCode.OK


@click.command(
    name="prune",
    short_help="Forget old history, and give space back.",
    epilog=epilog("foliot store prune --dry-run\nfoliot store prune"),
)
@click.option("--dry-run", is_flag=True, help="Only show what jobs have beyond their limits.")
@store_option
@output_option
def prune(*, dry_run: bool, store: str, output: str) -> ExitCode:
    """Forget the history that jobs do not keep by their policy, and give free space back to the disk.

    Nodes forget by themselves; this does it at once. A history is cut when it is worth the work: it may have
    grown to twice what its job keeps, and a quarter more. The file of a store on SQLite is then written anew,
    if an eighth of it or more is free and no node works on it.
    """
    checked_schema(store)
    facts = asyncio.run(_prune(store, dry_run=dry_run))
    if output == "json":
        write_json(facts)
    return ExitCode.OK if output == "json" else _tell_pruned(facts)


async def _prune(url: str, *, dry_run: bool) -> dict[str, object]:
    async with opened(url) as session:
        module = file_module(url)
        before = None if module is None else module.free_space(url)
        facts: dict[str, object] = {"dry_run": dry_run, "space": _space(before)}
        if dry_run:
            more = await find_superfluous(session.ops, session.now)
            return facts | {"superfluous": [one._asdict() for one in more]}
        facts["forgotten"] = await prune_all(session.store, session.now)
        is_idle = not any(view.until >= session.now for view in await session.store.nodes())
    if module is not None:
        facts |= {"space": _space(module.free_space(url)), "given_back": _give_back(module, url, is_idle)}
    return facts


def _give_back(module: FileStoreModule, url: str, is_idle: bool) -> int | None:  # noqa: FBT001 - one caller
    """How many bytes were given back; None: a node works on the file, which would wait meanwhile."""
    size, free = module.free_space(url)
    if free * _WORTH_IT < size:
        return 0
    if not is_idle:
        return None
    module.give_back(url)
    return size - module.free_space(url).size


def _space(space: FreeSpace | None) -> dict[str, int] | None:
    return None if space is None else space._asdict()


def _tell_pruned(facts: Mapping[str, object]) -> ExitCode:
    space = facts["space"]
    if facts["dry_run"]:
        rows = [(str(one["job"]), str(one["attempts"]), str(one["skips"])) for one in _rows(facts)]
        if rows:
            write_rows((Column("JOB", least=20), Column("ATTEMPTS"), Column("SKIPS")), rows[:_SHOWN])
            total = sum(int(attempts) + int(skips) for _, attempts, skips in rows)
            say("note", f"{total:,} attempts and skips of {len(rows):,} job(s) are more than their jobs keep")
        else:
            say("ok", "no job has more history than it keeps")
    else:
        say("ok", f"{facts['forgotten']:,} attempts and skips are forgotten")
    if isinstance(space, Mapping):
        write(f"the file has {_bytes(space['size'])}, of which {_bytes(space['free'])} are free", sys.stdout)
    given_back = facts.get("given_back", 0)
    if given_back is None:
        say("note", "a node works on the store, so that the file keeps its free space; jobs use it again")
    elif given_back:
        say("ok", f"{_bytes(int(str(given_back)))} are given back to the disk")
    return ExitCode.OK


def _rows(facts: Mapping[str, object]) -> list[Mapping[str, object]]:
    found = facts["superfluous"]
    return found if isinstance(found, list) else []


@click.command(
    name="copy",
    short_help="Copy all jobs and their history into another store.",
    epilog=epilog(
        "foliot store copy sqlite:///jobs.db postgresql://…/jobs\n"
        "foliot store copy redis://localhost/0 sqlite:///jobs.db",
        9,
    ),
)
@click.argument("old", metavar="FROM")
@click.argument("new", metavar="TO")
@output_option
def copy(*, old: str, new: str, output: str) -> ExitCode:
    """Copy all that the store FROM keeps into the store TO, which may be of any kind, and compare both.

    Copied are jobs with their definitions, states and versions, sources and their revisions, runs with their
    output, skips, alerts, tokens, the audit and pipelines. TO must be empty, and no node may work on FROM; a
    run whose node has died is lost in the copy. FROM is not changed.
    """
    checked_schema(old)
    with suppress(StoreUnavailableError):  # there is none yet, so that it will be created
        checked_schema(new)
    copied = asyncio.run(_copy(old, new))
    if output == "json":
        write_json({"copied": dict(copied.counts), "left_out": copied.left_out})
        return ExitCode.FINDINGS if copied.left_out else ExitCode.OK
    counts = ", ".join(f"{count:,} {name}" for name, count in copied.counts.items() if count)
    say("ok", f"copied and compared: {counts or 'nothing, as the store is empty'}")
    for job in copied.left_out:
        say("warning", f"{visible(job)} cannot be read, and was left out", sys.stdout)
    say("note", "let nodes work on one of the two stores only, or both run the jobs")
    return ExitCode.FINDINGS if copied.left_out else ExitCode.OK


async def _copy(old: str, new: str) -> Copied:
    if old == new:
        raise StoreError("both stores are the same")
    async with opened(old) as session, open_store(new, SystemClock(), lease=LEASE) as store:
        return await copy_store(session.store, store)


def _bytes(count: int) -> str:
    """`840 bytes`, `3.2 MB`."""
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":  # noqa: PLR2004 - of the unit before
            break
        size /= 1000
    return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"
