"""Two revisions of a program on one store, as while it is replaced node by node."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from app.scene import play
from foliot import Foliot
from foliot.clock import SystemClock
from foliot.engine import reconciler
from foliot.wiring import open_store

OLD = {"both": "0 0 1 1 *", "dropped": "0 0 1 2 *"}
NEW = {"both": "0 0 1 3 *", "added": "0 0 1 4 *"}
LEASE = timedelta(seconds=6)  # longer than a busy disk may take: a node that is late would count as gone
Rules = Mapping[str, str]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/jobs.db"


def program(url: str, rules: Rules) -> Foliot:
    app = Foliot(url, name="shop", lease=LEASE)
    for name, rule in rules.items():
        app.job(rule, name=name)(lambda: None)
    return app


async def rules_of(app: Foliot) -> dict[str, str]:
    return {status.name: status.schedule for status in await app.jobs()}


async def joined(app: Foliot) -> None:
    """Wait until the store knows the node of a program that has begun: it joins beside the program."""
    async with open_store(app.store, SystemClock(), lease=LEASE) as store:
        while not await store.nodes():
            await SystemClock().wait(timedelta(milliseconds=20))


async def until(app: Foliot, rules: Rules) -> None:
    while await rules_of(app) != rules:
        await SystemClock().wait(timedelta(milliseconds=20))


def test_a_newer_revision_removes_nothing_while_an_older_one_lives(url: str) -> None:
    async def scene() -> None:
        async with program(url, OLD) as old:
            await joined(old)
            async with program(url, NEW) as new:
                assert await rules_of(new) == OLD | NEW
                await SystemClock().wait(LEASE * 0.7)  # in which it looks again, twice
                assert await rules_of(new) == OLD | NEW

    play(scene)


def test_what_only_the_older_had_goes_when_the_last_of_it_has_gone(url: str) -> None:
    async def scene() -> None:
        old, new = program(url, OLD), program(url, NEW)
        async with new, old:
            pass
        async with new:
            assert await rules_of(new) == NEW
        async with AsyncExitStack() as others:
            await others.enter_async_context(old)
            await joined(old)
            async with new:
                assert await rules_of(new) == OLD | NEW
                await others.aclose()
                await until(new, NEW)

    play(scene)


def test_an_older_node_that_starts_again_takes_nothing_from_the_newer(url: str) -> None:
    async def scene() -> None:
        old, new = program(url, OLD), program(url, NEW)
        async with new:
            await joined(new)
            async with old:
                assert await rules_of(new) == NEW | OLD  # of what both have, the rule of who came last
            await until(new, NEW)  # and when it has gone, of who is left

    play(scene)


def test_a_job_that_somebody_removed_unknowing_is_declared_again(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> None:
        async with program(url, NEW) as new, program(url, OLD):
            await until(new, NEW | OLD)

    def nobody(*_: object) -> frozenset[str]:
        monkeypatch.undo()  # who started last sees nobody once, as if the other were about to join
        return frozenset()

    monkeypatch.setattr(reconciler, "other_marks", nobody)
    play(scene)


def test_alone_a_program_removes_at_once_what_its_code_has_no_more(url: str) -> None:
    async def scene() -> None:
        async with program(url, OLD):
            pass
        async with program(url, NEW) as new:
            assert await rules_of(new) == NEW

    play(scene)
