"""Bugs to be planted into what tells of jobs: the decision, the outbox, and the delivery."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from foliot.alerts.channel import SENT, Sent
from foliot.app.alerts import AlertsPart
from foliot.app.delivery import Delivery
from foliot.engine.watching import Watching
from foliot.model.alert import Alert, AlertKind
from foliot.model.attempt import Outcome
from foliot.model.decision import Decision
from foliot.model.job import Job
from foliot.model.outbox import AlertState, ChannelAlert
from foliot.model.policy import Notify
from foliot.model.watch import Episode
from foliot.protocols import Result, Run
from foliot.stores.memory import MemoryStore
from foliot_proof.history.report import Code
from foliot_proof.simulation.faulty_store import FaultyStore
from foliot_proof.simulation.simulate import LEASE, MakeStore
from simulation.planted import Bug, usual_store

# -- the outbox --------------------------------------------------------------------------------------


def write_alerts_after_the_decision(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """Alerts are written by the node, when it has the answer: what dies in between tells nobody."""
    apart: dict[object, list[ChannelAlert]] = {}
    stores: list[MemoryStore] = []

    class Apart(MemoryStore):
        def _write(self, job: Job, decision: Decision) -> None:
            apart.setdefault(asyncio.current_task(), []).extend(decision.alerts)
            super()._write(job, decision._replace(alerts=()))

    def make_store(clock: Any) -> MemoryStore:
        stores.append(Apart(clock, lease=LEASE))
        return stores[-1]

    real = FaultyStore._through

    def through(
        store: FaultyStore, verb: str, call: Callable[..., Awaitable[Any]]
    ) -> Callable[..., Awaitable[Any]]:
        act = real(store, verb, call)

        async def act_and_write(*arguments: Any, **options: Any) -> Any:
            apart.pop(asyncio.current_task(), None)
            answer = await act(*arguments, **options)
            stores[-1]._outbox.add(apart.pop(asyncio.current_task(), []))
            return answer

        return act_and_write

    monkeypatch.setattr(FaultyStore, "_through", through)
    return make_store


def drop_alerts_of_the_lost(_: pytest.MonkeyPatch) -> MakeStore:
    """The verb that buries nodes does not write alerts."""

    class Terse(MemoryStore):
        is_recovering = False

        async def recover(self, *arguments: Any) -> Any:
            self.is_recovering = True
            try:
                return await super().recover(*arguments)
            finally:
                self.is_recovering = False

        def _write(self, job: Job, decision: Decision) -> None:
            super()._write(job, decision._replace(alerts=() if self.is_recovering else decision.alerts))

    return lambda clock: Terse(clock, lease=LEASE)


# -- the delivery ------------------------------------------------------------------------------------


def settle_before_the_answer(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """A message is marked as sent, and then it is sent."""

    async def execute(delivery: Delivery, run: Run) -> Result:
        del run
        rows = await delivery._store.waiting(delivery._name, 5)
        await delivery._settle(rows, AlertState.SENT, None)
        for row in rows:
            await delivery.channel.send([row.alert])
        return Result(Outcome.SUCCEEDED)

    monkeypatch.setattr(Delivery, "execute", execute)
    return usual_store


def take_every_answer_for_a_yes(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """A channel that could not be reached is not asked again."""

    async def send(channel: Any, messages: Sequence[Alert]) -> Sent:
        await channel.send(messages)
        return SENT

    _send_by(monkeypatch, send)
    return usual_store


def change_the_id_on_a_retry(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """Each try has an id of its own."""
    tries = count()

    async def send(channel: Any, messages: Sequence[Alert]) -> Sent:
        number = next(tries)
        answer: Sent = await channel.send([alert._replace(id=f"{alert.id}-{number}") for alert in messages])
        return answer

    _send_by(monkeypatch, send)
    return usual_store


def _send_by(
    monkeypatch: pytest.MonkeyPatch, send: Callable[[Any, Sequence[Alert]], Awaitable[Sent]]
) -> None:
    """Put something between every delivery and its channel."""
    real = Delivery.__init__

    def init(delivery: Delivery, name: str, channel: Any, store: Any, *others: Any) -> None:
        between: Any = SimpleNamespace(rate=channel.rate, send=partial(send, channel))
        real(delivery, name, between, store, *others)

    monkeypatch.setattr(Delivery, "__init__", init)


def ask_for_one_run_only(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """A node asks for a delivery once; what is decided later waits for ever."""
    real = AlertsPart._ask_for_runs

    async def ask(part: AlertsPart, host: Any) -> None:
        if not getattr(part, "has_asked", False) and await host.store.waiting_channels():
            part.has_asked = True  # type: ignore[attr-defined]  # a bug needs a place, too
            await real(part, host)

    monkeypatch.setattr(AlertsPart, "_ask_for_runs", ask)
    return usual_store


# -- the decision ------------------------------------------------------------------------------------


def forget_the_recovery(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """A success ends an episode, and nobody is told."""
    _tell_only(monkeypatch, lambda episode: episode.kind is not AlertKind.RECOVERY)
    return usual_store


def forget_what_was_missed(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """Occurrences that were not taken in time are skipped in silence."""
    monkeypatch.setattr(Watching, "_see_skips", lambda _: None)
    return usual_store


def forget_slow_runs(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """A run may take as long as it likes."""
    monkeypatch.setattr(Watching, "_see_slow", lambda *_: None)
    return usual_store


def forget_silent_jobs(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """A job without success is not told of."""
    monkeypatch.setattr(Watching, "_see_silence", lambda _: None)
    return usual_store


def _tell_only(monkeypatch: pytest.MonkeyPatch, is_told: Callable[[Episode], bool]) -> None:
    real = Watching._tell

    def tell(look: Watching, episode: Episode, *facts: Any, **more: Any) -> None:
        if is_told(episode):
            real(look, episode, *facts, **more)

    monkeypatch.setattr(Watching, "_tell", tell)


def tell_every_failed_run(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """Each run that fails begins an episode of its own."""
    real = Watching._see_failure

    def see_failure(look: Watching, attempt: Any) -> None:
        look._episodes.pop(AlertKind.FAILURE, None)
        real(look, attempt)

    monkeypatch.setattr(Watching, "_see_failure", see_failure)
    return usual_store


def tell_of_attempts(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """An attempt that fails is told, though its run is tried again."""
    monkeypatch.setattr(Watching, "_goes_on", lambda *_: False)
    return usual_store


def tell_too_soon(monkeypatch: pytest.MonkeyPatch) -> MakeStore:
    """The first failure is told, however many are asked for."""
    real = Watching.__init__

    def init(look: Watching, draft: Any, notify: Any) -> None:
        real(look, draft, notify)
        look._notify = Notify(notify.to, on=notify.on, remind=notify.remind)

    monkeypatch.setattr(Watching, "__init__", init)
    return usual_store


ALERT_BUGS = [
    Bug(write_alerts_after_the_decision, {Code.ALERT_LOST}, first_seed=3),
    Bug(drop_alerts_of_the_lost, {Code.ALERT_LOST}, first_seed=3),
    Bug(settle_before_the_answer, {Code.ALERT_LOST}, first_seed=2),
    Bug(take_every_answer_for_a_yes, {Code.ALERT_LOST}, first_seed=2),
    Bug(change_the_id_on_a_retry, {Code.ALERT_RENAMED}, first_seed=2),
    Bug(ask_for_one_run_only, {Code.ALERT_LOST}, first_seed=2),
    Bug(forget_the_recovery, {Code.ALERT_LOST}, first_seed=2),
    Bug(forget_what_was_missed, {Code.ALERT_LOST}, first_seed=3),
    Bug(forget_slow_runs, {Code.ALERT_LOST}, first_seed=3),
    Bug(forget_silent_jobs, {Code.ALERT_LOST}, first_seed=3),
    Bug(tell_every_failed_run, {Code.ALERT_REPEATED}, first_seed=2),
    Bug(tell_of_attempts, {Code.ALERT_INVENTED}, first_seed=3),
    Bug(tell_too_soon, {Code.ALERT_INVENTED}, first_seed=12),
]
