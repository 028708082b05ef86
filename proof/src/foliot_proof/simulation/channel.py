"""A channel that keeps its own record of every message, and fails in all the ways in which channels do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta

from foliot.alerts.channel import DEADLINE, SENT, Fate, Sent
from foliot.alerts.rate import Rate
from foliot.model.alert import Alert
from foliot_proof.history.facts import Told
from foliot_proof.simulation.logbook import Logbook
from foliot_proof.simulation.watched import Mood
from foliot_proof.simulation.world import Host, World

_SLOWEST = 20.0  # seconds
_HANGS = 20 * DEADLINE
_PATIENCE = timedelta(minutes=7)


class SimulatedChannel:
    """One channel, as one host has it. `failpoint`: where the host may die, before and after a message."""

    rate = Rate()

    def __init__(  # noqa: PLR0913, PLR0917 - what a channel is made of
        self,
        name: str,
        mood: Mood,
        world: World,
        host: Host,
        logbook: Logbook,
        failpoint: Callable[[str], None],
    ) -> None:
        self._name, self._mood = name, mood
        self._world, self._host, self._logbook = world, host, logbook
        self._failpoint = failpoint

    def describe(self) -> str:
        return "simulated"

    def missing(self) -> str | None:
        return None

    async def send(self, messages: Sequence[Alert]) -> Sent:
        self._failpoint("telling")
        chance, mood = self._world.random, self._mood
        await self._travel(chance.uniform(0.1, _SLOWEST))
        if chance.random() < mood.hangs:
            await self._travel(_HANGS.total_seconds())
        if chance.random() < mood.fails:
            return Sent.again("503")
        if chance.random() < mood.asks_to_wait:
            return Sent.again("429", _PATIENCE)
        answer = Sent.refused("403") if chance.random() < mood.refuses else SENT
        self._note(messages, answer)
        self._failpoint("told")
        await self._travel(chance.uniform(0.1, _SLOWEST))
        return Sent.again("the answer was lost") if chance.random() < mood.loses_answer else answer

    async def _travel(self, seconds: float) -> None:
        await self._host.gate()
        await asyncio.sleep(seconds)  # noqa: TID251 - virtual time
        await self._host.gate()

    def _note(self, messages: Sequence[Alert], answer: Sent) -> None:
        for alert in messages:
            told = Told(
                self._name, alert.job, alert.id, alert.kind, alert.episode or "", alert.reminder,
                alert.run, alert.attempt, alert.at, self._host.name, self._world.now,
                is_refused=answer.fate is Fate.REFUSED,
            )  # fmt: skip
            self._logbook.told.append(told)
            self._world.note(*told)
