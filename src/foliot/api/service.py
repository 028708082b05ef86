"""What all requests share: the store, who may ask, the limits, and what is counted."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response

from foliot.access import Authority
from foliot.api.courtesy import Courtesy
from foliot.api.hints import Hub
from foliot.api.limits import Buckets, Gate, Limits
from foliot.api.log_reader import LogReaders
from foliot.api.problem import ProblemError
from foliot.api.rule_counts import RuleCounts
from foliot.api.totals import Totals
from foliot.engine.change import PlanEffect
from foliot.errors import FoliotError
from foliot.model.access import Token
from foliot.model.decision import Event
from foliot.model.job import Job
from foliot.model.state import Record
from foliot.network.address import Network
from foliot.operations import Operations
from foliot.protocols import Clock
from foliot.wiring import FullStore


class Read(Protocol):
    """The jobs of a text, and what had to be guessed for them."""

    @property
    def jobs(self) -> tuple[Job, ...]:
        """In the order of the text."""
        ...

    @property
    def effects(self) -> tuple[PlanEffect, ...]:
        """What was guessed."""
        ...


# Of a text, the name of its source, what is stored of it, and the zone of the daemon's host, if it is told.
ReadConfig = Callable[[bytes, str, Mapping[str, Record], str | None], Read]


class Backend(Protocol):
    """Where an API lives: in a program with an engine, or alone."""

    has_engine: bool

    def open_store(self) -> Any:
        """The store, for as long as the API is open: an async context manager."""
        ...

    def is_starting(self, within: timedelta) -> bool:
        """Whether an engine in the same process starts jobs now, or will within so long."""
        ...

    def tell(self, events: Sequence[Event]) -> None:
        """An engine in the same process is told at once what was changed."""
        ...

    def listen(self, listener: Callable[[Event], None]) -> None:
        """Have a function told of what happens in the same process."""
        ...

    def pull(self, source: str, *, dry_run: bool) -> bool:
        """Have a source read again now; whether this process follows it."""
        ...

    @property
    def place(self) -> str:
        """The URL of the store. It may have a password."""
        ...

    @property
    def read_config(self) -> ReadConfig | None:
        """What reads the text of a rollcron.yaml for a plan; None: nothing does here."""
        ...

    @property
    def is_alive(self) -> bool:
        """Whether the engine's loop turns, if there is an engine."""
        ...

    @property
    def is_ready(self) -> bool:
        """Whether the engine has begun, if there is an engine."""
        ...

    @property
    def registry(self) -> Any:
        """The metrics of the process, for Prometheus; None if there are none."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How an API is served.

    `hosts`: the names by which it may be called; None: any. `root`: what a proxy has put before each path.
    `proxies`: from which addresses forwarded headers are believed. `demands_match`: changes need `If-Match`.
    """

    limits: Limits = field(default_factory=Limits)
    hosts: frozenset[str] | None = None
    root: str = ""
    is_https: bool = False
    proxies: tuple[Network, ...] = ()
    demands_match: bool = False
    environment_token: Token | None = None


class Service:
    """An API that is open."""

    def __init__(self, backend: Backend, clock: Clock, options: Options) -> None:
        limits = options.limits
        self.backend, self.clock, self.options, self.limits = backend, clock, options, limits
        self.rate = Buckets(clock, limits.rate, limits.burst)
        self.logins = Buckets(clock, limits.failed_logins / 60, limits.failed_logins)
        self.failures = Buckets(clock, limits.failed_tokens / 60, limits.failed_tokens)
        self.streams = Gate(limits, "streams", "streams_of_token")
        self.heavy = Gate(limits, "heavy")
        self.totals = Totals(clock)
        self.courtesy = Courtesy(backend.is_starting, clock)
        self.answered: Counter[tuple[str, str, int]] = Counter()  # by verb, path of the route, and status
        self.refused: Counter[str] = Counter()  # by the limit that was met
        self.document: dict[str, Any] = {}  # that describes all routes
        self.lost_page: Callable[[Request, ProblemError], Response] | None = None  # for browsers
        self.hub: Hub
        self.logs: LogReaders
        self.rules: RuleCounts
        self.store: FullStore
        self.ops: Operations
        self.authority: Authority
        self._open: AsyncExitStack | None = None
        self._opening = asyncio.Lock()
        self.stopping = asyncio.Event()

    @property
    def is_open(self) -> bool:
        """Whether the store was opened."""
        return self._open is not None

    async def open(self) -> None:
        """Open the store, if it is not open. A store that is away is asked again with the next request."""
        async with self._opening:
            if self._open is not None:
                return
            stack = AsyncExitStack()
            try:
                self.store = await stack.enter_async_context(self.backend.open_store())
            except FoliotError:
                await stack.aclose()
                raise
            self.ops = Operations(self.store, self.clock, tell=self._tell)
            self.authority = Authority(self.store, self.clock, self.options.environment_token)
            self.hub = Hub(self.ops, self.clock, self.courtesy.give_way)
            self.logs = LogReaders(self.ops, self.clock)
            self.rules = RuleCounts(self.store, self.clock)
            self.backend.listen(self.hub.note_from_other_thread)
            stack.push_async_callback(self.hub.close)
            stack.push_async_callback(self.rules.close)
            self._open = stack

    def _tell(self, events: Sequence[Event]) -> None:
        self.backend.tell(events)
        for event in events[:100]:  # more are found by who looks
            self.hub.note(event)

    async def close(self) -> None:
        """End streams, and let go of the store."""
        self.stopping.set()
        async with self._opening:
            stack, self._open = self._open, None
            if stack is not None:
                await stack.aclose()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Service]:
        """Open, for a while."""
        await self.open()
        try:
            yield self
        finally:
            await self.close()
