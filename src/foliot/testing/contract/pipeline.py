"""Pipelines: one name each, changed by one at a time. For stores that the API works on."""

# ruff: noqa: S101, PLR2004 - cases of a test suite: they assert, and compare with what they have set up

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, cast

import pytest

from foliot.errors import InvalidJobError
from foliot.errors_access import PipelineNotFoundError, PipelineTakenError, StaleVersionError
from foliot.model.job import Action
from foliot.model.pipeline import PipelineName, PipelineStatus
from foliot.protocols_access import Pipeline, PipelineQuery, PipelineStore
from foliot.testing.contract.access import prune_all
from foliot.testing.contract.sample import DAY, HOUR, TICK
from foliot.testing.contract.stage import Contract, Stage, scenario

REMOVED = PipelineStatus.REMOVED


def pipelines_of(stage: Stage) -> PipelineStore:
    """The store, by its other seam."""
    store: Any = stage.store
    return cast("PipelineStore", store)


def a_pipeline(stage: Stage, name: str = "p1", **facts: Any) -> Pipeline:
    """A pipeline whose id is its name."""
    usual: dict[str, Any] = {
        "namespace": "sales",
        "layer": "bronze",
        "name": name,
        "action": Action(kind="python:load"),
        "created_at": stage.now,
        "updated_at": stage.now,
    }
    return Pipeline(name, **(usual | facts))


async def listed(stage: Stage, limit: int = 100, **query: Any) -> list[str]:
    """The ids of pipelines, from all pages."""
    found: list[str] = []
    after: str | None = ""
    while after is not None:
        page = await pipelines_of(stage).pipelines(PipelineQuery(after=after, limit=limit, **query))
        assert len(page) <= limit
        found += [one.id for one in page]
        after = page.next
    return found


class PipelineContract(Contract):
    """No two active pipelines have one name, and no change is lost."""

    @scenario
    async def test_a_pipeline_comes_back_as_it_was(self, stage: Stage) -> None:
        store = pipelines_of(stage)
        action = Action(kind="shell", data={"run": "load", "env": {"A": "1"}, "list": [1, None, 2.5]})
        whole = a_pipeline(stage, action=action, description="two\nlines \N{SNOWMAN}", type="sql", version=3)
        await store.add_pipeline(whole)
        assert await store.pipeline("p1") == whole
        assert await store.pipeline_named(whole.full_name) == whole
        assert await store.pipeline("p2") is None
        assert await store.pipeline_named(whole.full_name._replace(layer="silver")) is None

    @scenario
    async def test_an_id_and_a_name_are_taken_once(self, stage: Stage) -> None:
        store, first = pipelines_of(stage), a_pipeline(stage)
        await store.add_pipeline(first)
        for taken in (first._replace(id="p2"), first._replace(name="other"), first):
            with pytest.raises(PipelineTakenError) as refusal:
                await store.add_pipeline(taken)
            assert refusal.value.details["found"] == "p1"
        assert await listed(stage) == ["p1"]
        assert await store.pipeline_named(first.full_name._replace(name="other")) is None
        await store.add_pipeline(first._replace(id="p2", layer="silver"))
        await store.add_pipeline(first._replace(id="p3", namespace="hr"))

    @scenario
    async def test_of_many_who_want_a_name_at_once_one_gets_it(self, stage: Stage) -> None:
        first = a_pipeline(stage)
        async with stage.open_store() as second:
            stores = [pipelines_of(stage), cast("PipelineStore", cast("Any", second))] * 4
            adding = (one.add_pipeline(first._replace(id=f"p{n}")) for n, one in enumerate(stores))
            ends = await asyncio.gather(*adding, return_exceptions=True)
        assert sorted(type(end).__name__ for end in ends) == ["NoneType"] + ["PipelineTakenError"] * 7
        assert len(await listed(stage)) == 1

    @scenario
    async def test_a_change_counts_the_version_and_keeps_what_is_no_part_of_it(self, stage: Stage) -> None:
        store, first = pipelines_of(stage), a_pipeline(stage)
        await store.add_pipeline(first)
        await store.note_pipeline_run("p1", "api/x@2026-01-01T00:00:00Z")
        asked = first._replace(
            description="new", action=Action(kind="http"), created_at=stage.later(DAY), version=77,
            updated_at=stage.later(HOUR), last_run=None, status=REMOVED,
        )  # fmt: skip
        expected = asked._replace(
            created_at=stage.now, version=2, last_run="api/x@2026-01-01T00:00:00Z", status=first.status
        )
        assert await store.change_pipeline(asked, 1) == expected
        assert await store.pipeline("p1") == expected
        assert (await store.change_pipeline(asked)).version == 3

    @scenario
    async def test_a_change_of_another_version_is_refused(self, stage: Stage) -> None:
        store, first = pipelines_of(stage), a_pipeline(stage)
        await store.add_pipeline(first)
        await store.change_pipeline(first._replace(description="second"), 1)
        with pytest.raises(StaleVersionError) as refusal:
            await store.change_pipeline(first, 1)
        assert refusal.value.details["found"] == 2
        with pytest.raises(StaleVersionError):
            await store.remove_pipeline("p1", stage.now, 1)
        assert (await store.pipeline("p1") or first).description == "second"

    @scenario
    async def test_of_many_changes_of_one_version_one_counts(self, stage: Stage) -> None:
        first = a_pipeline(stage)
        await pipelines_of(stage).add_pipeline(first)
        async with stage.open_store() as second:
            stores = [pipelines_of(stage), cast("PipelineStore", cast("Any", second))] * 4
            changes = (one.change_pipeline(first._replace(type=f"t{n}"), 1) for n, one in enumerate(stores))
            ends = await asyncio.gather(*changes, return_exceptions=True)
        assert sorted(type(end).__name__ for end in ends) == ["Pipeline"] + ["StaleVersionError"] * 7
        assert (await pipelines_of(stage).pipeline("p1") or first).version == 2

    @scenario
    async def test_a_pipeline_can_be_renamed_to_a_name_that_is_free(self, stage: Stage) -> None:
        store, first = pipelines_of(stage), a_pipeline(stage)
        await store.add_pipeline(first)
        await store.add_pipeline(a_pipeline(stage, "p2"))
        with pytest.raises(PipelineTakenError):
            await store.change_pipeline(first._replace(name="p2"))
        assert (await store.pipeline("p1") or first).version == 1
        renamed = await store.change_pipeline(first._replace(name="p3"))
        assert await store.pipeline_named(renamed.full_name) == renamed
        assert await store.pipeline_named(first.full_name) is None
        await store.add_pipeline(first._replace(id="p4"))
        assert await listed(stage) == ["p4", "p2", "p1"]

    @scenario
    async def test_a_pipeline_that_is_removed_is_known_by_its_id_and_its_name_is_free(
        self, stage: Stage
    ) -> None:
        store, first, at = pipelines_of(stage), a_pipeline(stage), stage.later(HOUR)
        await store.add_pipeline(first)
        gone = await store.remove_pipeline("p1", at, 1)
        assert gone == first._replace(status=REMOVED, updated_at=at, version=2)
        assert await store.pipeline("p1") == gone
        assert await store.pipeline_named(first.full_name) is None
        with pytest.raises(PipelineNotFoundError):
            await store.change_pipeline(first)
        with pytest.raises(PipelineNotFoundError):
            await store.remove_pipeline("p1", at)
        with pytest.raises(PipelineTakenError):
            await store.add_pipeline(first)
        await store.add_pipeline(first._replace(id="p2"))
        assert await listed(stage) == ["p2"]
        assert await listed(stage, with_removed=True) == ["p1", "p2"]

    @scenario
    async def test_what_is_not_there_cannot_be_changed(self, stage: Stage) -> None:
        store = pipelines_of(stage)
        await store.note_pipeline_run("p1", "a run")
        with pytest.raises(PipelineNotFoundError):
            await store.change_pipeline(a_pipeline(stage))
        with pytest.raises(PipelineNotFoundError):
            await store.remove_pipeline("p1", stage.now)
        assert await listed(stage, with_removed=True) == []

    @scenario
    async def test_pipelines_are_found_by_their_names_in_their_order(self, stage: Stage) -> None:
        store = pipelines_of(stage)
        for namespace, layer, name in (
            ("sales", "gold", "daily"), ("hr", "bronze", "people"), ("sales", "bronze", "orders_daily"),
            ("sales", "bronze", "orders"), ("hr", "gold", "daily"), ("sales2", "bronze", "orders"),
        ):  # fmt: skip
            full = PipelineName(namespace, layer, name)
            await store.add_pipeline(a_pipeline(stage)._replace(id=str(full), **full._asdict()))
        everything = [
            "hr/bronze/people", "hr/gold/daily", "sales/bronze/orders", "sales/bronze/orders_daily",
            "sales/gold/daily", "sales2/bronze/orders",
        ]  # fmt: skip
        for query, expected in (
            ({}, everything),
            ({"namespace": "sales"}, everything[2:5]),
            ({"namespace": "sales", "layer": "bronze"}, everything[2:4]),
            ({"namespace": "sales", "layer": "gold"}, [everything[4]]),
            ({"layer": "gold"}, [everything[1], everything[4]]),
            ({"search": "DAILY"}, [everything[1], everything[3], everything[4]]),
            ({"search": "sales/bronze"}, everything[2:4]),
            ({"search": "daily", "namespace": "hr"}, [everything[1]]),
            ({"search": "%"}, []),
            ({"namespace": "sale"}, []),
        ):
            for limit in (1, 2, 100):
                assert await listed(stage, limit, **query) == expected, (query, limit)

    @scenario
    async def test_a_page_of_no_pipelines_is_empty(self, stage: Stage) -> None:
        await pipelines_of(stage).add_pipeline(a_pipeline(stage))
        assert tuple(await pipelines_of(stage).pipelines(PipelineQuery(limit=0))) == ()

    @scenario
    async def test_a_place_that_no_page_of_pipelines_gave_is_refused(self, stage: Stage) -> None:
        for after in ("nowhere", "[1]", '["a", "b", "c", 4]'):
            with pytest.raises(InvalidJobError):
                await pipelines_of(stage).pipelines(PipelineQuery(after=after))

    @scenario
    async def test_removed_pipelines_are_kept_for_four_hundred_days(self, stage: Stage) -> None:
        store, days = pipelines_of(stage), timedelta(days=400)
        for name, at in (("old", stage.now - days), ("kept", stage.now - days + TICK)):
            await store.add_pipeline(a_pipeline(stage, name))
            await store.remove_pipeline(name, at)
        await store.add_pipeline(a_pipeline(stage, "active", updated_at=stage.now - 2 * days))
        assert await prune_all(stage) == 1
        assert await listed(stage, with_removed=True) == ["active", "kept"]
