"""Several schedulers of one namespace, alive at the same time, with the same list and with different ones."""

from __future__ import annotations

import asyncio
import signal
import sys
import textwrap
from pathlib import Path

import pytest

from doors.declarative.scene import HOUR, MINUTE, SECOND, Stage, crash, staged
from foliot.doors.declarative import TaskRunFailed, read_tasks
from programs import PATIENCE, Program

LATER = "0 0 1 1 *"


@staged
async def test_with_the_same_list_each_occurrence_runs_once(stage: Stage) -> None:
    for _ in range(3):
        await stage.started(stage.task("a"), stage.task("b", "1,3 12 * * *"))
    await stage.passes(3 * MINUTE)
    assert stage.times("a") == ["12:00", "12:01", "12:02", "12:03"]
    assert stage.times("b") == ["12:01", "12:03"]


@staged
async def test_what_another_living_scheduler_declares_is_not_dropped_and_runs_there(stage: Stage) -> None:
    """Old and new of a program, while one replaces the other."""
    old = await stage.started(stage.task("both"), stage.task("old"))
    new = await stage.started(stage.task("both"), stage.task("new"))
    assert sorted(await read_tasks(stage.store)) == ["both", "new", "old"]
    await stage.passes(2 * MINUTE)
    for name in ("both", "old", "new"):
        assert stage.times(name) == ["12:00", "12:01", "12:02"]
    assert not any(isinstance(event, TaskRunFailed) for event in stage.told)
    ran_by = {(event.task, event.scheduler) for event in stage.told if hasattr(event, "task")}
    assert len({scheduler for task, scheduler in ran_by if task == "old"}) == 1
    assert len({scheduler for task, scheduler in ran_by if task == "new"}) == 1

    await old.stop()
    await stage.passes(2 * MINUTE)
    assert stage.times("old")[-1] == "12:02"  # nobody is left who could call it
    assert stage.times("both")[-1] == stage.times("new")[-1] == "12:04"
    await new.stop()
    await stage.started(stage.task("both"), stage.task("new"))
    assert sorted(await read_tasks(stage.store)) == ["both", "new"]
    await stage.passes(MINUTE)
    assert stage.times("both")[-1] == stage.times("new")[-1] == "12:05"


@staged
async def test_what_was_left_to_another_is_run_by_whoever_registers_it_next(stage: Stage) -> None:
    old = await stage.started(stage.task("a"), stage.task("b"))
    new = await stage.started(stage.task("a"))
    await old.stop()
    await stage.passes(2 * MINUTE)
    await new.stop()
    await stage.started(stage.task("a"), stage.task("b"))
    await stage.passes(MINUTE)
    # It was never dropped: its history is there, and what was missed meanwhile is one run.
    assert stage.times("b") == ["12:00", "12:02", "12:03"]


@staged
async def test_the_later_word_decides_about_a_task_that_both_have(stage: Stage) -> None:
    await stage.started(stage.task("a", LATER, SECOND), stage.task("old", LATER))
    await stage.started(stage.task("a", "1 12 * * *", HOUR))
    task = await stage.stored("a")
    assert (task.cron, task.retry_delay) == ("1 12 * * *", HOUR)
    await stage.passes(2 * MINUTE)
    assert stage.times("a") == ["12:01"]


@staged
async def test_what_only_a_dead_scheduler_had_is_dropped_when_its_lease_has_run_out(stage: Stage) -> None:
    """Here nothing proves its death at once; whoever lives sees to it."""
    await stage.started(stage.task("a"), stage.task("b"))
    await crash()
    stage.clock._waiting.clear()
    scheduler = await stage.started(stage.task("a"))
    assert sorted(await read_tasks(stage.store)) == ["a", "b"]
    await stage.passes(2 * MINUTE)
    assert sorted(await read_tasks(stage.store)) == ["a"]
    assert stage.times("b") == ["12:00"]
    await scheduler.stop()
    await stage.started(stage.task("a"), stage.task("b", "30 * * * *"))
    assert (await stage.stored("b")).last_attempt_at is None  # it is forgotten


@staged
async def test_when_one_of_three_dies_the_others_take_over_what_they_share_with_it(stage: Stage) -> None:
    await stage.started(stage.task("a"))
    await stage.started(stage.task("a"), stage.task("b"))
    third = await stage.started(stage.task("b"), stage.task("c"))
    await third.stop()
    await stage.passes(2 * MINUTE)
    assert stage.times("a")[-1] == stage.times("b")[-1] == "12:02"
    assert stage.times("c") == ["12:00"]


@staged
async def test_nobody_claims_what_it_has_no_callback_for_among_three(stage: Stage) -> None:
    lists = ["abc", "bcd", "cda"]
    schedulers = [await stage.started(*(stage.task(name) for name in names)) for names in lists]
    await stage.passes(2 * MINUTE)
    for name in "abcd":
        assert stage.times(name) == ["12:00", "12:01", "12:02"]
    assert not any(isinstance(event, TaskRunFailed) for event in stage.told)
    for scheduler in schedulers:
        await scheduler.stop()
    await stage.started(stage.task("c"))
    assert list(await read_tasks(stage.store)) == ["c"]


@staged
async def test_those_who_start_at_once_with_different_lists_lose_nothing(stage: Stage) -> None:
    one, other = stage.scheduler(), stage.scheduler()
    await asyncio.gather(
        one.initialize([stage.task("a", "1 12 * * *")]), other.initialize([stage.task("b", "1 12 * * *")])
    )
    await stage.passes(MINUTE)
    assert sorted(await read_tasks(stage.store)) == ["a", "b"]
    assert (stage.times("a"), stage.times("b")) == (["12:01"], ["12:01"])


@staged
async def test_a_start_that_fails_or_has_no_tasks_leaves_no_living_node(stage: Stage) -> None:
    scheduler = stage.scheduler()
    stage.store.failures["jobs"] = OSError("no")
    with pytest.raises(Exception, match="reading the persisted tasks"):
        await scheduler.initialize([stage.task()])
    stage.store.failures.clear()
    assert await stage.store.nodes() == ()
    await scheduler.initialize([])
    await scheduler.stop()
    assert await stage.store.nodes() == ()


PROGRAM = textwrap.dedent(
    """
    import asyncio, sys
    from datetime import timedelta
    from foliot.doors.declarative import Scheduler

    def task(name):
        async def callback():
            print("called", name, flush=True)
        return name, "* * * * *", callback, timedelta(minutes=5)

    async def main():
        await Scheduler("sqlite:///tasks.db").initialize([task(name) for name in sys.argv[1]])
        print("running", flush=True)
        await asyncio.sleep(600)

    asyncio.run(main())
    """
)


@pytest.mark.req("DECL-24")
def test_what_only_a_dead_process_declared_is_dropped_at_once(tmp_path: Path) -> None:
    """Its lease goes on for a while, but its lock proves it dead."""
    for names in ("ab", "a"):
        with Program(tmp_path, sys.executable, "-c", PROGRAM, names) as program:
            program.read_until("running")
            program.end(signal.SIGKILL)
    assert jobs(tmp_path) == ["declarative/a"]


def test_living_processes_with_different_lists_each_run_their_own(tmp_path: Path) -> None:
    with Program(tmp_path, sys.executable, "-c", PROGRAM, "ab") as old:
        old.read_until("running")
        with Program(tmp_path, sys.executable, "-c", PROGRAM, "ac") as new:
            new.read_until("called c")
            assert jobs(tmp_path) == [f"declarative/{name}" for name in "abc"]
            assert "called b" not in new.lines
            new.end(signal.SIGKILL)
        assert old.process.poll() is None
        assert old.end(signal.SIGKILL) != PATIENCE


def jobs(folder: Path) -> list[str]:
    from foliot import Foliot  # noqa: PLC0415 - only here: how another program sees the file

    observer = Foliot(f"sqlite:///{folder}/tasks.db", name="declarative")
    try:
        return [f"declarative/{status.name}" for status in observer.wait(observer.jobs())]
    finally:
        observer.close()
