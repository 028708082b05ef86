"""Bugs on purpose: a loop that cannot find these finds nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from foliot.app.delivery import Delivery
from foliot.engine import watching
from foliot.model.attempt import Outcome
from foliot.model.outbox import AlertState
from foliot.protocols import Result
from foliot.stores.sql import batch


def settle_before_the_answer() -> None:
    """A message is marked as sent, and then it is sent."""

    async def execute(delivery: Any, _: object) -> Result:
        rows = await delivery._store.waiting(delivery._name, 5)  # noqa: SLF001 - a bug breaks in
        await delivery._settle(rows, AlertState.SENT, None)  # noqa: SLF001 - the same
        for row in rows:
            await delivery._channel.send([row.alert])  # noqa: SLF001 - the same
        return Result(Outcome.SUCCEEDED)

    _break(Delivery, "execute", execute)


def change_the_id_on_a_retry() -> None:
    """Each message has an id of its own."""
    real = Delivery.__init__

    def init(delivery: Any, name: str, channel: Any, store: Any, *others: Any) -> None:
        send = channel.send
        channel.send = lambda messages: send([one._replace(id=uuid4().hex) for one in messages])
        real(delivery, name, channel, store, *others)

    _break(Delivery, "__init__", init)


def drop_the_alerts() -> None:
    """The store does not write alerts with the decision."""
    real = batch.WriteBatch.flush

    def flush(self: Any) -> None:
        self._alerts.clear()
        real(self)

    _break(batch.WriteBatch, "flush", flush)


def forget_the_recovery() -> None:
    """A success ends an episode, and no channel is told."""
    real = watching.Watching._tell  # noqa: SLF001 - a bug breaks in

    def tell(look: Any, episode: Any, *facts: Any, **more: Any) -> None:
        if episode.kind != "recovery":
            real(look, episode, *facts, **more)

    _break(watching.Watching, "_tell", tell)


def _break(owner: Any, name: str, bug: object) -> None:
    setattr(owner, name, bug)


BUGS: dict[str, Callable[[], None]] = {
    bug.__name__: bug
    for bug in (settle_before_the_answer, change_the_id_on_a_retry, drop_the_alerts, forget_the_recovery)
}
