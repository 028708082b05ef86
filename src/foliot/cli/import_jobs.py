"""`foliot import`: jobs of another scheduler as a rollcron.yaml, with a proof that they run when they ran."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from foliot.cli.group import make_group
from foliot.cli.import_options import examples, import_options, split_options
from foliot.errors import ConfigNotFoundError
from foliot.importers import place
from foliot.importers.apscheduler import read_export
from foliot.importers.crontab import Setting, read_crontab
from foliot.importers.draft import Source
from foliot.importers.host import Host, read_host, timers
from foliot.importers.kubernetes import read_manifest
from foliot.importers.registry import Registry

_CRONTAB = """
foliot import crontab --to ops
foliot import crontab /etc/crontab --system --zone Europe/Berlin --to ops
foliot import crontab --system --split --split-by-user --to ops
crontab -l | foliot import crontab - --to ops
journalctl -t CRON --since -14d | foliot import crontab my.tab --against-log -
"""
_KUBERNETES = """
kubectl get cronjobs -A -o yaml | foliot import kubernetes - --to ops
foliot import kubernetes cronjobs.yaml --to ops
"""
import_jobs = make_group(
    "import",
    "Take over jobs of cron, systemd, Kubernetes or APScheduler, with proof.",
    """Write a rollcron.yaml from what another scheduler runs, and prove that the runs are the same.

    Every line of the source is accounted for, in IMPORT.md beside it. Nothing on the system is changed; the
    report ends with the commands that switch the old entries off.
    """,
    _CRONTAB,
)
import_jobs.epilog = examples(_CRONTAB)


@import_jobs.command(name="crontab", epilog=examples(_CRONTAB))
@click.argument("file", required=False, metavar="[FILE]")
@click.option(
    "--user", metavar="NAME", help="Whose crontab it is; its jobs run as this user.  [default: yours]"
)
@click.option("--system", "is_system", is_flag=True, help="It has a column of users, as /etc/crontab has.")
@click.option(
    "--cron",
    "flavour",
    type=click.Choice(("auto", "debian", "cronie", "busybox")),
    default="auto",
    show_default=True,
    help="Which cron ran it.",
)
@click.option("--no-cd", is_flag=True, help="Do not start commands in the home directory, as cron does.")
@split_options
@import_options
def import_crontab(  # noqa: PLR0913 - the options of the command
    *,
    file: str | None,
    user: str | None,
    is_system: bool,
    flavour: Any,
    no_cd: bool,
    split: bool,
    zone: str,
    names: Registry,
) -> Sequence[Source]:
    """Take over a crontab.

    FILE is a crontab; - is standard input. Without FILE it is your own, or /etc/crontab with --system.
    """
    found = place.crontab_of(file, user, is_system=is_system)
    setting = Setting(
        name=found.name,
        flavour=place.flavour_here() if flavour == "auto" else flavour,
        zone=zone,
        owner=found.owner,
        user=user or "",
        is_system=is_system,
        changes_directory=not no_cd,
        switch_off=found.switch_off,
        split=split,
    )
    return [read_crontab(found.data, setting, names)]


@import_jobs.command(
    name="systemd",
    epilog=examples(
        "foliot import systemd /etc/systemd/system --to ops\nfoliot import systemd backup.timer --to ops"
    ),
)
@click.argument("paths", nargs=-1, required=True, metavar="UNIT|DIR…", type=click.Path(path_type=Path))
@import_options
def import_systemd(*, paths: tuple[Path, ...], zone: str, names: Registry) -> Sequence[Source]:
    """Take over timers and the services that they start.

    UNIT is the file of a timer; its service is looked for beside it. DIR is a directory of units.
    """
    files: list[Path] = []
    for path in paths:
        found = sorted(path.glob("*.timer")) if path.is_dir() else [path]
        if not found or not found[0].is_file():
            raise ConfigNotFoundError(
                str(path), hint="give the file of a timer, or a directory that has some"
            )
        files += found
    return list(timers(files, zone, names))


@import_jobs.command(
    name="kubernetes",
    epilog=examples(_KUBERNETES),
)
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@import_options
def import_kubernetes(*, files: tuple[str, ...], zone: str, names: Registry) -> Sequence[Source]:
    """Take over CronJobs.

    FILE is a manifest, or a list of kubectl; - is standard input. A schedule without a time zone is in
    --zone, the zone of the cluster's controller.
    """
    sources = []
    for file in files:
        data = place.read_source(Path("/dev/stdin") if file == "-" else Path(file))
        sources.append(read_manifest(file, data, zone, names))
    return sources


@import_jobs.command(
    name="apscheduler",
    epilog=examples("foliot import apscheduler jobs.json --python /srv/shop/venv/bin/python --to ops"),
)
@click.argument("file", metavar="FILE")
@click.option(
    "--python", default="python3", show_default=True, metavar="PATH", help="The Python of your program."
)
@import_options
def import_apscheduler(*, file: str, python: str, zone: str, names: Registry) -> Sequence[Source]:
    """Take over jobs of APScheduler 3.

    FILE is a JSON of their triggers' columns, which your program writes; - is standard input. Pickles, which
    APScheduler's stores and its own export consist of, are never read.
    """
    data = place.read_source(Path("/dev/stdin") if file == "-" else Path(file))
    return [read_export(file, data, zone, python, names)]


@import_jobs.command(name="host", epilog=examples("sudo foliot import host --to ops"))
@click.option(
    "--root",
    default="/",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where the files of the host are.  [default: /]",
)
@split_options
@import_options
def import_host(*, root: Path, split: bool, zone: str, names: Registry) -> Sequence[Source]:
    """Take over all that this host starts by time.

    Read are /etc/crontab, cron.d, the tables of users, anacrontab and timers, as far as they are readable.
    """
    host = Host(root=root, zone=zone, flavour=place.flavour_here(), split=split)
    return list(read_host(host, names))
