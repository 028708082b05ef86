"""ratd on a stage: its API over real HTTP, and schedulers on a clock that is moved by hand, on one loop."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import httpx
import uvicorn

from engine.rat_stage import LEASE, Attended, RatStage
from foliot.access import make_token
from foliot.api.application import Application
from foliot.api.backend import StoreBackend
from foliot.api.limits import Limits
from foliot.api.service import Options
from foliot.app.part import Workplace
from foliot.app.pipelines import PipelinesPart
from foliot.executors.python import JobRun
from foliot.model.access import Right, Scope
from foliot.model.kinds import ByKind
from foliot.protocols import Executor
from foliot.protocols_access import Pipeline

WIDE = Limits(rate=1e6, burst=1_000_000)
Scene = Callable[["RatdStage"], Coroutine[Any, Any, None]]
SALES = {
    "namespace": "shop", "layer": "gold", "name": "sales", "type": "sql",
    "action": {"kind": "python:sales", "payload": {"table": "sales"}},
}  # fmt: skip


class StageBackend(StoreBackend):
    """The store of the stage. The API tells no scheduler of what it changes, as another process would not."""

    def __init__(self, stage: RatdStage) -> None:
        super().__init__("memory://", stage.clock)
        self._stage = stage

    @asynccontextmanager
    async def open_store(self) -> AsyncIterator[Any]:
        yield Counting(await self._stage.open(), self._stage)


class Counting:
    """A store whose verbs are counted."""

    def __init__(self, store: Any, stage: RatdStage) -> None:
        self._store, self._stage, self.traits = store, stage, store.traits

    def __getattr__(self, verb: str) -> Any:
        self._stage.verbs[verb] += 1
        return getattr(self._store, verb)


class RatdStage(RatStage):
    """Instances of ratd on one store, and an API with a client for it. `failing`: pipelines that fail."""

    client: httpx.AsyncClient

    def __init__(self, where: str, open_stores: AsyncExitStack) -> None:
        super().__init__(where, open_stores)
        self.takes = timedelta(0)
        self.failing: set[str] = set()
        self.verbs: Counter[str] = Counter()
        self.tokens: dict[str, str] = {}

    async def executors(self, store: Any) -> Mapping[str, Executor]:
        """The executor of `Ratd(executor=…)`."""
        part = PipelinesPart(ByKind(), asyncio.get_running_loop(), self.execute)
        place = Workplace(store, self.clock, LEASE, lambda _: None, lambda _: None, lambda _, __: None)
        return ByKind(await part.begin(place))

    async def execute(self, pipeline: Pipeline, run: JobRun) -> None:
        """What the user of ratd has written."""
        self.starts.append((self.clock.now(), run.key, run.attempt))
        run.log("running", str(pipeline.full_name))
        if self.takes:
            await self.clock.wait(self.takes)
        if pipeline.name in self.failing:
            raise OSError("no space left on device")

    # -- the API -----------------------------------------------------------------------------------

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Serve over real HTTP, on a port of loopback."""
        for name, scope, rights in (("admin", Scope.ADMIN, tuple(Right)), ("read", Scope.READ, ())):
            made = make_token(name, scope, self.clock.now(), rights=rights)
            await self.store.add_token(made.token)
            self.tokens[name] = made.text
        application = Application(StageBackend(self), self.clock, Options(limits=WIDE))
        config = uvicorn.Config(application, http="h11", ws="none", lifespan="off", log_config=None)
        server = uvicorn.Server(config)
        listener = socket.create_server(("127.0.0.1", 0))
        serving = asyncio.ensure_future(server.serve(sockets=[listener]))
        while not server.started:
            await self.clock.settle(1)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/api/v1"
        headers = {"Authorization": f"Bearer {self.tokens['admin']}"}
        try:
            async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as self.client:
                yield
        finally:
            server.should_exit = True
            await serving
            await application.service.close()

    async def ask(self, verb: str, path: str, body: Any = None, code: int = 0, **headers: str) -> Any:
        """The JSON of an answer; `code`: its status, else a success."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = await self.client.request(verb, path, json=body, headers=named)
        is_right = answer.status_code == code if code else answer.is_success
        assert is_right, f"{verb} {path}: {answer.status_code} {answer.text}"
        if answer.status_code >= httpx.codes.BAD_REQUEST:
            assert answer.headers["content-type"] == "application/problem+json"
        return answer.json() if answer.content else None

    async def pipeline(self, **parts: Any) -> str:
        """A new pipeline; its id."""
        id_: str = (await self.ask("POST", "/pipelines", SALES | parts, 201))["id"]
        return id_

    async def schedule_for(self, pipeline: str, cron: str = "*/10 * * * *", **parts: Any) -> str:
        """A new schedule; its id."""
        body = {"pipeline_id": pipeline, "cron": cron, **parts}
        id_: str = (await self.ask("POST", "/schedules", body, 201))["id"]
        return id_

    async def new_schedule(self, cron: str = "*/10 * * * *", *, name: str = "sales", **parts: Any) -> str:
        """A new schedule for a new pipeline; its id."""
        return await self.schedule_for(await self.pipeline(name=name), cron, **parts)

    async def pages(self, name: str, **query: Any) -> list[dict[str, Any]]:
        """All pages of a list, one after the other."""
        found: list[dict[str, Any]] = []
        while True:
            page = (await self.client.get(f"/{name}", params=query)).json()
            found += page[name]
            if page["next"] is None:
                return found
            query["cursor"] = page["next"]

    async def told_runs(self, **filters: Any) -> list[dict[str, Any]]:
        """Runs as the API tells them, the newest first."""
        answer = await self.client.get("/runs", params=filters)
        assert answer.is_success, answer.text
        runs: list[dict[str, Any]] = answer.json()["runs"]
        return runs


def at(hour: int, minute: int = 0, second: int = 0) -> str:
    """A time of the day on which the clock of the stage begins, at midnight, as the API tells it."""
    moment = RatStage.first_day() + timedelta(hours=hour, minutes=minute, seconds=second)
    return moment.isoformat().replace("+00:00", "Z")


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text)


def play(where: str, scene: Scene) -> None:
    """Play a scene on a stage of its own."""

    async def act() -> None:
        async with asyncio.timeout(120), AsyncExitStack() as open_stores:
            stage = RatdStage(where, open_stores)
            stage.store = await stage.open()  # type: ignore[assignment] # it has the same verbs
            try:
                async with stage.serving():
                    await scene(stage)
            finally:
                await stage.stop_all()

    asyncio.run(act())


__all__ = ["SALES", "Attended", "RatdStage", "Scene", "at", "instant", "play"]
