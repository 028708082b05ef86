"""The server: uvicorn on a thread and a loop of its own, so that nothing that is asked delays the engine."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import uvicorn

from foliot.access import environment_token, open_token_file
from foliot.api.address import read_networks
from foliot.api.application import Application, Pages, no_pages
from foliot.api.limits import Limits
from foliot.api.protocol import make_protocol
from foliot.api.service import Backend, Options
from foliot.app.thread import LoopThread
from foliot.errors import FoliotError, shorten
from foliot.network.address import unmapped
from foliot.network.own_port import listening_on
from foliot.observability.log import tell
from foliot.protocols import Clock

_LOOPBACK = frozenset(("localhost", "127.0.0.1", "[::1]"))
_LOOK = timedelta(milliseconds=10)
_PATIENCE = 1  # seconds that requests have when the server stops


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Where to listen, and how the API is called.

    `proxy` is the address that people use, if a proxy stands before it: `https://name/prefix`. `proxies`: the
    networks that the proxy may be in. `names`: other names of this host. `state`: where the token file is.
    """

    host: str
    port: int
    proxy: str | None = None
    proxies: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    state: Path | None = None
    limits: Limits = field(default_factory=Limits)
    demands_match: bool = False


class Address(NamedTuple):
    """Where a server is reached, and a link that logs a browser in once, if there is a token for it."""

    url: str
    login: str | None
    token_file: Path | None


def options_of(listening: Listening) -> Options:
    """What a server is told, as the application needs it; an error for what cannot be safe."""
    host = listening.host
    names = (
        {name.lower() for name in listening.names}
        | _LOOPBACK
        | {f"[{host}]" if ":" in host else host.lower()}
    )
    options = Options(limits=listening.limits, hosts=frozenset(names), demands_match=listening.demands_match)
    if listening.proxy is None:
        if not _is_loopback(host):
            reason = "passwords and tokens would cross the network as they are"
            hint = (
                "listen on 127.0.0.1, or say which proxy with TLS is before it: --behind-proxy https://NAME"
            )
            raise FoliotError(f"the API cannot be served on {shorten(host)}: {reason}", hint=hint)
        return options
    parts = urlsplit(listening.proxy)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.username:
        raise FoliotError(
            f"{shorten(listening.proxy)} is no address of a proxy", hint="such as https://cron.example.org"
        )
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return replace(
        options,
        hosts=frozenset({*names, name}),
        root=parts.path.rstrip("/"),
        is_https=parts.scheme == "https",
        proxies=read_networks(listening.proxies or ("127.0.0.0/8", "::1/128")),
    )


def _is_loopback(host: str) -> bool:
    if host in ("localhost", ""):
        return host == "localhost"
    try:
        return unmapped(host).is_loopback
    except ValueError:
        return False


class ApiServer:
    """An API that is served, from `start` to `stop`. The environment may give a token."""

    def __init__(
        self,
        backend: Backend,
        clock: Clock,
        listening: Listening,
        environment: Mapping[str, str],
        pages: Pages = no_pages,
    ) -> None:
        self._clock, self._listening = clock, listening
        options = replace(
            options_of(listening), environment_token=environment_token(environment, clock.now())
        )
        self.application = Application(backend, clock, options, pages=pages)
        config = uvicorn.Config(
            self.application,
            http=make_protocol(options, self.application.service.refused),
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=options.limits.keep_alive,
            timeout_graceful_shutdown=_PATIENCE,
            h11_max_incomplete_event_size=options.limits.header,
        )
        self._server = uvicorn.Server(config)
        self._socket = _bind(listening)
        self._own_port = ExitStack()
        self._thread = LoopThread("foliot-api")
        self._serving: asyncio.Task[None] | None = None

    def start(self) -> Address:
        """Serve; where it is reached."""
        self._own_port.enter_context(listening_on(self._socket.getsockname()[1]))
        try:
            address = self._thread.submit(self._start()).result()
        except BaseException:
            self.stop()
            raise
        tell(
            "api_serving", url=address.url, token_file=str(address.token_file) if address.token_file else None
        )
        return address

    async def _start(self) -> Address:
        await self.application.service.open()
        self._serving = asyncio.ensure_future(self._server.serve(sockets=[self._socket]))
        while not self._server.started and not self._serving.done():
            await self._clock.wait(_LOOK)
        return await self._address()

    async def _address(self) -> Address:
        service, listening = self.application.service, self._listening
        host, port = self._socket.getsockname()[:2]
        url = listening.proxy or f"http://{f'[{host}]' if ':' in host else host}:{port}"
        token, file = service.options.environment_token, None
        if token is None and listening.state is not None:
            found = await open_token_file(
                service.store, listening.state, socket.gethostname(), self._clock.now()
            )
            token, file = (None, None) if found is None else (found.token, found.path)
        code = None if token is None else await service.authority.new_code(token.id)
        return Address(url.rstrip("/"), code and f"{url.rstrip('/')}/login#{code}", file)

    def stop(self) -> None:
        """End streams, let other requests end within a second, and close the store."""
        try:
            self._thread.submit(self._stop()).result()
        finally:
            self._thread.close()
            self._socket.close()
            self._own_port.close()

    async def _stop(self) -> None:
        self.application.service.stopping.set()
        self._server.should_exit = True
        if self._serving is not None:
            await self._serving
        await self.application.service.close()


@contextmanager
def serving(
    backend: Backend,
    clock: Clock,
    listening: Listening,
    environment: Mapping[str, str],
    pages: Pages = no_pages,
) -> Iterator[Address]:
    """Serve for a while."""
    server = ApiServer(backend, clock, listening, environment, pages)
    address = server.start()
    try:
        yield address
    finally:
        server.stop()


def _bind(listening: Listening) -> socket.socket:
    host, port = listening.host, listening.port
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=512)
    except (OSError, UnicodeError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or "there is no such host"
        raise FoliotError(
            f"the API cannot be served on {shorten(host)}:{port}: {reason}", hint="choose another --listen"
        ) from error
