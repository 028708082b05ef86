"""The API of a daemon: beside an engine (`serve --listen`), or alone (`foliot api`)."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from typing import Any

from foliot.app import Foliot
from foliot.clock import SystemClock
from foliot.daemon.directories import default_store, state_directory
from foliot.daemon.load import load_app
from foliot.doors.rollcron.planned import Planned, read_planned
from foliot.errors import FoliotError, InvalidStoreError, without_password
from foliot.model.state import Record
from foliot.observability.log import tell

Say = Callable[[str], None]
Pulls = Callable[[], Mapping[str, Callable[[], None]]]
# Seconds until a thread that waits for Python's lock gets it. A start passes through four threads. With the
# default of 5 ms, a request that is answered meanwhile could delay each of them by that long.
_SWITCH_INTERVAL = 0.0005


@dataclass(frozen=True, slots=True, kw_only=True)
class Listen:
    """Where to serve the API, and how it is called: see `foliot.api.server`. `say` prints a line."""

    host: str
    port: int
    proxy: str | None = None
    proxies: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()  # such as `rate=100`; they win over those of FOLIOT_API_LIMITS
    say: Say = print
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))


@contextmanager
def serving_beside(app: Foliot, listen: Listen, pulls: Pulls) -> Iterator[None]:
    """Serve the API of an application, on a thread of its own, for as long as it runs."""
    clock = SystemClock()

    def make(backend: Any) -> Any:
        return backend.AppBackend(app, clock, pulls, read_config=_read_config)

    with _serving(listen, make), short_turns():
        yield


@contextmanager
def short_turns() -> Iterator[None]:
    """Let nothing in this process keep its threads waiting for long: no other thread, and no collector.

    Python's collector of garbage now and then looks at all objects, and all threads wait: 70 ms for modules
    and classes, which never become garbage. So what is there now is left out.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, _SWITCH_INTERVAL))
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        sys.setswitchinterval(before)


async def serve_alone(listen: Listen, store: str | None, app: str | None) -> None:
    """Serve the API of a store until SIGTERM or Ctrl-C. No job runs here."""
    url = store or (load_app(app).store if app else default_store(listen.environment))
    state_directory(listen.environment).mkdir(mode=0o700, parents=True, exist_ok=True)
    if url.startswith("memory:"):
        raise InvalidStoreError(url, "lives in one process only", hint="foliot serve --listen serves both")
    tell("serving", version=version("foliot"), store=without_password(url), process=os.getpid())
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked.set)
    clock = SystemClock()
    with _serving(listen, lambda backend: backend.StoreBackend(url, clock, _read_config)):
        await asked.wait()
        tell("stop_asked", app="api")


def _read_config(text: bytes, source: str, stored: Mapping[str, Record], local: str | None) -> Planned:
    return read_planned(text, source=source, stored=stored, local=local)


@contextmanager
def _serving(listen: Listen, make_backend: Callable[[Any], Any]) -> Iterator[None]:
    try:
        # It needs packages of its own, which only who serves the API has.
        names = ("api.server", "api.backend", "api.limits", "dashboard.application")
        server, backend, limits, dashboard = (import_module(f"foliot.{name}") for name in names)
    except ModuleNotFoundError as error:
        reason = f"the API is not installed ({error.name})"
        raise FoliotError(reason, hint="pip install 'foliot[api]'") from None
    where = server.Listening(
        host=listen.host,
        port=listen.port,
        proxy=listen.proxy,
        proxies=listen.proxies,
        names=listen.names,
        state=state_directory(listen.environment),
        limits=limits.read_limits((*listen.environment.get("FOLIOT_API_LIMITS", "").split(), *listen.limits)),
    )
    served = server.serving(
        make_backend(backend), SystemClock(), where, listen.environment, dashboard.make_pages
    )
    with served as address:
        listen.say(f"The API is served at {address.url}/api/v1")
        if address.token_file is not None:
            listen.say(f"A token is in {address.token_file}")
        if address.login is not None:
            listen.say(f"Log in within ten minutes, once: {address.login}")
        yield
