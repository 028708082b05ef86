"""`foliot serve`: the daemon, in the foreground. A service manager puts it into the background."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from foliot.alerts.mail import Mail
from foliot.alerts.ping import Ping
from foliot.cli.api import make_listen, read_address, takes_listen_options
from foliot.cli.check_report import problem_lines
from foliot.cli.complete import complete_queue
from foliot.cli.exit_code import ExitCode, exit_code_of
from foliot.cli.output import write
from foliot.daemon.serve import USUAL_DRAIN, Serving
from foliot.daemon.serve import serve as serve_until_stopped
from foliot.errors import ConfigInvalidError, InvalidChannelError, InvalidDurationError, shorten
from foliot.model.job import is_name
from foliot.network.errors import InvalidUrlError
from foliot.network.guard import Opening
from foliot.observability.log_format import FORMATS, configure_logging
from foliot.schedules.duration import parse_duration

_LONGEST_INTERVAL = 366 * 86_400  # seconds: a year
_MOST_SLOTS = 1_000_000_000
_SHORTEST_LEASE = timedelta(seconds=1)
_LONGEST = timedelta(days=36_525)
Command = Callable[..., ExitCode]
_PING_URL = "FOLIOT_PING_URL"
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
_USUAL_SLOTS = 1000
_ITS_OWN = (
    "--drain, --lease, --slots, --queues, --groups, --http-allow and --celery of an app are its own: "
    "Foliot(…, drain=…, lease=…, slots=…, groups=…, http_allow=…, executors=…)"
)
_NEEDS_LISTEN = "--behind-proxy, --trusted-proxy, --host-name and --limit need --listen"
_AS_GIVEN = (
    "store",
    "follow_rewrites",
    "trust_path",
    "channels",
    "smtp",
    "ping",
    "http_allow",
    "celery",
    "allow_api_shell",
)
_LEVELS = ("debug", "info", "warning", "error")


def _not_too_long(_: click.Context, __: click.Parameter, seconds: int) -> int:
    if seconds > _LONGEST_INTERVAL:
        raise click.BadParameter(f"{shorten(str(seconds))} seconds are more than a year")
    return seconds


def _smtp(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    return None if text is None else _endpoint(text, "--smtp", lambda: Mail("root", server=text))


def _ping(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    """The URL to ping. It is a secret, so it may also come from the environment."""
    text = text or (f"env:{_PING_URL}" if os.environ.get(_PING_URL) else None)
    return None if text is None else _endpoint(text, "--ping", lambda: Ping(text))


def _endpoint(text: str, option: str, check: Callable[[], object]) -> str:
    """Check an option. Other users can list processes, so a secret must not stand in the option itself."""
    try:
        check()
    except InvalidChannelError as error:
        raise click.BadParameter(f"it {error.details['reason']}; {error.hint}", param_hint=option) from None
    return text


def _openings(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    for text in texts:
        try:
            Opening.read(text)
        except InvalidUrlError as error:
            raise click.BadParameter(f"{shorten(text)!r} {error.reason}; such as 10.0.0.0/8") from None
    return texts


def interval_option(help_text: str) -> Callable[[Command], Command]:
    """How often to pull."""
    return click.option(
        "-i",
        "--interval",
        type=click.IntRange(min=1),
        metavar="SECONDS",
        default=60,
        show_default=True,
        callback=_not_too_long,
        help=help_text,
    )


_EPILOG = """
\b
Examples:
  foliot serve                                follow the repository you are in
  foliot serve https://git.example.org/ops.git -i 30
  foliot serve /srv/jobs                      a directory without git
  foliot serve --app billing.jobs:app         run an application of yours
  foliot serve --listen 127.0.0.1:8080        serve the REST API, too

\b
Variables, beside those of the options:
  FOLIOT_SMTP_URL   the mail server of channels    FOLIOT_PING_URL   as --ping

\b
Exit codes:
  0  stopped in order    3  no good rollcron.yaml; invalid REPO, store or app
  1  an error            4  no rollcron.yaml in the repository
  2  wrong usage         6  store or remote unreachable
"""


@click.command(name="serve", short_help="Run the daemon.", epilog=_EPILOG)
@click.argument("repository", metavar="[REPO]", required=False)
@interval_option("How often to pull.")
@click.option("--store", metavar="URL", envvar="FOLIOT_STORE", help="Where jobs and runs are kept.")
@click.option("--app", metavar="MODULE:NAME", help="An application of yours, such as billing.jobs:app.")
@click.option("--follow-rewrites", is_flag=True, help="Follow a branch whose history was rewritten.")
@click.option(
    "--trust-path",
    metavar="PATH",
    multiple=True,
    envvar="FOLIOT_TRUST_PATH",
    show_envvar=True,
    help="A repository on this host that another user owns; repeatable.",
)
@click.option("--cache", type=click.Path(path_type=Path), metavar="DIR", help="Where clones are kept.")
@click.option("--drain", metavar="DURATION", help="How long runs may go on when it stops.  [default: 30s]")
@click.option("--lease", metavar="DURATION", help="If it is silent longer, others take over.  [default: 30s]")
@click.option(
    "--queues",
    metavar="A,B",
    shell_complete=complete_queue,
    help="Which queues to serve.  [default: default]",
)
@click.option(
    "--slots", metavar="N", help="How many runs at once; of each queue: db=1,default=20.  [default: 1000]"
)
@click.option("--groups", metavar="A=N", help="Limits of groups, over all nodes: db=1,mail=5.")
@click.option("--secrets", type=_FOLDER, metavar="DIR", help="Where files of secrets are kept: NAME.env.")
@click.option(
    "--pass-env", metavar="NAME", multiple=True, help="A variable that jobs may receive; repeatable."
)
@click.option(
    "--run-as", metavar="A,B", multiple=True, help="Users that jobs may run as; the daemon must be root."
)
@click.option("--channels", type=_FILE, metavar="FILE", help="Channels of the operator, as in rollcron.yaml.")
@click.option(
    "--smtp", metavar="URL", callback=_smtp, help="Mail server: a URL, or where it is: env:NAME, file:/path."
)
@click.option(
    "--ping", metavar="URL", callback=_ping, help="Ping this each minute; a URL, or where it is: env:NAME."
)
@click.option(
    "--http-allow",
    metavar="HOST[:PORT]|RANGE",
    multiple=True,
    callback=_openings,
    help="A server of a private network that http jobs may reach; repeatable.",
)
@click.option(
    "--celery", metavar="MODULE:NAME", help="A Celery application whose tasks jobs may send, as of celery -A."
)
@click.option("--metrics", metavar="[HOST:]PORT", help="Serve metrics for Prometheus there.")
@click.option("--listen", metavar="[HOST:]PORT", help="Serve the REST API there.")
@takes_listen_options
@click.option("--allow-api-shell", is_flag=True, help="Run commands that the REST API declares.")
@click.option("--log-format", type=click.Choice(FORMATS), default="auto", show_default=True)
@click.option("--log-level", type=click.Choice(_LEVELS), default="info", show_default=True)
def serve(  # noqa: PLR0913 - one for each option
    *,
    repository: str | None,
    interval: int,
    app: str | None,
    cache: Path | None,
    drain: str | None,
    lease: str | None,
    queues: str | None,
    slots: str | None,
    groups: str | None,
    secrets: Path | None,
    pass_env: tuple[str, ...],
    run_as: tuple[str, ...],
    metrics: str | None,
    listen: str | None,
    log_format: str,
    log_level: str,
    **others: Any,
) -> ExitCode:
    """Follow a git repository and run the jobs of its rollcron.yaml.

    REPO is a path or a URL; without one, the repository you are in (or none, with --app). It may also be
    a directory with a rollcron.yaml, or such a file, without git: then what is there now runs, and the
    directory is copied whenever it changes. Jobs, runs and their output are kept in the store: without
    --store, in a file of your state directory, which the other commands look into, too. SIGHUP pulls now;
    SIGTERM or Ctrl-C lets runs end, twice ends them at once.
    """
    as_given = {name: others.pop(name) for name in _AS_GIVEN}
    own = (drain, lease, slots, queues, groups, as_given["http_allow"], as_given["celery"])
    _refuse_if(app is not None and any(own), _ITS_OWN)
    _refuse_if(listen is None and any(others.values()), _NEEDS_LISTEN)
    configure_logging(log_format, level=log_level)
    serving = Serving(
        repository=repository or (None if app else "."),
        interval=timedelta(seconds=interval),
        app=app,
        cache=cache.absolute() if cache else None,
        drain=USUAL_DRAIN if drain is None else _duration(drain, "--drain"),
        lease=None if lease is None else _lease(lease),
        slots=_slots(slots, queues),
        groups={} if groups is None else _counts(groups, "--groups", "group"),
        secrets=secrets.absolute() if secrets else None,
        pass_env=tuple(name for names in pass_env for name in names.split(",")),
        run_as=tuple(name for names in run_as for name in names.split(",")),
        metrics=None if metrics is None else read_address(metrics, "--metrics"),
        listen=None if listen is None else make_listen(listen, **others),
        **as_given,
    )
    return run_daemon(serving)


def _refuse_if(is_wrong: bool, reason: str) -> None:  # noqa: FBT001 - a condition
    if is_wrong:
        raise click.UsageError(reason)


def run_daemon(serving: Serving) -> ExitCode:
    """Serve until stopped. If the first config is invalid, show all its errors."""
    try:
        asyncio.run(serve_until_stopped(serving))
    except ConfigInvalidError as error:
        for problem in error.problems:
            write("\n".join(problem_lines(problem, ())), sys.stderr)
        return exit_code_of(error)
    return ExitCode.OK


def _lease(text: str) -> timedelta:
    lease = _duration(text, "--lease")
    if lease < _SHORTEST_LEASE:
        raise click.BadParameter(f"{text} is too short: at least 1s", param_hint="--lease")
    return lease


def _duration(text: str, option: str) -> timedelta:
    try:
        duration = parse_duration(text)
    except InvalidDurationError as error:
        raise click.BadParameter(error.message, param_hint=option) from error
    if not timedelta(0) < duration <= _LONGEST:
        raise click.BadParameter(f"{text} is too short or too long", param_hint=option)
    return duration


def _slots(slots: str | None, queues: str | None) -> dict[str, int] | None:
    """Slots of each queue: `20` for every served queue, or `db=1,default=20`, which also names the queues."""
    if slots is None and queues is None:
        return None
    served = ["default"] if queues is None else queues.split(",")
    if slots is None or "=" not in slots:
        counts = dict.fromkeys(served, _count(slots or str(_USUAL_SLOTS)))
    else:
        counts = _counts(slots, "--slots", "queue")
        if queues is not None and set(counts) != set(served):
            raise click.BadParameter("--queues and --slots name different queues", param_hint="--slots")
    _check_names(counts, "--queues", "queue")
    return counts


def _counts(text: str, option: str, what: str) -> dict[str, int]:
    """Counts by name: `db=1,default=20`."""
    pairs = (part.partition("=") for part in text.split(","))
    counts = {name: _count(count, option) for name, _, count in pairs}
    _check_names(counts, option, what)
    return counts


def _check_names(names: Iterable[str], option: str, what: str) -> None:
    for name in names:
        if not is_name(name) or name != name.strip():
            raise click.BadParameter(f"{shorten(name)!r} is no name of a {what}", param_hint=option)


def _count(text: str, option: str = "--slots") -> int:
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(_MOST_SLOTS))
    if not is_number or not 0 < int(text) <= _MOST_SLOTS:
        hint = f"{shorten(text)!r} is no number from 1 to {_MOST_SLOTS}; such as 20, or db=1,default=20"
        raise click.BadParameter(hint, param_hint=option)
    return int(text)
