"""What runs write is brought to the store about once a second, in parts, until their logs are closed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta

from foliot.errors import StoreUnavailableError
from foliot.executors.live_output import LiveOutput
from foliot.executors.run_log import RunLog
from foliot.model.attempt import Attempt, AttemptState, Trigger
from foliot.model.job import Action, Job
from foliot.model.output import HEAD, TAIL, OutputPart
from foliot.protocols import Run
from foliot.schedules import Every
from foliot.stores.memory import MemoryStore
from foliot.testing.clock import ManualClock

SECOND = timedelta(seconds=1)
JOB = Job(source="app", name="a", schedule=Every("1h"), action=Action(kind="k"))


class Away(MemoryStore):
    """A store that can be away, and counts what it is asked."""

    is_away = False
    calls = 0

    async def append_outputs(self, parts: Sequence[OutputPart]) -> None:
        self.calls += 1
        if self.is_away:
            raise StoreUnavailableError("append_outputs", "it is away")
        await super().append_outputs(parts)


class Scene:
    """A log that is followed."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = Away(self.clock)
        self.live = LiveOutput()
        self.log = RunLog()
        attempt = Attempt(JOB.key, 1, Trigger.MANUAL, AttemptState.RUNNING, self.clock.now(), "go")
        self.run = Run(JOB, attempt)

    async def stored(self) -> str:
        await self.clock.advance(SECOND)
        output = await self.store.output(*self.run.key)
        return output.text if output else ""


def play(act: object) -> None:
    async def whole() -> None:
        scene = Scene()
        writing = asyncio.ensure_future(scene.live.write_on(scene.store, scene.clock))
        scene.live.follow(scene.run, scene.log)
        await scene.clock.settle()
        await act(scene)  # type: ignore[operator] # a coroutine function
        writing.cancel()

    asyncio.run(whole())


def test_what_is_new_is_written_once_a_second_and_nothing_if_nothing_is_new() -> None:
    async def act(scene: Scene) -> None:
        scene.log("one")
        scene.log("two")
        assert await scene.stored() == "one\ntwo\n"
        assert await scene.stored() == "one\ntwo\n"
        assert scene.store.calls == 1
        scene.log("three")
        assert await scene.stored() == "one\ntwo\nthree\n"
        assert scene.store.calls == 2

    play(act)


def test_a_run_that_is_done_within_a_second_is_not_written() -> None:
    async def act(scene: Scene) -> None:
        scene.log("one")
        scene.log.is_closed = True
        assert await scene.stored() == ""
        assert scene.store.calls == 0
        other = RunLog()
        scene.live.follow(scene.run, other)
        other("two")
        await scene.clock.settle()
        assert await scene.stored() == "two\n"

    play(act)


def test_what_is_written_while_the_store_is_away_comes_with_the_next() -> None:
    async def act(scene: Scene) -> None:
        scene.store.is_away = True
        scene.log("one")
        assert await scene.stored() == ""
        scene.log("two")
        scene.store.is_away = False
        assert await scene.stored() == "one\ntwo\n"

    play(act)


def test_of_a_long_output_the_store_keeps_the_beginning_and_the_end() -> None:
    async def act(scene: Scene) -> None:
        whole = kept = ""
        for number in range(300):
            text = f"{number:04} " * 200
            scene.log.write(text)
            whole += text
            kept = await scene.stored()
            assert len(kept) <= HEAD + TAIL + 4 * len(text) + 100
        assert kept.startswith(whole[:HEAD])
        assert kept.endswith(whole[-TAIL:])

    play(act)


def test_a_thread_may_begin_a_log() -> None:
    async def act(scene: Scene) -> None:
        other = RunLog()
        attempt = scene.run.attempt._replace(request="other")

        def work() -> None:
            scene.live.follow(Run(JOB, attempt), other)
            other("hello")

        await asyncio.to_thread(work)
        await scene.clock.settle()
        await scene.stored()
        output = await scene.store.output(*attempt.key)
        assert output is not None
        assert output.text == "hello\n"

    play(act)
