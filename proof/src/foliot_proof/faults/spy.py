"""Makes the production parts of a node visible: failpoints go in, facts come out. Only a node calls this."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import Any

from foliot import wiring
from foliot.app import core, engine_run
from foliot.clock import SystemClock
from foliot.engine.engine import Engine
from foliot.errors import StaleRevisionError, StoreUnavailableError
from foliot.model.attempt import Ending
from foliot.protocols import Changes, Clock
from foliot_proof.faults.witness_log import WitnessLog
from foliot_proof.faults.workload import SOURCES
from foliot_proof.stores import kind_of
from foliot_proof.stores.kind import swap

Failpoint = Callable[[str], None]
OpenStore = Callable[..., AbstractAsyncContextManager[wiring.FullStore]]

VERBS = (
    "join", "renew", "leave", "held", "claim", "finish", "recover", "update", "reconcile", "revision",
    "wakes", "prune", "write_outputs", "now",
)  # fmt: skip
SLOW = 0.5  # seconds: a call that takes longer is noted as if it had failed
_WORTH_NOTING = 0.2  # seconds
_AT_ONCE = 1.0  # seconds between two calls that belong together, on a busy machine
_CLOCK = SystemClock()


def look_into(witness_log: WitnessLog, failpoint: Failpoint, url: str = "") -> None:
    """Have this process' engine and store call the failpoint, and note what they are told."""

    def make_engine(*args: Any, **options: Any) -> Engine:
        witness_log.note("ready")  # what the code declares is in the store: that comes before
        return Engine(*args, failpoint=failpoint, **options)

    kind_of(url).spy(failpoint)
    swap(engine_run, "Engine", make_engine)
    swap(core, "open_store", partial(_open_store, witness_log, wiring.open_store))


@asynccontextmanager
async def _open_store(
    witness_log: WitnessLog, real: OpenStore, url: str, clock: Clock, *, lease: timedelta
) -> AsyncIterator[wiring.FullStore]:
    watch = Watch(witness_log)
    async with real(url, clock, lease=lease) as store:
        for verb in VERBS:
            setattr(store, verb, partial(watch.call, verb, getattr(store, verb)))
        yield store


class Watch:
    """Notes what there is to note of the calls of a store."""

    def __init__(self, witness_log: WitnessLog) -> None:
        self._witness_log = witness_log
        self._is_troubled = False
        self._asked: dict[str, float] = {}  # when whoever declares had read the store's clock, by source
        self._clock_read = 0.0, 0.0  # when that was last asked for, and answered
        self._found: dict[str, str | None] = {}

    async def call(self, verb: str, real: Callable[..., Awaitable[Any]], *args: Any, **options: Any) -> Any:
        """One call of a verb."""
        if verb == "join":
            self._witness_log.note("identity", node=args[0].id)
        begin = _CLOCK.monotonic()
        if verb == "revision":
            self._asked[args[0]] = self._clock_read_before(begin)
        if verb == "reconcile":
            since = self._asked.get(args[0], begin)
            _note_changes(self._witness_log, begin, since, args[0], args[2], args[3])
        try:
            answer = await real(*args, **options)
        except StaleRevisionError:
            self._witness_log.note("undeclared", call=begin)
            raise
        except StoreUnavailableError as error:
            self._is_troubled = True
            self._witness_log.note("trouble", verb=verb, call=begin, since=begin, error=str(error))
            raise
        finally:
            self._note_time(verb, begin)
            if verb == "now":
                self._clock_read = begin, _CLOCK.monotonic()
        self._note_answer(verb, begin, args, answer)
        return answer

    def _clock_read_before(self, begin: float) -> float:
        """Whoever declares reads the store's clock, and then at once the revision."""
        asked, answered = self._clock_read
        return asked if begin - answered < _AT_ONCE else begin

    def _note_answer(self, verb: str, begin: float, args: Sequence[Any], answer: Any) -> None:
        if _CLOCK.monotonic() - begin > SLOW:
            self._witness_log.note("slow", verb=verb, since=begin)
        if verb == "claim" and self._is_troubled:
            self._is_troubled = False
            self._witness_log.note("back")
        if verb == "revision":
            self._note_revision(args[0], answer)
        if verb == "reconcile":
            self._witness_log.note("declared", call=begin)
        if verb == "finish":
            _note_endings(self._witness_log, args[0], args[1], {refusal.ending for refusal in answer.refused})

    def _note_revision(self, source: str, found: str | None) -> None:
        """It proves what became of a declaration whose answer was lost."""
        if source in SOURCES and self._found.get(source, "") != found:
            self._found[source] = found
            self._witness_log.note("revision", source=source, revision=found)

    def _note_time(self, verb: str, begin: float) -> None:
        if _CLOCK.monotonic() - begin > _WORTH_NOTING:
            self._witness_log.note("took", verb=verb, since=begin)


def _note_changes(  # noqa: PLR0913, PLR0917 - all that is known of a declaration
    witness_log: WitnessLog, call: float, since: float, source: str, revision: str, changes: Changes
) -> None:
    if source in SOURCES:
        names = {"declared": [job.name for job in changes.declared], "removed": list(changes.removed)}
        witness_log.note("declaring", call=call, since=since, source=source, revision=revision, **names)


def _note_endings(
    witness_log: WitnessLog, node: str, endings: Sequence[Ending], refused: set[Ending]
) -> None:
    for e in endings:
        facts = {"job": e.job, "run": e.run_key, "number": e.number, "token": e.token, "node": node}
        witness_log.note("finish", **facts, outcome=e.outcome, taken=e not in refused)
