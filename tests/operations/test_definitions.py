"""Jobs that are added and changed one by one: checks are asked within the store's step; writes are shared."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from foliot.errors import CommandRefusedError
from foliot.model.state import Record
from foliot.operations import Check, state_of
from foliot.protocols import Changes, JobQuery
from foliot.schedules import Cron
from operations.desk import HOURLY, START, Desk, at
from operations.scene import scenario

MINE = replace(HOURLY, source="api", name="mine")


def only(version: int | None) -> Check:
    def check(key: str, record: Record | None) -> None:
        found = None if record is None else record.state.version
        if found != version:
            raise CommandRefusedError(key, f"it is at version {found}")

    return check


@scenario
async def test_a_preview_tells_what_the_change_does_and_writes_nothing(desk: Desk) -> None:
    changes, before = Changes(declared=(MINE,)), await desk.everything()
    foretold = (await desk.ops.define("api", changes, check=only(None), dry_run=True))[MINE.key]
    assert await desk.everything() == before
    assert (foretold.effect.text, foretold.effect.next_at) == ("api/mine would be declared", at(7))
    done = (await desk.ops.define("api", changes, check=only(None)))[MINE.key]
    assert done.view == foretold.view
    assert done.effect == foretold.effect._replace(is_dry_run=False)
    assert [event.job for event in desk.told] == [MINE.key]
    [stored] = await desk.store.jobs(JobQuery(keys=frozenset((MINE.key,))))
    assert stored.record == done.view.record


@scenario
async def test_what_is_open_and_what_is_dropped_is_told(desk: Desk) -> None:
    await desk.ops.define("api", Changes(declared=(MINE,)), check=only(None))
    await desk.ops.trigger(MINE.key, request="a")
    changes = Changes(removed=("mine",))
    foretold = (await desk.ops.define("api", changes, check=only(1), dry_run=True))[MINE.key]
    assert (foretold.effect.drops, foretold.effect.text) == (("api/mine!a",), "api/mine would be removed")
    done = (await desk.ops.define("api", changes, check=only(1)))[MINE.key]
    assert done.effect.drops == ("api/mine!a",)
    assert state_of(done.view) == ("removed",)
    assert await desk.ops.define("api", Changes(removed=("nothing",)), check=only(None)) == {}


@scenario
async def test_of_many_changes_of_one_version_one_counts_and_the_others_are_refused(desk: Desk) -> None:
    await desk.ops.define("api", Changes(declared=(MINE,)), check=only(None))
    rules = [replace(MINE, schedule=Cron(f"{minute} * * * *")) for minute in range(1, 9)]
    tries = [desk.ops.define("api", Changes(declared=(job,)), check=only(1)) for job in rules]
    found = await asyncio.gather(*tries, return_exceptions=True)
    assert [type(one) for one in found].count(CommandRefusedError) == len(rules) - 1
    [stored] = await desk.store.jobs(JobQuery(keys=frozenset((MINE.key,))))
    assert stored.record is not None
    assert stored.record.state.version == 2


@scenario
async def test_one_that_is_refused_takes_no_other_down(desk: Desk) -> None:
    await desk.ops.define("api", Changes(declared=(MINE,)), check=only(None))
    others = [replace(MINE, name=f"other-{number}") for number in range(3)]
    tries = [desk.ops.define("api", Changes(declared=(job,)), check=only(None)) for job in (MINE, *others)]
    refused, *done = await asyncio.gather(*tries, return_exceptions=True)
    assert isinstance(refused, CommandRefusedError)
    assert [list(one) for one in done if isinstance(one, dict)] == [[job.key] for job in others]
    with pytest.raises(CommandRefusedError):
        await desk.ops.define("api", Changes(declared=(*others, MINE)), check=only(None))
    assert desk.clock.now() == START
