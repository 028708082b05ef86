"""Groups of an application: at most so many of a group run, whoever runs them."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from app.scene import NEVER, ended, play
from foliot import Foliot
from foliot.clock import SystemClock
from foliot.errors import FoliotError, InvalidJobError, InvalidPolicyError
from foliot.testing.stepper import Stepper
from foliot.why import Verdict

MOMENT = timedelta(milliseconds=5)


def test_of_a_group_only_as_many_run_as_may(url: str) -> None:
    app = Foliot(url, name="test", groups={"db": 2})
    at_once, most = 0, 0

    async def work() -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await SystemClock().wait(MOMENT)
        at_once -= 1

    for number in range(8):
        app.job(NEVER, name=f"job-{number}", group="db")(work)

    async def scene() -> None:
        async with app:
            keys = [await app.trigger(f"job-{number}") for number in range(8)]
            await asyncio.gather(*(app.finished(key) for key in keys))

    play(scene)
    app.close()
    assert most <= 2


def test_why_tells_what_a_job_waits_for(url: str) -> None:
    app = Foliot(url, name="test", groups={"db": 1})
    release = asyncio.Event()

    @app.job(NEVER, group="db")
    async def holds() -> None:
        await release.wait()

    @app.job(NEVER, group="db")
    async def waits() -> None: ...

    async def scene() -> None:
        async with app:
            first = await app.trigger("holds")
            while (await app.why("holds")).verdict is not Verdict.RUNS:
                await SystemClock().wait(MOMENT)
            second = await app.trigger("waits")
            why = await app.why("waits")
            assert "waits for group db (1 of 1 running)" in str(why)
            assert why.verdict is Verdict.WAITS
            release.set()
            await app.finished(first)
            await app.finished(second)

    play(scene)
    app.close()


def test_two_programs_share_a_group(tmp_path: Path) -> None:
    """The limit holds over all nodes of the store."""
    url = f"sqlite:///{tmp_path}/jobs.db"
    one, other = (Foliot(url, name=name, groups={"db": 1}, poll="50ms") for name in ("one", "other"))
    at_once, most = 0, 0

    async def work() -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await SystemClock().wait(MOMENT)
        at_once -= 1

    for app in (one, other):
        for number in range(4):
            app.job(NEVER, name=f"job-{number}", group="db")(work)

    async def scene() -> None:
        async with one, other:
            keys = [(app, await app.trigger(f"job-{n}")) for app in (one, other) for n in range(4)]
            await asyncio.gather(*(app.finished(key) for app, key in keys))

    play(scene)
    for app in (one, other):
        app.close()
    assert most == 1


def test_an_application_that_is_stepped_has_its_groups() -> None:
    app = Foliot("memory://", groups={"db": 1})
    starts: list[str] = []

    for name in ("a", "b"):

        async def work(name: str = name) -> None:
            starts.append(name)
            await asyncio.sleep(30)  # noqa: TID251 - as a program does

        app.job("0 * * * *", name=name, group="db")(work)

    with Stepper(app, at="2026-01-01T00:30:00Z") as time:
        time.advance(minutes=30, seconds=1)
        assert starts == ["a"]
        time.advance(seconds=40)
        assert starts == ["a", "b"]


@pytest.mark.parametrize(
    "groups", [{"db": 0}, {"db": True}, {"db": "1"}, {"": 1}, {"a\nb": 1}, ["db"], 3, None]
)
def test_limits_that_are_none_are_refused(groups: Any) -> None:
    with pytest.raises(InvalidPolicyError, match="groups"):
        Foliot("memory://", groups=groups)


def test_a_job_of_a_group_without_a_limit_is_refused_where_it_is_declared(app: Foliot) -> None:
    with pytest.raises(InvalidJobError, match="group") as caught:

        @app.job(NEVER, group="db")
        async def work() -> None: ...

    assert 'Foliot(groups={"db": 1})' in (caught.value.hint or "")

    async def scene() -> None:
        with pytest.raises(InvalidJobError, match="has no limit"):
            await app.schedule("x", NEVER, "work", group="db")

    play(scene)


@pytest.mark.parametrize("group", ["", "a\nb", 5, "x" * 201])
def test_what_cannot_be_a_groups_name_is_refused(group: Any, app: Foliot) -> None:
    with pytest.raises(FoliotError, match="group"):
        app.job(NEVER, name="x", group=group)


def test_a_job_that_is_scheduled_has_a_group_too(url: str) -> None:
    app = Foliot(url, name="test", groups={"db": 1})

    @app.action
    async def work() -> None: ...

    async def scene() -> None:
        async with app:
            await app.schedule("x", NEVER, work, group="db")
            await app.trigger("x")
            assert len(await ended(app, "x")) == 1

    play(scene)
    app.close()
