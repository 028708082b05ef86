"""Foliot's own jobs, which send alerts, are neither listed nor counted among a person's jobs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from foliot.model.alert import OWN_SOURCE
from foliot.model.query import JobOrder, JobState
from foliot.model.view import Overview
from foliot.operations.own import count_jobs, is_own
from foliot.protocols import JobQuery, JobView
from operations.desk import HOURLY, Desk
from operations.scene import scenario

OWN = [replace(HOURLY, source=OWN_SOURCE, name=name) for name in ("mail", "ops", "web")]
OTHERS = [replace(HOURLY, source="a", name="first"), replace(HOURLY, source="z", name="last")]
KEYS = ["a/first", "shop/hourly", "z/last"]


def keys(page: tuple[JobView, ...]) -> list[str]:
    return [view.key for view in page]


@scenario
async def test_a_person_with_three_jobs_sees_three(desk: Desk) -> None:
    await desk.declare(*OWN[:1])
    for job in (*OWN[1:], *OTHERS):
        await desk.declare(job)
    assert (await desk.store.overview()).jobs == 4 + len(OTHERS)
    seen = await desk.ops.overview()
    assert (seen.jobs, seen.paused, seen.failing, seen.open_attempts) == (3, 0, 0, 0)
    assert keys(await desk.ops.jobs()) == KEYS
    assert keys(await desk.ops.jobs(OWN_SOURCE)) == [job.key for job in OWN]
    named = JobQuery(keys=frozenset((OWN[0].key, "a/first")))
    assert keys(await desk.ops.list_jobs(named)) == ["a/first", OWN[0].key]


@scenario
async def test_a_page_is_as_long_as_asked_for(desk: Desk) -> None:
    for job in (*OWN, *OTHERS):
        await desk.declare(job)
    for limit in (1, 2, 3, 4):
        for order in JobOrder:
            found: list[str] = []
            query = JobQuery(limit=limit, order=order)
            while True:
                page = await desk.ops.list_jobs(query)
                found += keys(page)
                if page.next is None:
                    break
                assert len(page) == limit
                query = query._replace(after=page.next)
            assert sorted(found) == KEYS


@scenario
async def test_what_is_paused_among_them_is_not_counted_either(desk: Desk) -> None:
    await desk.declare(*OWN[:1])
    await desk.ops.pause(OWN[0].key)
    await desk.ops.pause("hourly")
    assert (await desk.ops.overview()).paused == 1
    assert keys(await desk.ops.jobs(state=JobState.PAUSED)) == ["shop/hourly"]


@scenario
async def test_no_count_is_negative_when_something_changes_between_two_looks(desk: Desk) -> None:
    await desk.declare(*OWN[:1])
    before = await desk.store.overview()
    await desk.ops.pause(OWN[0].key)

    class Late:
        async def overview(self) -> Overview:
            return before

        def __getattr__(self, name: str) -> Any:
            return getattr(desk.store, name)

    assert (await count_jobs(Late())).paused == 0


@pytest.mark.parametrize(("key", "is_hidden"), [("foliot.alerts/x", False), ("foliot.alertsx/x", False)])
def test_what_cannot_be_read_is_shown(key: str, *, is_hidden: bool) -> None:
    assert is_own(JobView(key, None)) is is_hidden
