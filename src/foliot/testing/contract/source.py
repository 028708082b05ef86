"""Sources: which declare jobs is shown as it is, with how they fare. For stores that tell it."""

# ruff: noqa: S101 - cases of a test suite: they assert

from __future__ import annotations

from typing import Any, cast

import pytest

from foliot.errors import StaleRevisionError
from foliot.model.decision import Decision
from foliot.model.version import KEPT_REVISIONS, Revision
from foliot.model.view import SourceView
from foliot.protocols import Changes, JobQuery, SourceStore
from foliot.testing.contract.sample import HOUR, SOURCE, a_job, some_jobs
from foliot.testing.contract.stage import Contract, Stage, scenario


def seam(stage: Stage) -> SourceStore:
    """The store, by its other seam."""
    store: Any = stage.store
    return cast("SourceStore", store)


def _never(*_: object) -> Decision:
    raise AssertionError("nothing is declared or removed, so nobody should ask")


class SourceContract(Contract):
    """A source is shown since it was first reconciled, or since somebody told how it fares."""

    @scenario
    async def test_a_store_without_sources_shows_none(self, stage: Stage) -> None:
        assert await seam(stage).sources() == ()

    @scenario
    async def test_sources_are_shown_in_the_order_of_their_names(self, stage: Stage) -> None:
        for name in ("b", "größe", "a", "a b"):
            await stage.declare(a_job(source=name), source=name)
        revisions = {name: await stage.store.revision(name) for name in ("a", "a b", "b", "größe")}
        assert await seam(stage).sources() == tuple(
            SourceView(name, revision, 1, stage.now) for name, revision in revisions.items()
        )

    @scenario
    async def test_a_source_has_the_time_of_its_revision(self, stage: Stage) -> None:
        await stage.declare(a_job())
        first = stage.now
        await stage.advance(HOUR)
        (before,) = await seam(stage).sources()
        await stage.declare(a_job("more"))
        (after,) = await seam(stage).sources()
        assert (before.reconciled_at, after.reconciled_at) == (first, stage.now)
        assert before.revision != after.revision == await stage.store.revision(SOURCE)

    @scenario
    async def test_what_was_refused_leaves_the_time_alone(self, stage: Stage) -> None:
        await stage.declare(a_job())
        before = await seam(stage).sources()
        await stage.advance(HOUR)
        with pytest.raises(StaleRevisionError):
            await stage.store.reconcile(
                SOURCE, "no such revision", "another", Changes(), declared=_never, removed=_never
            )
        await stage.store.reconcile(
            SOURCE, None, before[0].revision or "", Changes(), declared=_never, removed=_never
        )
        assert await seam(stage).sources() == before

    @scenario
    async def test_only_jobs_that_are_there_are_counted_and_only_the_sources_own(self, stage: Stage) -> None:
        await stage.plan(*some_jobs(3), a_job("gone"))
        await stage.plan(removed=("gone",))
        for other in (f"{SOURCE}2", f"{SOURCE}-", SOURCE[:-1]):
            await stage.declare(a_job(source=other), source=other)
        counts = {view.source: view.jobs for view in await seam(stage).sources()}
        assert counts == {SOURCE: 3, f"{SOURCE}2": 1, f"{SOURCE}-": 1, SOURCE[:-1]: 1}

    @scenario
    async def test_a_status_is_kept_until_the_next_one(self, stage: Stage) -> None:
        await stage.declare(a_job())
        (before,) = await seam(stage).sources()
        for status in ('{"error": "größer"}', "{}"):
            await seam(stage).write_source_status(SOURCE, status)
            assert await seam(stage).sources() == (before._replace(status=status),)

    @scenario
    async def test_a_source_is_forgotten_if_it_is_at_the_revision_that_was_seen(self, stage: Stage) -> None:
        for name in ("git", "other"):
            await stage.declare(a_job(source=name), source=name)
            await seam(stage).write_source_status(name, "{}")
        revision = await stage.store.revision("git")
        assert not await seam(stage).forget_source("git", "before")
        assert not await seam(stage).forget_source("git", None)
        assert [view.source for view in await seam(stage).sources()] == ["git", "other"]
        assert await seam(stage).forget_source("git", revision)
        assert [view.source for view in await seam(stage).sources()] == ["other"]
        assert await stage.store.revision("git") is None
        assert [view.key for view in await stage.store.jobs(JobQuery(source="git"))] == ["git/job"]
        assert not await seam(stage).forget_source("git", revision), "there is none"

    @scenario
    async def test_a_source_that_was_never_reconciled_can_be_forgotten(self, stage: Stage) -> None:
        await seam(stage).write_source_status("git", "{}")
        assert await seam(stage).forget_source("git", None)
        assert await seam(stage).sources() == ()
        assert not await seam(stage).forget_source("git", None)

    @scenario
    async def test_a_source_that_was_forgotten_begins_anew(self, stage: Stage) -> None:
        await stage.declare(a_job())
        assert await seam(stage).forget_source(SOURCE, await stage.store.revision(SOURCE))
        with pytest.raises(StaleRevisionError):
            await stage.store.reconcile(SOURCE, "r1", "r2", Changes(), declared=_never, removed=_never)
        await stage.store.reconcile(SOURCE, None, "r2", Changes(), declared=_never, removed=_never)
        (shown,) = await seam(stage).sources()
        assert shown == SourceView(SOURCE, "r2", 1, stage.now)

    @scenario
    async def test_each_revision_tells_what_it_has_changed(self, stage: Stage) -> None:
        first, second = stage.now, stage.later(HOUR)
        await stage.plan(*some_jobs(3))
        await stage.advance(HOUR)
        await stage.plan(a_job("job-0000"), a_job("job-0001", queue="other"), removed=("job-0002",))
        await stage.plan(a_job("job-0002"))
        await stage.plan(removed=("job-0002", "unknown"))
        names = [f"r{number}" for number in range(1, 5)]
        kept = await seam(stage).revisions(SOURCE)
        assert [(one.ordinal, one.revision, one.at) for one in reversed(kept)] == [
            (number, name, first if number == 1 else second) for number, name in enumerate(names, start=1)
        ]
        counts = [(one.added, one.changed, one.removed) for one in reversed(kept)]
        assert counts == [(3, 0, 0), (0, 1, 1), (1, 0, 0), (0, 0, 1)]
        assert await seam(stage).revisions(SOURCE, 2) == kept[:2]
        assert await seam(stage).revisions("unknown") == ()

    @scenario
    async def test_the_newest_hundred_revisions_are_kept(self, stage: Stage) -> None:
        for number in range(KEPT_REVISIONS + 3):
            await stage.plan(a_job(queue=f"q{number % 2}"))
        kept = await seam(stage).revisions(SOURCE, 1000)
        assert [one.ordinal for one in kept] == list(range(KEPT_REVISIONS + 3, 3, -1))

    @scenario
    async def test_a_source_whose_every_write_is_a_revision_keeps_none(self, stage: Stage) -> None:
        await stage.declare(a_job(source="shop.added"), source="shop.added")
        assert await seam(stage).revisions("shop.added") == ()

    @scenario
    async def test_what_was_refused_or_forgotten_has_no_revision(self, stage: Stage) -> None:
        await stage.declare(a_job())
        with pytest.raises(StaleRevisionError):
            await stage.store.reconcile(SOURCE, "no", "other", Changes(), declared=_never, removed=_never)
        assert len(await seam(stage).revisions(SOURCE)) == 1
        assert await seam(stage).forget_source(SOURCE, await stage.store.revision(SOURCE))
        assert await seam(stage).revisions(SOURCE) == ()

    @scenario
    async def test_a_source_that_was_never_read_can_have_a_status(self, stage: Stage) -> None:
        await seam(stage).write_source_status("git", '{"error": "no such host"}')
        (shown,) = await seam(stage).sources()
        assert shown == SourceView("git", None, 0, None, '{"error": "no such host"}')
        assert await stage.store.revision("git") is None
        await stage.declare(a_job(source="git"), source="git")
        (shown,) = await seam(stage).sources()
        assert (shown.status, shown.jobs) == ('{"error": "no such host"}', 1)

    @scenario
    async def test_a_copied_source_has_the_past_of_the_original(self, stage: Stage) -> None:
        await stage.plan(*some_jobs(2))
        await stage.plan(a_job("more"))
        (before,) = await seam(stage).sources()
        copied = tuple(
            Revision(SOURCE, ordinal, f"größe-{ordinal}", stage.later(-HOUR), 1, 2, ordinal)
            for ordinal in (7, 6, 5)
        )
        await seam(stage).restore_source(SOURCE, stage.later(-HOUR), copied)
        assert await seam(stage).sources() == (before._replace(reconciled_at=stage.later(-HOUR)),)
        assert await seam(stage).revisions(SOURCE) == copied
        await stage.plan(a_job("last"))
        newest, *others = await seam(stage).revisions(SOURCE)
        assert (newest.ordinal, newest.at, tuple(others)) == (8, stage.now, copied)
        await seam(stage).restore_source(SOURCE, None, ())
        assert await seam(stage).revisions(SOURCE) == ()
        (after,) = await seam(stage).sources()
        assert after.reconciled_at is None
