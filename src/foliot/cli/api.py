"""`foliot api`: the REST API without an engine. `foliot serve --listen` shares its options."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Any

import click

from foliot.cli.exit_code import ExitCode
from foliot.cli.output import write
from foliot.daemon.listen import Listen, serve_alone
from foliot.errors import shorten
from foliot.observability.log_format import FORMATS, configure_logging

_LAST_PORT = 65_535
_LISTEN_OPTIONS = (
    click.option(
        "--behind-proxy", "proxy", metavar="URL",
        help="The address that people use, if a proxy is before the API: https://cron.example.org/prefix.",
    ),
    click.option(
        "--trusted-proxy", "proxies", metavar="CIDR", multiple=True,
        help="Where the proxy may be; repeatable.  [default: this host]",
    ),
    click.option(
        "--host-name", "names", metavar="NAME", multiple=True,
        help="Another name by which the API may be called; repeatable.",
    ),
    click.option(
        "--limit", "limits", metavar="NAME=VALUE", multiple=True,
        help="A limit of the API, such as rate=100; repeatable. FOLIOT_API_LIMITS has several.",
    ),
)  # fmt: skip


def takes_listen_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of an API that is served."""
    for option in reversed(_LISTEN_OPTIONS):
        command = option(command)
    return command


def read_address(text: str, option: str) -> tuple[str, int]:
    """`HOST:PORT`, or a port alone: then loopback. To listen elsewhere, name the host."""
    host, _, port = text.rpartition(":")
    is_number = port.isascii() and port.isdecimal() and len(port) <= len(str(_LAST_PORT))
    if not is_number or not 0 < int(port) <= _LAST_PORT:
        raise click.BadParameter(f"{shorten(text)!r} is no port, and no host and port", param_hint=option)
    return host.strip("[]") or "127.0.0.1", int(port)


def make_listen(address: str, **given: Any) -> Listen:
    """Where to serve the API, of what the options of `takes_listen_options` have given."""
    host, port = read_address(address, "--listen")
    return Listen(host=host, port=port, say=_say, **given)


def _say(line: str) -> None:
    write(line, sys.stdout)


@click.command(
    name="api",
    short_help="Serve the REST API alone.",
    epilog="""
\b
Examples:
  foliot api --store postgresql://…/jobs --listen 127.0.0.1:8080
  foliot api --listen 8080 --behind-proxy https://cron.example.org

\b
Exit codes:
  0  stopped in order    3  invalid store, app or token
  1  an error            6  store unreachable
  2  wrong usage
""",
)
@click.option("--store", metavar="URL", envvar="FOLIOT_STORE", help="Where jobs and runs are kept.")
@click.option("--app", metavar="MODULE:NAME", help="An application of yours, whose store it is.")
@click.option("--listen", required=True, metavar="[HOST:]PORT", help="Where to serve it.")
@takes_listen_options
@click.option("--log-format", type=click.Choice(FORMATS), default="auto", show_default=True)
def api(*, store: str | None, app: str | None, listen: str, log_format: str, **others: Any) -> ExitCode:
    """Serve the REST API of a store, and run no jobs: for hosts beside those that do.

    Every request needs a token. At the first start one is made, and a link is printed that logs a browser in
    once. Without a proxy that has TLS, only loopback is listened on. foliot serve --listen serves the API
    beside the jobs.
    """
    configure_logging(log_format)
    asyncio.run(serve_alone(make_listen(listen, **others), store, app))
    return ExitCode.OK
