"""Executors of a program's own: by the prefix of a kind, for jobs whose action is an `Action`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from app.scene import NEVER, ended, play, soon
from foliot import Foliot, Outcome
from foliot.errors import InvalidJobError, InvalidPolicyError
from foliot.executors.place import ExecutorPlace
from foliot.executors.shell.commands import commands_in
from foliot.executors.task import TaskExecutor
from foliot.model.job import Action, Job
from foliot.protocols import AskToEnd, OnEnd, Result, Run
from foliot.testing.stepper import Stepper


class Bell(TaskExecutor):
    """Rings, and notes what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.rung: list[tuple[str, Any]] = []
        self.is_closed = False

    async def execute(self, run: Run) -> Result:
        self.rung.append((run.kind, dict(run.data)))
        return Result(Outcome.SUCCEEDED, output="ding")

    async def close(self) -> None:
        self.is_closed = True


def with_bell(url: str, bell: Any) -> Foliot:
    return Foliot(url, name="test", executors={"bell": bell})


def test_a_job_may_have_an_action_of_a_kind_of_ones_own(url: str) -> None:
    async def scene() -> None:
        bell = Bell()
        app = with_bell(url, bell)
        async with app:
            await app.schedule("low", soon(), Action(kind="bell", data={"times": 2}))
            await app.schedule_many([("high", soon(), Action(kind="bell:high"), None)])
            attempts = await ended(app, count=2)
            assert {await app.log(attempt) for attempt in attempts} == {"ding"}
            assert [status.problem for status in await app.jobs()] == [None, None]
        assert sorted(bell.rung) == [("bell", {"times": 2}), ("bell:high", {})]
        assert not bell.is_closed, "an executor that was given belongs to the program"

    play(scene)


def test_an_executor_is_made_at_each_start_on_the_engines_loop_and_closed_at_its_end() -> None:
    made: list[Bell] = []
    loops: list[Any] = []

    def make(place: ExecutorPlace) -> Bell:
        assert place.lease.total_seconds() == 30
        assert place.clock.now() is not None
        loops.append((asyncio.get_running_loop(), place.jobs_loop))
        made.append(Bell())
        return made[-1]

    async def scene() -> None:
        app = with_bell("memory://", make)
        for _ in range(2):
            async with app:
                await app.schedule("ring", soon(), Action(kind="bell"))
                await ended(app)
        assert [len(bell.rung) for bell in made] == [1, 1]
        assert all(bell.is_closed for bell in made)
        assert all(engine is not jobs and jobs is asyncio.get_running_loop() for engine, jobs in loops)

    play(scene)


def test_a_close_that_fails_is_told_and_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Rusty(Bell):
        async def close(self) -> None:
            raise OSError("stuck")

    async def scene() -> None:
        async with Foliot("memory://", executors={"a": lambda _: Rusty(), "bell": lambda _: bell}):
            pass
        assert bell.is_closed

    bell = Bell()
    play(scene)
    assert "executor_failed kind=a" in caplog.text


def test_functions_run_beside_other_kinds_and_may_be_named_as_actions(url: str) -> None:
    async def scene() -> None:
        told: list[int] = []
        app = with_bell(url, Bell())

        @app.action
        async def note(number: int) -> None:
            told.append(number)

        async with app:
            await app.schedule("a", soon(), note, payload={"number": 1})
            await app.schedule("b", soon(), Action(kind="python:note", data={"number": 2}))
            await ended(app, count=2)
        assert sorted(told) == [1, 2]
        with pytest.raises(InvalidJobError, match="does not fit note"):
            await app.schedule("c", soon(), Action(kind="python:note", data={"nmber": 2}))
        app.close()

    play(scene)


def test_a_kind_without_an_executor_is_refused_by_the_names_of_job_and_known_kinds(app: Foliot) -> None:
    app.job(NEVER, name="work")(lambda: None)
    other = with_bell("memory://", Bell())
    other.job(NEVER, name="work")(lambda: None)
    for refusing, known in ((app, "http, python:work"), (other, "http, bell, python:work")):
        with pytest.raises(InvalidJobError, match=r"job ring: invalid action gong:low") as refused:
            refusing.wait(refusing.schedule("ring", NEVER, Action(kind="gong:low")))
        assert str(refused.value).startswith(
            f"job ring: invalid action gong:low: has no executor in this program, which has some for {known}"
        )
        assert refused.value.hint == "give it one: Foliot(…, executors={'gong': …})"
        assert [status.name for status in refusing.wait(refusing.jobs())] == []
    other.close()


def test_an_action_with_a_payload_or_with_data_that_cannot_be_stored_is_refused() -> None:
    app = with_bell("memory://", Bell())
    with pytest.raises(InvalidJobError, match=r"job a: invalid payload .* is for functions"):
        app.wait(app.schedule("a", NEVER, Action(kind="bell"), payload={"times": 2}))
    with pytest.raises(InvalidJobError, match=r"job a: invalid action.data.x "):
        app.wait(app.schedule("a", NEVER, Action(kind="bell", data={"x": object()})))
    app.close()


def test_a_kind_that_another_program_schedules_is_a_problem_here(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db"
    one, other = with_bell(url, Bell()), Foliot(url, name="test")
    one.wait(one.schedule("ring", NEVER, Action(kind="bell")))
    [status] = other.wait(other.jobs())
    assert status.problem == "its action bell is not registered in this program"
    assert "bell is not registered" in str(other.wait(other.why("ring")))
    assert "bell" not in str(one.wait(one.why("ring")))
    one.close()
    other.close()


@pytest.mark.parametrize(
    ("executors", "reason"),
    [
        ([], "must be executors by the prefix of a kind"),
        ({"bell": object()}, "is no executor, and makes none"),
        ({"bell": None}, "is no executor, and makes none"),
        ({"python": Bell()}, "built in"),
        ({"http": Bell()}, "built in"),
        ({"shell": Bell()}, "repositories that are followed"),
        ({"code": Bell()}, "revisions of programs"),
        ({"declarative": Bell()}, "declarative schedulers"),
        ({"": Bell()}, "must be a word"),
        ({"bell:": Bell()}, "must be a word"),
        ({7: Bell()}, "must be a word"),
    ],
    ids=range(11),
)
def test_executors_that_cannot_be_are_refused_where_they_are_written(executors: Any, reason: str) -> None:
    with pytest.raises(InvalidPolicyError, match=reason):
        Foliot("memory://", executors=executors)


def test_what_is_made_and_is_no_executor_is_refused_at_the_start() -> None:
    async def scene() -> None:
        with pytest.raises(InvalidPolicyError, match=r"executors\.bell.* was made, and is no executor"):
            async with with_bell("memory://", lambda _: None):
                pass

    play(scene)


def test_a_picky_executor_of_a_prefix_leaves_jobs_to_other_nodes() -> None:
    class Picky(Bell):
        passed: tuple[str, ...] = ()

        def fits(self, job: Job) -> bool:
            return job.action.kind == "bell:mine"

        def on_passed_over(self, jobs: Sequence[Job]) -> None:
            self.passed += tuple(job.name for job in jobs)

    async def scene() -> None:
        bell = Picky()
        async with with_bell("memory://", bell) as app:
            await app.schedule("theirs", soon(), Action(kind="bell:theirs"))
            await app.schedule("mine", soon(), Action(kind="bell:mine"))
            await ended(app, "mine")
            assert set(bell.passed) <= {"theirs"}
            assert await app.history("theirs") == ()
        assert bell.rung == [("bell:mine", {})]

    play(scene)


def test_an_executor_that_raises_at_the_start_of_a_run_fails_the_run() -> None:
    class Broken:
        def start(self, run: Run, on_end: OnEnd) -> AskToEnd:
            del run, on_end
            raise OSError("no bell")

    async def scene() -> None:
        async with with_bell("memory://", Broken()) as app:
            await app.schedule("ring", soon(), Action(kind="bell"))
            [attempt] = await ended(app)
        assert (attempt.outcome, attempt.error) == (Outcome.FAILED, "OSError: no bell")

    play(scene)


def test_shell_commands_are_an_executor_like_any_other(tmp_path: Path) -> None:
    folder = tmp_path.resolve()

    async def scene() -> None:
        app = Foliot("memory://", executors={"command": commands_in(folder)})
        async with app:
            say = Action(kind="command", data={"run": "pwd; echo $WHO", "env": {"WHO": "world"}})
            await app.schedule("say", soon(), say)
            [attempt] = await ended(app)
            assert (attempt.outcome, attempt.exit_code) == (Outcome.SUCCEEDED, 0)
            assert await app.log(attempt) == f"{folder}\nworld\n"

    play(scene)


def test_a_stepped_application_has_its_executors() -> None:
    bell = Bell()
    app = with_bell("memory://", bell)
    with Stepper(app) as time:
        app.wait(app.schedule("ring", "0 * * * *", Action(kind="bell")))
        time.advance(hours=3)
        assert len(time.runs("ring")) == len(bell.rung) == 3
