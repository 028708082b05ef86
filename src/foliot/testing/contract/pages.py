"""Lists: whatever is asked for, all its pages together are what is meant, each entry once, in order."""

# ruff: noqa: S101, PLR2004 - cases of a test suite: they assert, and compare with what they have set up

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from itertools import product
from typing import Any

import pytest

from foliot.errors import InvalidJobError
from foliot.model.attempt import Attempt, AttemptState, Outcome, Trigger
from foliot.model.job import Action
from foliot.model.query import JobOrder, JobQuery, JobState, Page, RunQuery, SkipQuery
from foliot.model.state import Skip
from foliot.testing.contract.history import write_down
from foliot.testing.contract.sample import HOUR, MINUTE, a_job, change, open_pending
from foliot.testing.contract.stage import Contract, Stage, scenario

SOURCES = ("shop", "shop!", "bank")
NAMES = ("mail", "Mail@night", "sync!fast")


async def furnish(stage: Stage) -> list[Attempt]:
    """Jobs of several sources, queues and kinds, with a past of every kind; all attempts."""
    found: list[Attempt] = []
    await stage.join("a", "b")
    for place, (source, name) in enumerate(product(SOURCES, NAMES)):
        queue, kind = ("slow" if place % 3 else "default"), ("shell" if place % 2 else "python")
        job = a_job(name, source=source, queue=queue, action=Action(kind=kind))
        await stage.declare(job, wake_at=stage.later((9 - place) * HOUR), source=source)
        past = [_past(job.key, stage.now - (7 - n) * MINUTE, n + place) for n in range(7)]
        past.append(past[3]._replace(number=2, trigger=Trigger.RETRY))
        past += (
            past[5]._replace(request=request, trigger=Trigger.MANUAL)
            for request in (f"{source}@hand", "2", "!")
        )
        skips = [Skip(job.key, at, at + MINUTE, "no") for at in _minutes(stage, place)]
        await stage.store.update(job.key, write_down(past, skips, last_run=past[6].run_key))
        if place % 4 == 0:
            await stage.store.update(job.key, change(paused_at=stage.now))
        if place % 4 == 1:
            await stage.store.update(job.key, change(failures_in_row=place))
        if place % 4 == 2:
            await stage.store.update(job.key, open_pending(stage.later(place * MINUTE), "one", "two"))
        found += past
        found += (await stage.record(job.key)).attempts
    return found


def _past(job: str, at: datetime, kind: int) -> Attempt:
    outcome = list(Outcome)[kind % len(Outcome)]
    return Attempt(
        job, 1, Trigger.BACKFILL if kind % 5 == 0 else Trigger.SCHEDULE, AttemptState.ENDED, at,
        node="a" if kind % 2 else "b", token=1, claimed_at=at, finished_at=at, outcome=outcome,
    )  # fmt: skip


def _minutes(stage: Stage, place: int) -> list[datetime]:
    return [stage.now - (2 * n + place % 3) * MINUTE for n in range(1, 4)]


async def all_pages(ask: Callable[[Any], Any], query: Any, limit: int) -> list[Any]:
    """What all pages of an answer have."""
    found: list[Any] = []
    query = query._replace(limit=limit)
    for _ in range(1000):
        page: Page[Any] = await ask(query)
        assert len(page) <= limit
        found += page
        if page.next is None:
            return found
        # A client that may see one source is given this place: no name of another source may stand in it.
        others = SOURCES if (source := getattr(query, "source", None)) else ()
        names = [f"{other}{mark}" for other in others if other != source for mark in "/@"]
        assert not [name for name in names if name in page.next]
        query = query._replace(after=page.next)
    raise AssertionError("it never ends")


RUN_QUERIES: dict[str, dict[str, Any]] = {
    "all": {},
    "of a job": {"job": "shop/Mail@night"},
    "of a source": {"source": "shop"},
    "of another source": {"source": "shop!"},
    "of no source": {"source": "sho"},
    "failures": {"outcome": Outcome.FAILED},
    "successes": {"outcome": Outcome.SUCCEEDED},
    "failures of a job": {"job": "bank/mail", "outcome": Outcome.FAILED},
    "failures by hand, of a job": {
        "job": "bank/mail", "outcome": Outcome.LOST, "trigger": Trigger.MANUAL,
    },
    "open": {"is_open": True},
    "open, of a source": {"is_open": True, "source": "shop"},
    "open, of a job": {"is_open": True, "job": "shop/sync!fast"},
    "ended": {"is_open": False},
    "of a node": {"node": "b"},
    "of a node, of a job": {"node": "b", "job": "bank/mail"},
    "of an unknown node": {"node": "c"},
    "of an unknown node, of a job": {"node": "c", "job": "bank/mail"},
    "by hand": {"trigger": Trigger.MANUAL},
    "by hand, of a source": {"trigger": Trigger.MANUAL, "source": "bank"},
    "retries of a job": {"trigger": Trigger.RETRY, "job": "bank/mail"},
    "losses of a source": {"outcome": Outcome.LOST, "source": "shop!"},
}  # fmt: skip
JOB_QUERIES: dict[str, dict[str, Any]] = {
    "all": {},
    "of a source": {"source": "shop"},
    "paused": {"state": JobState.PAUSED},
    "failing": {"state": JobState.FAILING},
    "open": {"state": JobState.OPEN},
    "damaged": {"state": JobState.DAMAGED},
    "open, of a source": {"state": JobState.OPEN, "source": "shop"},
    "by a part of their names": {"search": "mail"},
    "by a part of their names, paused": {"search": "MAIL", "state": JobState.PAUSED},
    "by a mark": {"search": "!"},
    "of a queue": {"queue": "slow"},
    "of a kind": {"kind": "shell"},
    "of a queue and a kind": {"queue": "slow", "kind": "shell", "source": "bank"},
    "of a name": {"name": "mail"},
    "of an unknown queue": {"queue": "none"},
}


class PageContract(Contract):
    """Lists of jobs, of attempts and of skips, page by page."""

    @scenario
    @pytest.mark.parametrize("asked", RUN_QUERIES.values(), ids=RUN_QUERIES)
    async def test_pages_of_runs_have_all_that_is_meant(self, stage: Stage, asked: dict[str, Any]) -> None:
        attempts = await furnish(stage)
        every = RunQuery(**asked)
        some = every._replace(since=stage.now - 5 * MINUTE, until=stage.now - 2 * MINUTE)
        for query in (every, some):
            meant = {attempt.key for attempt in attempts if _is_meant(attempt, query)}
            for limit in (1, 3, 1000):
                found = await all_pages(stage.store.runs, query, limit)
                assert {attempt.key for attempt in found} == meant
                assert len(found) == len(meant)
                instants = [attempt.scheduled_for for attempt in found]
                assert instants == sorted(instants, reverse=True)

    @scenario
    async def test_a_run_is_found_by_its_key_alone(self, stage: Stage) -> None:
        attempts = await furnish(stage)
        for key in sorted({attempt.run_key for attempt in attempts}):
            meant = {attempt.key for attempt in attempts if attempt.run_key == key}
            found = await stage.runs(run_key=key)
            assert {attempt.key for attempt in found} == meant
            assert len(found) == len(meant)
            assert await stage.runs(run_key=key, job=found[0].job) == found
            assert await stage.runs(run_key=key, job="bank/other") == ()
        for key in ("", "shop/mail", "shop/mail@", "shop/mail@noon", "shop/mail!3", "@!", "x@2026-01-01"):
            assert await stage.runs(run_key=key) == ()

    @scenario
    @pytest.mark.parametrize("order", JobOrder)
    @pytest.mark.parametrize("asked", JOB_QUERIES.values(), ids=JOB_QUERIES)
    async def test_pages_of_jobs_have_all_that_is_meant(
        self, stage: Stage, asked: dict[str, Any], order: JobOrder
    ) -> None:
        await furnish(stage)
        query = JobQuery(**asked, order=order)
        records = [await stage.record(f"{source}/{name}") for source, name in product(SOURCES, NAMES)]
        meant = [record for record in records if _is_job_meant(record, query)]
        if order is JobOrder.KEY:
            meant.sort(key=lambda record: record.job.key)
        else:
            meant.sort(key=lambda record: record.state.wake_at or stage.now)
        for limit in (1, 2, 1000):
            found = await all_pages(stage.store.jobs, query, limit)
            assert [view.key for view in found] == [record.job.key for record in meant]

    @scenario
    async def test_pages_of_skips_have_all_that_is_meant(self, stage: Stage) -> None:
        await furnish(stage)
        keys = [f"{source}/{name}" for source, name in product(SOURCES, NAMES)]
        every = [skip for key in keys for skip in await stage.skips(key)]
        assert len(every) == 27
        asked = (SkipQuery(), SkipQuery(keys[4]), *(SkipQuery(source=source) for source in (*SOURCES, "sho")))
        for always, limit in product(asked, (1, 4, 100)):
            some = always._replace(since=stage.now - 4 * MINUTE, until=stage.now - MINUTE)
            for query in (always, some):
                meant = [skip for skip in every if _is_skip_meant(skip, query)]
                found = await all_pages(stage.store.skips, query, limit)
                assert sorted(found) == sorted(meant)
                ends = [skip.last for skip in found]
                assert ends == sorted(ends, reverse=True)

    @scenario
    @pytest.mark.parametrize("after", ["nonsense", "1.2", "[]", "{}", "1.2.x.", "9" * 30, '["a", 1]'])
    async def test_a_place_that_no_page_gave_is_refused(self, stage: Stage, after: str) -> None:
        await furnish(stage)
        for ask in (
            lambda: stage.store.runs(RunQuery(after=after)),
            lambda: stage.store.runs(RunQuery(after=after, job="bank/mail")),
            lambda: stage.store.skips(SkipQuery(after=after)),
        ):
            with pytest.raises(InvalidJobError, match="after"):
                await ask()

    @scenario
    async def test_what_is_listed_meanwhile_is_not_listed_twice(self, stage: Stage) -> None:
        attempts = await furnish(stage)
        first = await stage.store.runs(RunQuery(limit=5))
        assert first.next is not None
        newer = _past("bank/mail", stage.now, 0)
        await stage.store.update("bank/mail", write_down([newer], last_run=newer.run_key))
        rest = await all_pages(stage.store.runs, RunQuery(after=first.next), 4)
        keys = [attempt.key for attempt in (*first, *rest)]
        assert sorted(keys) == sorted(attempt.key for attempt in attempts)

    @scenario
    async def test_paused_and_failing_jobs_are_counted(self, stage: Stage) -> None:
        await furnish(stage)
        overview = await stage.overview()
        assert (overview.jobs, overview.paused, overview.failing, overview.open_attempts) == (9, 3, 2, 4)


def _is_meant(attempt: Attempt, query: RunQuery) -> bool:
    pairs = (
        (query.job, attempt.job),
        (query.source, attempt.job.partition("/")[0]),
        (query.outcome, attempt.outcome),
        (query.is_open, attempt.is_open),
        (query.node, attempt.node),
        (query.trigger, attempt.trigger),
    )
    is_equal = all(asked is None or asked == found for asked, found in pairs)
    return is_equal and _is_within(attempt.scheduled_for, query)


def _is_skip_meant(skip: Skip, query: SkipQuery) -> bool:
    is_of_source = query.source in (None, skip.job.partition("/")[0])
    return query.job in (None, skip.job) and is_of_source and _is_within(skip.last, query)


def _is_within(at: datetime, query: RunQuery | SkipQuery) -> bool:
    return (query.since is None or at >= query.since) and (query.until is None or at < query.until)


def _is_job_meant(record: Any, query: JobQuery) -> bool:
    job, state, attempts = record
    is_in = {
        None: True,
        JobState.PAUSED: state.paused_at is not None,
        JobState.FAILING: state.failures_in_row > 0,
        JobState.OPEN: bool(attempts),
        JobState.DAMAGED: False,
    }
    return (
        is_in[query.state]
        and query.source in (None, job.source)
        and query.name in (None, job.name)
        and query.queue in (None, job.queue)
        and query.kind in (None, job.action.kind)
        and (query.search is None or query.search.lower() in job.key.lower())
        and (query.order is JobOrder.KEY or state.wake_at is not None)
    )
