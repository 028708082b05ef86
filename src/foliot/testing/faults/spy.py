"""Makes the production parts of a node visible: failpoints go in, facts come out. Only a node calls this."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Any

from foliot import wiring
from foliot.app import core, runtime
from foliot.clock import SystemClock
from foliot.engine.engine import Engine
from foliot.errors import StoreUnavailableError
from foliot.model.attempt import Ending
from foliot.protocols import Clock
from foliot.stores.sqlite import SqliteStore
from foliot.testing.faults.diary import Diary

Failpoint = Callable[[str], None]
OpenStore = Callable[..., AbstractAsyncContextManager[wiring.FullStore]]

VERBS = (
    "join", "renew", "leave", "held", "claim", "finish", "recover", "update", "reconcile", "revision",
    "next_wake", "prune", "write_outputs",
)  # fmt: skip
SLOW = 0.5  # seconds: a call that takes longer is noted as if it had failed
_CLOCK = SystemClock()


def look_into(diary: Diary, failpoint: Failpoint) -> None:
    """Have this process' engine and store call the failpoint, and note what they are told."""

    def make_engine(*args: Any, **options: Any) -> Engine:
        diary.note("ready")  # what the code declares is in the store: that comes before
        return Engine(*args, failpoint=failpoint, **options)

    _swap(wiring, "SqliteStore", partial(SqliteStore, failpoint=failpoint))
    _swap(runtime, "Engine", make_engine)
    _swap(core, "open_store", partial(_open_store, diary, wiring.open_store))


def _swap(module: Any, name: str, value: object) -> None:
    """Put something in the place of a part; if that is no longer there, fail loudly."""
    getattr(module, name)
    setattr(module, name, value)


@asynccontextmanager
async def _open_store(
    diary: Diary, real: OpenStore, url: str, clock: Clock, *, lease: timedelta
) -> AsyncIterator[wiring.FullStore]:
    async with real(url, clock, lease=lease) as store:
        for verb in VERBS:
            setattr(store, verb, partial(_call, diary, verb, getattr(store, verb)))
        yield store


async def _call(
    diary: Diary, verb: str, real: Callable[..., Awaitable[Any]], *args: Any, **options: Any
) -> Any:
    """One call of a verb, and what there is to note of it."""
    if verb == "join":
        diary.note("identity", node=args[0].id)
    begin = _CLOCK.monotonic()
    try:
        answer = await real(*args, **options)
    except StoreUnavailableError as error:
        diary.note("trouble", verb=verb, since=begin, error=str(error))
        raise
    if _CLOCK.monotonic() - begin > SLOW:
        diary.note("slow", verb=verb, since=begin)
    if verb == "finish":
        _note_endings(diary, args[0], args[1], {refusal.ending for refusal in answer.refused})
    return answer


def _note_endings(diary: Diary, node: str, endings: Sequence[Ending], refused: set[Ending]) -> None:
    for e in endings:
        facts = {"job": e.job, "run": e.run_key, "number": e.number, "token": e.token, "node": node}
        diary.note("finish", **facts, taken=e not in refused)
