"""A real server on a store, with a token for each kind of identity, and a node that is played by hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import httpx

from foliot.access import make_token
from foliot.api.backend import StoreBackend
from foliot.api.limits import Limits
from foliot.api.server import ApiServer, Listening
from foliot.clock import SystemClock
from foliot.dashboard.application import make_pages
from foliot.engine.plan_definition import plan_declared, plan_removed
from foliot.engine.planner import plan_due, plan_ended
from foliot.model.access import Right, Scope
from foliot.model.attempt import Attempt, Ending, Outcome
from foliot.model.job import Action, Job
from foliot.model.query import PipelineQuery, TokenQuery
from foliot.model.state import Node
from foliot.operations import Operations
from foliot.protocols import Changes, JobQuery, Output, RunQuery, SkipQuery
from foliot.schedules import Cron
from foliot.stores.memory import MemoryStore
from foliot.wiring import FullStore, open_store

T = TypeVar("T")
HOUR = timedelta(hours=1)
LONG = timedelta(days=1)
WIDE = Limits(
    rate=100_000, burst=100_000, failed_tokens=100_000, connections_of_address=512, streams_of_token=256
)
BACKUP = Job(
    source="ops", name="backup", schedule=Cron("0 3 * * *"), action=Action(kind="k", data={"path": "/srv"})
)
OTHER = replace(BACKUP, source="other", name="hidden")
NEW = {"name": "mail", "schedule": "0 7 * * *", "action": {"kind": "python:send", "payload": {"user": 7}}}
PIPELINE = {"namespace": "shop", "layer": "gold", "name": "sales", "action": {"kind": "python:sales"}}
_clock = SystemClock()


class MemoryHost(StoreBackend):
    """A store in memory, which the test looks into, too. `is_away`: it answers nothing."""

    def __init__(self, store: FullStore) -> None:
        super().__init__("memory://", _clock)
        self.store = store

    @asynccontextmanager
    async def open_store(self) -> AsyncIterator[FullStore]:
        yield self.store


class Stage:
    """A server, and those who ask it. `url` is that of the store; None: it is in memory."""

    def __init__(self, url: str | None, folder: Path, limits: Limits = WIDE, **listening: Any) -> None:
        self.url = url
        self._memory = MemoryStore(_clock, lease=LONG)
        home = MemoryHost(self._memory) if url is None else StoreBackend(url, _clock)
        where = Listening(host="127.0.0.1", port=0, state=folder, limits=limits, **listening)
        self.server = ApiServer(home, _clock, where, {}, make_pages)
        self.address = self.server.start()
        self.base = f"http://127.0.0.1:{self.server._socket.getsockname()[1]}"
        self.tokens: dict[str, str] = {}
        self.ids: dict[str, str] = {}  # of what a test has made
        self.client = httpx.Client(base_url=self.base, timeout=60)
        self.act(self._furnish)
        self.seen: list[str] = []  # all that was answered

    def close(self) -> None:
        self.client.close()
        self.server.stop()

    async def _furnish(self, ops: Operations) -> None:
        rights = tuple(Right)
        for scope in Scope:
            await self._token(ops, scope.value, scope)
        await self._token(ops, "rights", Scope.WRITE, rights=rights)
        await self._token(ops, "elsewhere", Scope.ADMIN, sources=("other",))
        await self._token(ops, "expired", Scope.ADMIN, ago=timedelta(days=2), life=LONG)
        self.tokens["wrong"] = self.tokens["admin"][:-1] + ("A" if self.tokens["admin"][-1] != "A" else "B")
        await declare(ops, BACKUP)
        await declare(ops, OTHER)
        await ops.store.join(Node("n1", kinds=None))

    async def _token(
        self, ops: Operations, name: str, scope: Scope, *, ago: timedelta = timedelta(0), **given: Any
    ) -> None:
        made = make_token(name, scope, _clock.now() - ago, **given)
        await ops.store.add_token(made.token)
        self.tokens[name] = made.text

    def ask(self, verb: str, path: str, who: str | None = "admin", **given: Any) -> httpx.Response:
        """Send a request; a path without a prefix is one of the API."""
        headers = {**given.pop("headers", {})}
        if who is not None:
            headers["Authorization"] = f"Bearer {self.tokens[who]}"
        whole = path if path.startswith(("/api", "//")) else f"/api/v1{path}"
        response = self.client.request(verb, whole.removeprefix("/"), headers=headers, **given)
        self.seen.append(f"{verb} {path} {response.text} {response.headers}")
        return response

    def get(self, path: str, who: str | None = "admin", code: int = 200, **given: Any) -> Any:
        """The JSON of an answer."""
        return self.expect(code, "GET", path, who, **given)

    def post(
        self, path: str, body: Any = None, who: str | None = "admin", code: int = 200, **given: Any
    ) -> Any:
        """The JSON of an answer."""
        return self.expect(code, "POST", path, who, json=body or {}, **given)

    def expect(self, code: int, verb: str, path: str, who: str | None = "admin", **given: Any) -> Any:
        response = self.ask(verb, path, who, **given)
        assert response.status_code == code, (verb, path, response.status_code, response.text)
        if code >= 400:
            assert response.headers["content-type"] == "application/problem+json"
        return response.json() if response.content else None

    # -- the store ---------------------------------------------------------------------------------

    def act(self, play: Callable[[Operations], Awaitable[T]]) -> T:
        """Do something to the store, as another process does."""

        async def playing() -> T:
            if self.url is None:
                return await play(Operations(self._memory, _clock))
            async with open_store(self.url, _clock, lease=LONG) as store:
                return await play(Operations(store, _clock))

        with ThreadPoolExecutor(1) as thread:  # this one may have a loop: that of a browser
            return thread.submit(asyncio.run, playing()).result()

    def declare(self, *jobs: Job) -> None:
        self.act(lambda ops: declare(ops, *jobs))

    def run_due(self, outcome: Outcome = Outcome.SUCCEEDED, text: str = "") -> list[Attempt]:
        """Have a node start what is due, and end it."""
        return self.act(lambda ops: run_due(ops, outcome, text))

    def claim(self) -> list[Attempt]:
        """Have a node start what is due."""
        return self.act(claim)

    def everything(self) -> Any:
        """All that is stored of jobs, sources and tokens; not the audit, nor when a token was used."""
        return self.act(everything)


async def declare(
    ops: Operations, *jobs: Job, removed: Sequence[str] = (), at: datetime | None = None
) -> None:
    """Have a source declare jobs."""
    source, now = jobs[0].source, at or await ops.store.now()
    base = await ops.store.revision(source)
    await ops.store.reconcile(
        source, base, uuid4().hex, Changes(jobs, tuple(removed)),
        declared=lambda job, record: plan_declared(job, record, now),
        removed=lambda record: plan_removed(record, now),
    )  # fmt: skip


async def claim(ops: Operations) -> list[Attempt]:
    await ops.store.renew("n1")
    claimed = await ops.store.claim("n1", await ops.store.now(), {"default": 99}, plan_due, uuid4().hex)
    return [attempt for _, attempt in claimed.runs]


async def run_due(ops: Operations, outcome: Outcome, text: str) -> list[Attempt]:
    attempts, now = await claim(ops), await ops.store.now()
    for attempt in attempts:
        if text:
            await ops.store.write_outputs([Output(attempt.job, *attempt.key, text)])
        ending = Ending(attempt.job, *attempt.key, attempt.token, outcome, now, now, has_output=bool(text))
        await ops.store.finish("n1", [ending], now, plan_ended)
    return attempts


async def everything(ops: Operations) -> Any:
    store = ops.store
    views = await store.jobs(JobQuery(with_removed=True, limit=1000))
    skips = [tuple(await store.skips(SkipQuery(view.key))) for view in views]
    runs, tokens = await store.runs(RunQuery(limit=1000)), await ops.store.tokens(TokenQuery(limit=1000))
    pipelines = tuple(await store.pipelines(PipelineQuery(with_removed=True, limit=1000)))
    names = [token.id for token in tokens]
    return [tuple(views), tuple(runs), skips, await store.sources(), names, pipelines]


@contextmanager
def staged(url: str | None, folder: Path, limits: Limits = WIDE, **listening: Any) -> Iterator[Stage]:
    """A stage, for a while."""
    stage = Stage(url, folder, limits, **listening)
    try:
        yield stage
    finally:
        stage.close()
