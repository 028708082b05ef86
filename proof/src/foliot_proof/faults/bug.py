"""Bugs on purpose, switched on in a node: a harness that cannot find these finds nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from foliot.clock import SystemClock
from foliot.engine import engine, planner
from foliot.engine.engine import Engine
from foliot.engine.store_clock import StoreClock
from foliot.executors.shell import link
from foliot.model.attempt import Ending, Refused
from foliot.model.decision import Decision
from foliot.model.state import Record
from foliot.stores.sql import node_rows, runs
from foliot.stores.sqlite import worker
from foliot_proof.faults import careless_warden
from foliot_proof.stores import mongodb_bug, redis_bug
from foliot_proof.stores.kind import swap as _break

_CLOCK = SystemClock()
_LATER = 0.2  # seconds: long enough to be killed in
_WARDEN = "from foliot.executors.shell.warden.guard "
_HOME = str(Path(careless_warden.__file__).parents[2])  # for a process without site-packages


def answer_before_commit() -> None:
    """The store says yes, and writes it down a moment later."""

    def do_together(writer: Any, calls: list[Any], session: Any) -> list[Any]:
        outcomes = [writer._apart(call, session) for call in calls]  # noqa: SLF001 - a bug breaks in
        for call, outcome in zip(calls, outcomes, strict=True):
            call.settle(*outcome)
        _CLOCK.sleep(_LATER)
        session.connection.execute("COMMIT")
        return outcomes

    _break(worker.Writer, "_do_together", do_together)


def ignore_the_fence() -> None:
    """Whoever reports an ending is believed, buried or not; and who was buried does not notice."""
    real = planner.plan_ended

    def end_any(record: Record, endings: Sequence[Ending], now: datetime) -> Decision:
        held = {a.run_key: a for a in record.attempts if a.is_running}
        believed = [e._replace(token=held[e.run_key].token, number=held[e.run_key].number) for e in endings]
        return real(record, believed, now)

    def part_held(
        record: Record | None, endings: Sequence[Ending], _: str
    ) -> tuple[list[Ending], list[Refused]]:
        running = {a.run_key for a in record.attempts if a.is_running} if record else set()
        held = [ending for ending in endings if ending.run_key in running]
        return held, [Refused(ending, "") for ending in endings if ending not in held]

    _break(runs, "part_held", part_held)
    _break(engine, "plan_ended", end_any)
    for name in ("LIVING", "HOLD", "_RENEW"):
        _break(node_rows, name, re.sub(r"AND NOT (n\.)?is_buried", "", getattr(node_rows, name)))
    _break(node_rows, "_FORGOTTEN", f"{node_rows._FORGOTTEN} AND 1 = 0")  # noqa: SLF001 - a bug breaks in


def drop_the_lost() -> None:
    """A run whose node died is not started again."""
    _break(planner, "_restart", lambda *_, **__: None)


def bury_at_once() -> None:
    """Who finds that a lease has run out buries its node, whether or not the store was away until now."""
    _break(StoreClock, "is_steady", lambda *_: True)


def start_twice() -> None:
    """What was claimed is started twice."""
    real = Engine._claim  # noqa: SLF001 - a bug breaks in

    async def claim(self: Engine) -> Any:
        claimed = await real(self)
        if claimed.runs:
            self._runner.start(claimed.runs)
        return claimed

    _break(Engine, "_claim", claim)


def end_groups_only() -> None:
    """Shell jobs are ended by `killpg`: whoever has called `setsid` does not hear of it."""
    careless = f"sys.path.insert(0, {_HOME!r}); from {careless_warden.__name__} "
    _break(link, "_CODE", link._CODE.replace(_WARDEN, careless))  # noqa: SLF001 - a bug breaks in


# -- of PostgreSQL ---------------------------------------------------------------------------------


def commit_without_the_disk() -> None:
    """A commit is answered before it is on the disk, as SQLite does with `synchronous=NORMAL`.

    The server writes its log as rarely as it can be told to; otherwise it would be a matter of luck.
    """
    from foliot.stores.postgres import connection, store  # noqa: PLC0415 - the driver may not be there

    real = connection.connect

    def connect(address: Any, patience: timedelta) -> Any:
        made = real(address, patience)
        made.execute("ALTER SYSTEM SET wal_writer_delay = 10000")
        made.execute("SELECT pg_reload_conf()")
        return made

    _break(store, "connect", connect)
    _break(connection, "_BY_INDEX", {**connection._BY_INDEX, "synchronous_commit": "off"})  # noqa: SLF001 - a bug breaks in


def wait_for_ever() -> None:
    """A call of the store has no deadline; nor has the network below it."""
    from foliot.stores.postgres.store import PostgresStore  # noqa: PLC0415 - its driver may not be there

    real = PostgresStore.__init__

    def make(self: PostgresStore, *args: Any, **options: Any) -> None:
        real(self, *args, **options)
        self._deadline = timedelta(hours=1)

    _break(PostgresStore, "__init__", make)


def bury_by_the_clock_alone() -> None:
    """Who finds that a lease is over by the server's clock buries its node, though that clock has jumped.

    A node that waits until others had time to renew would hide it: it does not wait.
    """
    from foliot.stores.postgres import session  # noqa: PLC0415 - the driver may not be there

    _break(StoreClock, "is_steady", lambda *_: True)
    for name in ("EXPIRED", "OVERDUE"):
        _break(session, name, getattr(session, name).replace("least(", "greatest("))


BUGS: dict[str, Callable[[], None]] = (
    {
        bug.__name__: bug
        for bug in (
            answer_before_commit,
            ignore_the_fence,
            drop_the_lost,
            bury_at_once,
            start_twice,
            end_groups_only,
            commit_without_the_disk,
            wait_for_ever,
            bury_by_the_clock_alone,
        )
    }
    | redis_bug.BUGS
    | mongodb_bug.BUGS
)


def plant(name: str) -> None:
    """Have this process do wrong."""
    if name:
        BUGS[name]()
