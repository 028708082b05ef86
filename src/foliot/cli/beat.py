"""`foliot beat`: the beat of a Celery application; what it would do, and what others have kept for it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import click

from foliot.cli.api import read_address
from foliot.cli.beat_report import report_check, report_import
from foliot.cli.exit_code import ExitCode
from foliot.cli.session import LEASE, output_option
from foliot.clock import SystemClock
from foliot.daemon.beat import serve_beat
from foliot.doors.celery_beat.cut_over import Moved, cut_over
from foliot.doors.celery_beat.errors import EntriesRefusedError
from foliot.doors.celery_beat.importing import ORIGINS, Import, read_import
from foliot.doors.celery_beat.load import load_celery
from foliot.doors.celery_beat.setting import BeatSettings, read_namespace, read_settings
from foliot.doors.celery_beat.translate import translate_all
from foliot.observability import Metrics
from foliot.observability.log_format import FORMATS, configure_logging
from foliot.wiring import open_store

_LEVELS = ("debug", "info", "warning", "error")
_EPILOG = """
\b
Examples:
  foliot beat -A proj --check                  what would run, and the proof
  foliot beat -A proj --import redbeat         take over what RedBeat has kept
  foliot beat -A proj --store redis://…/1      be the beat

\b
Exit codes:
  0  stopped in order, or all is the same    3  entries are refused; invalid app, store or setting
  1  an error                                6  store unreachable
  2  wrong usage                             9  --check has found differences or refused entries
"""


@click.command(name="beat", short_help="Be the beat of a Celery application.", epilog=_EPILOG)
@click.option("-A", "--app", required=True, metavar="APP", help="The Celery application, as for celery -A.")
@click.option(
    "--store", metavar="URL", help="Where jobs and runs are kept.  [default: foliot_store, FOLIOT_STORE]"
)
@click.option("--check", is_flag=True, help="Show the entries, prove when they run, and change nothing.")
@click.option(
    "--import", "origin", type=click.Choice(tuple(ORIGINS)), metavar="FROM",
    help="Take over what redbeat or django (django-celery-beat) has kept, with its last runs.",
)  # fmt: skip
@click.option("--skip-refused", is_flag=True, help="Go on without entries that cannot be carried over.")
@click.option("--metrics", metavar="[HOST:]PORT", help="Serve metrics for Prometheus there.")
@click.option("--log-format", type=click.Choice(FORMATS), default="auto", show_default=True)
@click.option("--log-level", type=click.Choice(_LEVELS), default="info", show_default=True)
@output_option
def beat(  # noqa: PLR0913 - one for each option
    *,
    app: str,
    store: str | None,
    check: bool,
    origin: str | None,
    skip_refused: bool,
    metrics: str | None,
    log_format: str,
    log_level: str,
    output: str,
) -> ExitCode:
    """Send the periodic tasks of a Celery application to its workers, each occurrence once.

    The entries are those of beat_schedule. Any number of beats may run: none of them is a leader. celery -A
    APP beat -S foliot does the same as Celery's own command. --check compares the next 1,000 occurrences of
    each entry with what Celery's own objects say; the phase of an interval is noted, and is no difference.
    --import is to be done once, while no other beat runs; an entry goes on after its last run.
    """
    address = None if metrics is None else read_address(metrics, "--metrics")
    celery, as_json = load_celery(app), output == "json"
    if check:
        return _check(celery, origin, as_json=as_json)
    settings = read_settings(celery, store=store, skips_refused=skip_refused)
    if origin is not None:
        found = read_import(celery, origin, settings.namespace)
        if found.refusals and not settings.skips_refused:
            raise EntriesRefusedError(found.refusals)
        moved = asyncio.run(_cut_over(settings, found))
        report_import(found, moved, SystemClock().now(), as_json=as_json)
        return ExitCode.OK
    configure_logging(log_format, level=log_level)
    asyncio.run(serve_beat(_make(celery, settings, has_metrics=address is not None), address))
    return ExitCode.OK


def _check(celery: Any, origin: str | None, *, as_json: bool) -> ExitCode:
    source = read_namespace(celery)
    if origin is None:
        translated, refusals = translate_all(celery, source)
    else:
        found = read_import(celery, origin, source)
        translated, refusals = found.imported, found.refusals
    is_same = report_check(celery, translated, refusals, SystemClock().now(), as_json=as_json)
    return ExitCode.OK if is_same else ExitCode.FINDINGS


async def _cut_over(settings: BeatSettings, found: Import) -> Sequence[Moved]:
    async with open_store(settings.store, SystemClock(), lease=LEASE) as store:
        return await cut_over(store, found.moves)


def _make(celery: Any, settings: BeatSettings, *, has_metrics: bool) -> Any:
    from foliot.doors.celery_beat.application import make_beat  # noqa: PLC0415 - it imports Celery

    return make_beat(celery, settings, metrics=Metrics() if has_metrics else None)
