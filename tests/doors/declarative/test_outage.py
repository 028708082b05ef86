"""A store that was away for longer than a lease and proves no deaths: who starts then buries nobody alive."""

from __future__ import annotations

from datetime import timedelta

from doors.declarative.scene import HOUR, MINUTE, NOON, SECOND, AskedStore, Stage, crash, staged
from foliot.doors.declarative import Scheduler, read_tasks
from foliot.errors import StoreUnavailableError
from foliot.protocols import Traits

LEASE = 30 * SECOND
VERBS = ("renew", "claim", "finish", "recover", "wakes", "held", "prune", "nodes", "revision")


def test_who_lives_is_not_buried_by_one_who_starts_after_an_outage() -> None:
    @staged
    async def play(stage: Stage) -> None:
        stage.takes["a"] = HOUR
        cut_off = AskedStore(stage.raw, stage.clock)
        cut_off.traits = stage.store.traits = Traits()  # as on a server
        old = Scheduler(cut_off, clock=stage.clock, listeners=[stage.told.append])
        await old.initialize([stage.task("a"), stage.task("b", "0 0 1 1 *")])
        await stage.passes(SECOND)
        assert stage.times() == ["12:00"]

        cut_off.failures.update(dict.fromkeys(VERBS, StoreUnavailableError("renew", "the cable is out")))
        await stage.passes(LEASE + 5 * SECOND)
        started = stage.clock.now()
        new = stage.scheduler()
        starting = stage.begin(new.initialize([stage.task("a")]))
        await stage.passes(2 * SECOND)
        cut_off.failures.clear()
        await stage.passes(5 * MINUTE)

        assert starting.done()
        assert started - NOON > LEASE
        assert stage.times() == ["12:00"], "its callback runs on, and nobody starts it a second time"
        assert sorted(await read_tasks(stage.store)) == ["a", "b"], "what only it has is not dropped"

    play(Stage(None))


def test_what_a_dead_one_left_is_restarted_and_dropped_soon_after_the_next_start() -> None:
    @staged
    async def play(stage: Stage) -> None:
        stage.store.traits = Traits()
        stage.takes["a"] = HOUR
        await stage.started(stage.task("a", "0 12 * * *"), stage.task("b", "0 0 1 1 *"))
        await crash()
        stage.clock._waiting.clear()
        stage.takes.clear()
        await stage.passes(2 * LEASE)

        began = stage.clock.now()
        starting = stage.begin(stage.scheduler().initialize([stage.task("a", "0 12 * * *")]))
        await stage.passes(20 * SECOND)

        assert starting.done()
        assert sorted(await read_tasks(stage.store)) == ["a"], "nobody has it any more"
        assert [at - began <= timedelta(seconds=20) for _, at in stage.starts[1:]] == [True]

    play(Stage(None))


def test_who_starts_while_nobody_is_silent_does_not_wait() -> None:
    @staged
    async def play(stage: Stage) -> None:
        stage.store.traits = Traits()
        await stage.started(stage.task("a"))
        begun = stage.clock.now()
        await stage.started(stage.task("a"))
        assert stage.clock.now() == begun
        assert "SchedulerInitializationCompleted" in stage.names()[-3:]

    play(Stage(None))


def test_who_starts_right_after_a_jump_of_the_stores_clock_buries_nobody() -> None:
    @staged
    async def play(stage: Stage) -> None:
        stage.store.traits = Traits()
        stage.takes["a"] = HOUR
        await stage.started(stage.task("a"), stage.task("b", "0 0 1 1 *"))
        await stage.passes(SECOND)
        stage.clock.set_by(HOUR)

        starting = stage.begin(stage.scheduler().initialize([stage.task("a")]))
        await stage.passes(MINUTE)

        assert starting.done()
        assert stage.times() == ["12:00"], "its callback runs on, and nobody starts it a second time"
        assert sorted(await read_tasks(stage.store)) == ["a", "b"], "what only it has is not dropped"

    play(Stage(None))
