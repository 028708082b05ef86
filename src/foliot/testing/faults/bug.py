"""Bugs on purpose, switched on in a node: a harness that cannot find these finds nothing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from foliot.clock import SystemClock
from foliot.engine import engine, planner
from foliot.engine.engine import Engine
from foliot.model.attempt import Ending
from foliot.model.decision import Decision
from foliot.model.state import Record
from foliot.stores.sqlite import life, run, worker

_CLOCK = SystemClock()
_FOR_EVER = 2**62


def answer_before_commit() -> None:
    """The store says yes, and writes it down a moment later."""

    def do_together(writer: Any, calls: list[Any], _: Any) -> list[Any]:
        outcomes = [writer._apart(call) for call in calls]  # noqa: SLF001 - a bug breaks in
        for call, outcome in zip(calls, outcomes, strict=True):
            worker._tell(call, outcome)  # noqa: SLF001 - the same
        _CLOCK.sleep(0.05)
        writer._execute("COMMIT")  # noqa: SLF001 - the same
        return outcomes

    _break(worker.Writer, "_do_together", do_together)


def ignore_the_fence() -> None:
    """Whoever reports an ending is believed, buried or not; and who was buried does not notice."""
    real = planner.plan_ended

    def end_any(record: Record, ending: Ending, now: datetime) -> Decision:
        held = next(a for a in record.attempts if a.is_running and a.run_key == ending.run_key)
        return real(record, ending._replace(token=held.token, number=held.number), now)

    def is_held(record: Record, ending: Ending, _: str) -> bool:
        return any(a.is_running and a.run_key == ending.run_key for a in record.attempts)

    _break(run, "_is_held", is_held)
    _break(engine, "plan_ended", end_any)
    _break(life, "living", lambda desk, node: life.Life(desk.shelf.node_number(node), _FOR_EVER, None))


def drop_the_lost() -> None:
    """A run whose node died is not started again."""
    _break(planner, "_restart", lambda *_, **__: None)


def start_twice() -> None:
    """What was claimed is started twice."""
    real = Engine._claim  # noqa: SLF001 - a bug breaks in

    async def claim(self: Engine) -> Any:
        claimed = await real(self)
        for job, attempt in claimed.attempts:
            self._runner.start(job, attempt)
        return claimed

    _break(Engine, "_claim", claim)


BUGS: dict[str, Callable[[], None]] = {
    bug.__name__: bug for bug in (answer_before_commit, ignore_the_fence, drop_the_lost, start_twice)
}


def plant(name: str) -> None:
    """Have this process do wrong."""
    if name:
        BUGS[name]()


def _break(owner: Any, name: str, value: object) -> None:
    """Put a bug in the place of a part; if that is no longer there, fail loudly."""
    getattr(owner, name)
    setattr(owner, name, value)
