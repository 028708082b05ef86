"""One life of the daemon: an application, the repository that it follows, and the signals it heeds.

SIGHUP pulls now. SIGTERM and Ctrl-C drain: no more is claimed, and what runs may end; a second one ends it
at once. After a kill -9 nothing of it runs on, and the next start goes on where it was.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

from prometheus_client import start_http_server

from foliot.alerts.channel import Channel
from foliot.alerts.config import read_channels
from foliot.app import Foliot
from foliot.app.alerts import AlertsPart
from foliot.daemon.api_shell import ApiShell
from foliot.daemon.directories import cache_directory, default_store, make_folder, state_directory
from foliot.daemon.heartbeat import Heartbeat
from foliot.daemon.listen import Listen, serving_beside
from foliot.daemon.load import load_app
from foliot.daemon.systemd import Systemd
from foliot.doors.rollcron.config import read_operator_channels
from foliot.doors.rollcron.door import Rollcron
from foliot.errors import FoliotError, InvalidAppError, shorten, without_password
from foliot.executors.shell.run_as import RunAs
from foliot.executors.shell.secrets import HostSecrets
from foliot.network.own_port import listening_on
from foliot.observability import Metrics
from foliot.observability.log import tell

USUAL_INTERVAL = timedelta(seconds=60)
USUAL_DRAIN = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """What a daemon is told. `program` is the command's name, and names its cache.

    `lease` and `slots` are settings of an application without jobs of its own; None: the usual ones.
    """

    repository: str | None = "."
    interval: timedelta = USUAL_INTERVAL
    store: str | None = None
    app: str | None = None
    program: str = "foliot"
    follow_rewrites: bool = False
    trust_path: tuple[str, ...] = ()  # local repositories that another user owns
    cache: Path | None = None
    drain: timedelta = USUAL_DRAIN
    lease: timedelta | None = None
    slots: Mapping[str, int] | None = None  # by queue
    groups: Mapping[str, int] = field(default_factory=dict)  # the operator's
    secrets: Path | None = None
    pass_env: tuple[str, ...] = ()
    run_as: tuple[str, ...] = ()  # users that jobs of the repository may run as
    http_allow: tuple[str, ...] = ()
    celery: str | None = None  # the Celery application whose tasks jobs may send
    metrics: tuple[str, int] | None = None  # where to serve them
    channels: Path | None = None  # the operator's file
    smtp: str | None = None  # the mail server of channels that name none: a URL, or where it is
    ping: str | None = None  # where to give a sign of life: a URL, or where it is
    listen: Listen | None = None  # where to serve the REST API
    allow_api_shell: bool = False
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


async def serve(serving: Serving) -> None:
    """Serve until told to stop; when this returns, nothing runs any more."""
    app, door, channels = _application(serving), None, _operator_channels(serving)
    if serving.repository is not None:
        door = _follow(serving, serving.repository, channels)
        app.attach(door)
    elif channels:
        app.attach(AlertsPart(channels))
    if serving.allow_api_shell:
        app.attach(ApiShell(state_directory(serving.environment) / "api-shell", serving.environment))
    app.attach(Systemd(serving.environment, os.getpid()))
    if serving.ping is not None:
        app.attach(Heartbeat(serving.ping))
    tell("serving", version=version("foliot"), store=without_password(app.store), process=os.getpid())
    metrics = serving_metrics(serving.metrics, app, serving.app)
    with _pulling_at_hangup(door), metrics, _serving_api(serving, app, door):
        try:
            await app.run()
        finally:
            app.close()


def _application(serving: Serving) -> Foliot:
    """The user's own, or one without jobs of its own."""
    if serving.app is not None:
        app = load_app(serving.app)
        if serving.store is not None:
            app.use_store(serving.store)
        return app
    store = serving.store
    if store is None:
        store = default_store(serving.environment)
        make_folder(state_directory(serving.environment))
    metrics = Metrics() if serving.metrics or serving.listen else None
    wished = {"lease": serving.lease, "slots": serving.slots, "executors": _executors(serving)}
    chosen: dict[str, Any] = {name: value for name, value in wished.items() if value is not None}
    allowed = serving.http_allow
    return Foliot(
        store, name=serving.program, drain=serving.drain, metrics=metrics, http_allow=allowed, **chosen
    )


def _executors(serving: Serving) -> dict[str, Any] | None:
    """That of Celery tasks, if the operator names an application. Celery may not be installed."""
    if serving.celery is None:
        return None
    try:
        from foliot.executors.celery import CeleryTasks, find_celery_app  # noqa: PLC0415 - an extra
    except ImportError as error:
        reason = f"needs Celery, which is not installed ({error.name})"
        raise InvalidAppError(serving.celery, reason, hint="pip install 'foliot[celery]'") from None
    return {"celery": CeleryTasks(find_celery_app(serving.celery))}


def _operator_channels(serving: Serving) -> dict[str, Channel]:
    """Those of the file that the operator names; their commands start where it lies."""
    file = serving.channels
    if file is None:
        return {}
    try:
        data = file.read_bytes()
    except OSError as error:
        raise FoliotError(f"{file} cannot be read: {error.strerror}") from error
    entries = read_operator_channels(data, str(file))
    return read_channels(entries, trusted=True, folder=file.absolute().parent, smtp=serving.smtp)


def _follow(serving: Serving, repository: str, channels: Mapping[str, Channel]) -> Rollcron:
    cache = serving.cache or cache_directory(serving.environment, serving.program)
    return Rollcron(
        repository,
        cache=cache,
        interval=serving.interval,
        follow_rewrites=serving.follow_rewrites,
        trusted=serving.trust_path,
        environment=serving.environment,
        secrets=HostSecrets(
            serving.secrets, {name: serving.environment.get(name) for name in serving.pass_env}
        ),
        run_as=_users(serving, cache),
        channels=channels,
        groups=serving.groups,
        smtp=serving.smtp,
    )


def _users(serving: Serving, cache: Path) -> RunAs:
    """Those that the operator names: each must be there, and be able to come to its files."""
    users = RunAs(serving.run_as)
    users.check_way(cache)
    return users


@contextmanager
def _pulling_at_hangup(door: Rollcron | None) -> Iterator[None]:
    """Without a repository there is nothing to pull, and a hangup ends no daemon."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, door.pull_now if door else lambda: None)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)


@contextmanager
def _serving_api(serving: Serving, app: Foliot, door: Rollcron | None) -> Iterator[None]:
    if serving.listen is None:
        yield
        return
    with serving_beside(app, serving.listen, door.pulls if door else dict):
        yield


@contextmanager
def serving_metrics(address: tuple[str, int] | None, app: Foliot, title: str | None = None) -> Iterator[None]:
    """On a thread of its own; scraping delays no job. `title`: what its user calls the application."""
    if address is None:
        yield
        return
    if not isinstance(app.metrics, Metrics):
        hint = "give it metrics=Metrics() of foliot.observability"
        raise InvalidAppError(title or app.name, "has no metrics to be served", hint=hint)
    host, port = address
    try:
        server, thread = start_http_server(port, host, app.metrics.registry)
    except (OSError, UnicodeError) as error:  # a name that is no host's cannot even be encoded
        reason = getattr(error, "strerror", None) or "there is no such host"
        raise FoliotError(
            f"metrics cannot be served on {shorten(host)}:{port}: {reason}", hint="choose another --metrics"
        ) from error
    try:
        with listening_on(port):
            yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
