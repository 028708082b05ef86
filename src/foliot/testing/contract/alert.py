"""Alerts: written with their decision, kept until they are sent, told once. For stores that keep alerts."""

# ruff: noqa: S101, PLR2004 - cases of a test suite: they assert, and compare with what they have set up

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, cast

import pytest

from foliot.errors import InvalidJobError
from foliot.model.alert import Alert, AlertKind
from foliot.model.attempt import Ending, Outcome
from foliot.model.decision import Decision
from foliot.model.job import Job
from foliot.model.policy import Notify, Policy
from foliot.model.state import Record
from foliot.model.watch import Episode, Watch
from foliot.protocols import AlertQuery, AlertState, AlertStore, ChannelAlert, DecideCommand
from foliot.testing.contract.chain import ChainContract
from foliot.testing.contract.sample import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    TICK,
    a_job,
    change,
    end_and_count,
    lose_and_restart,
    some_jobs,
    start_due,
)
from foliot.testing.contract.stage import Stage, scenario

KEY = a_job().key
WAITING, SENT, REFUSED = AlertState.WAITING, AlertState.SENT, AlertState.REFUSED


def outbox_of(stage: Stage) -> AlertStore:
    """The store, by its other seam."""
    store: Any = stage.store
    return cast("AlertStore", store)


def an_alert(name: str, at: datetime, channel: str = "ops", **facts: Any) -> ChannelAlert:
    """An alert that waits."""
    return ChannelAlert(channel, Alert(name, at, facts.pop("kind", AlertKind.FAILURE), KEY, **facts))


def tell(*alerts: ChannelAlert) -> DecideCommand:
    """A decision that comes with alerts."""

    def told(record: Record) -> Decision:
        return change()(record)._replace(alerts=alerts)

    return told


async def write(stage: Stage, *alerts: ChannelAlert) -> None:
    """Let a job be there, and tell of it."""
    await stage.declare(a_job(), wake_at=stage.later(DAY))
    await stage.store.update(KEY, tell(*alerts))


async def ids_waiting(stage: Stage, channel: str = "ops", limit: int = 100) -> list[str]:
    """What waits for a channel."""
    return [one.alert.id for one in await outbox_of(stage).waiting(channel, limit)]


class AlertContract(ChainContract):
    """What is decided is in the outbox at once, stays until it is settled, and is there once."""

    @scenario
    async def test_an_alert_waits_as_it_was_decided(self, stage: Stage) -> None:
        whole = an_alert(
            "a1", stage.now, kind=AlertKind.LATE, run=f"{KEY}@2026-01-01T00:00:00Z", attempt=2,
            outcome=Outcome.TIMED_OUT, exit_code=-9, error="two\nlines \N{SNOWMAN}", failures_in_row=3,
            since=stage.now - HOUR, next_at=stage.later(HOUR), node="n1", revision="r1", why="it is so",
            episode="e1", reminder=2,
        )  # fmt: skip
        await write(stage, whole)
        assert await outbox_of(stage).waiting("ops", 10) == (whole,)
        assert tuple(await outbox_of(stage).alerts(AlertQuery())) == (whole,)

    @scenario
    async def test_a_watch_comes_back_as_it_was_written(self, stage: Stage) -> None:
        episode = Episode(AlertKind.SLOW, "e1", stage.now, stage.now + TICK, 3, is_over=True)
        watch = Watch(
            wake_at=stage.later(DAY), alert_at=stage.later(HOUR), quiet_since=stage.now, failed_runs=2,
            failing_since=stage.now, outcomes="+-+",
            episodes=(episode, Episode(AlertKind.LATE, "é", stage.now)),
            muted_until=stage.later(MINUTE), muted_reason="we know", asked=("boot-h-1", "after-é"),
        )  # fmt: skip
        await stage.declare(a_job(), wake_at=stage.later(DAY))
        for written in (watch, Watch(), None):
            await stage.store.update(KEY, change(watch=written))
            assert (await stage.record(KEY)).state.watch == written

    @scenario
    async def test_a_new_job_that_is_watched_has_its_watch(self, stage: Stage) -> None:
        await stage.plan(a_job(policy=Policy(notify=Notify("ops"))))
        assert (await stage.record(KEY)).state.watch is not None

    @scenario
    async def test_the_same_alert_again_changes_nothing_whatever_became_of_it(self, stage: Stage) -> None:
        first = an_alert("a1", stage.now, why="first")
        await write(stage, first, first)
        await stage.store.update(KEY, tell(an_alert("a1", stage.later(HOUR), why="second")))
        assert await outbox_of(stage).waiting("ops", 10) == (first,)
        await outbox_of(stage).settle("ops", ["a1"], SENT, stage.now)
        await stage.store.update(KEY, tell(first))
        assert await ids_waiting(stage) == []

    @scenario
    async def test_each_channel_has_its_own(self, stage: Stage) -> None:
        await write(stage, an_alert("a1", stage.now), an_alert("a1", stage.now, "admins"))
        assert await outbox_of(stage).settle("ops", ["a1"], SENT, stage.now) == 1
        assert (await ids_waiting(stage), await ids_waiting(stage, "admins")) == ([], ["a1"])

    @scenario
    async def test_the_oldest_come_first_and_no_more_than_were_asked_for(self, stage: Stage) -> None:
        alerts = [an_alert(f"a{n}", stage.now - n * SECOND) for n in range(5)]
        await write(stage, *alerts)
        assert await ids_waiting(stage, limit=3) == ["a4", "a3", "a2"]

    @scenario
    async def test_it_is_known_which_channels_something_waits_for_and_since_when(self, stage: Stage) -> None:
        assert dict(await outbox_of(stage).waiting_channels()) == {}
        old, new = stage.now - HOUR, stage.now
        await write(stage, an_alert("a1", new), an_alert("a2", old), an_alert("a3", new, "admins"))
        assert dict(await outbox_of(stage).waiting_channels()) == {"ops": old, "admins": new}
        await outbox_of(stage).settle("ops", ["a1", "a2"], SENT, stage.now)
        assert dict(await outbox_of(stage).waiting_channels()) == {"admins": new}

    @scenario
    async def test_what_is_settled_waits_no_more_and_is_settled_once(self, stage: Stage) -> None:
        await write(stage, *(an_alert(f"a{n}", stage.now) for n in range(3)))
        store, at = outbox_of(stage), stage.later(MINUTE)
        assert await store.settle("ops", ["a0", "a1", "unknown"], REFUSED, at, "404 Not Found") == 2
        assert await store.settle("ops", ["a0"], SENT, stage.now) == 0
        assert await store.settle("ops", [], SENT, stage.now) == 0
        assert await ids_waiting(stage) == ["a2"]
        found = {one.alert.id: one for one in await store.alerts(AlertQuery())}
        assert (found["a0"].state, found["a0"].settled_at, found["a0"].answer) == (
            REFUSED,
            at,
            "404 Not Found",
        )
        assert (found["a2"].state, found["a2"].settled_at, found["a2"].answer) == (WAITING, None, None)

    @scenario
    async def test_a_ping_that_was_sent_is_not_kept(self, stage: Stage) -> None:
        kinds = {"ended": AlertKind.ENDED, "tried": AlertKind.TRIED, "failure": AlertKind.FAILURE}
        await write(stage, *(an_alert(name, stage.now, kind=kind) for name, kind in kinds.items()))
        await stage.store.update(KEY, tell(an_alert("refused", stage.now, kind=AlertKind.ENDED)))
        store = outbox_of(stage)
        assert await store.settle("ops", list(kinds), SENT, stage.now) == 3
        assert await store.settle("ops", ["refused"], REFUSED, stage.now) == 1
        assert {one.alert.id for one in await store.alerts(AlertQuery())} == {"failure", "refused"}

    @scenario
    async def test_alerts_are_found_by_what_they_are_the_newest_first(self, stage: Stage) -> None:
        late = an_alert("a1", stage.now - HOUR, kind=AlertKind.LATE)
        other = ChannelAlert("admins", late.alert._replace(id="a2", at=stage.now, job="contract/other"))
        new = an_alert("a3", stage.now + TICK)
        await write(stage, late, other, new)
        await outbox_of(stage).settle("ops", ["a1"], SENT, stage.now)
        for query, expected in (
            (AlertQuery(), ["a3", "a2", "a1"]),
            (AlertQuery(channel="ops"), ["a3", "a1"]),
            (AlertQuery(job="contract/other"), ["a2"]),
            (AlertQuery(kind=AlertKind.FAILURE), ["a3"]),
            (AlertQuery(state=SENT), ["a1"]),
            (AlertQuery(state=WAITING, channel="ops"), ["a3"]),
            (AlertQuery(since=stage.now), ["a3", "a2"]),
            (AlertQuery(until=stage.now), ["a1"]),
            (AlertQuery(limit=0), []),
        ):
            found = [one.alert.id for one in await outbox_of(stage).alerts(query)]
            assert found == expected, query

    @scenario
    async def test_pages_of_alerts_have_each_alert_once(self, stage: Stage) -> None:
        """Those of one instant, and of one id, too."""
        alerts = [
            an_alert(f"a{n // 2}", stage.now - (n // 4) * SECOND, ("ops", "admins")[n % 2]) for n in range(11)
        ]
        await write(stage, *alerts)
        found: list[tuple[str, str]] = []
        after: str | None = ""
        while after is not None:
            page = await outbox_of(stage).alerts(AlertQuery(limit=2, after=after))
            found += [(one.alert.id, one.channel) for one in page]
            after = page.next
        assert sorted(found) == sorted((one.alert.id, one.channel) for one in alerts)

    @scenario
    async def test_a_place_that_no_page_of_alerts_gave_is_refused(self, stage: Stage) -> None:
        with pytest.raises(InvalidJobError):
            await outbox_of(stage).alerts(AlertQuery(after="nowhere"))

    @scenario
    async def test_a_decision_that_is_not_written_tells_nothing(self, stage: Stage) -> None:
        """Of two jobs of one revision, the second cannot be decided about."""
        first, second = some_jobs(2)
        await stage.declare(first, second, wake_at=stage.later(DAY))

        def fail(job: Job, record: Record | None) -> Decision:
            if job.key == second.key:
                raise RuntimeError("the caller has second thoughts")
            assert record is not None
            return tell(an_alert("a1", stage.now))(record)

        with pytest.raises(RuntimeError):
            await stage.reconcile(first, second, declared=fail)
        assert await ids_waiting(stage) == []

    @scenario
    async def test_a_claim_writes_what_it_tells(self, stage: Stage) -> None:
        await stage.join("a")
        await stage.declare(a_job())

        def start(record: Record, now: datetime, node: str, most: int = 1) -> Decision:
            return start_due(record, now, node, most)._replace(alerts=(an_alert("a1", now),))

        assert len(await stage.claim("a", decide=start)) == 1
        assert await ids_waiting(stage) == ["a1"]

    @scenario
    async def test_a_finish_writes_what_it_tells(self, stage: Stage) -> None:
        await stage.join("a")
        attempt = await stage.start_one("a", a_job())

        def ended(record: Record, endings: Sequence[Ending], now: datetime) -> Decision:
            return end_and_count(record, endings, now)._replace(alerts=(an_alert("a1", now),))

        await stage.finish("a", attempt, decide=ended)
        assert await ids_waiting(stage) == ["a1"]

    @scenario
    async def test_a_finish_that_is_refused_tells_nothing(self, stage: Stage) -> None:
        """The report is of another claim than the one that is open."""
        await stage.join("a", "b")
        attempt = await stage.start_one("a", a_job())

        def ended(record: Record, endings: Sequence[Ending], now: datetime) -> Decision:
            return end_and_count(record, endings, now)._replace(alerts=(an_alert("a1", now),))

        stale = stage.ending(attempt)._replace(token=attempt.token + 1)
        await stage.store.finish("a", [stale], stage.now, ended)
        assert await ids_waiting(stage) == []

    @scenario
    async def test_a_recovery_writes_what_it_tells(self, stage: Stage) -> None:
        await stage.join("a", "b")
        await stage.start_one("a", a_job())

        def lost(record: Record, keys: Sequence[tuple[str, int]], now: datetime) -> Decision:
            return lose_and_restart(record, keys, now)._replace(alerts=(an_alert("a1", now),))

        await stage.bury("a", lost)
        assert await ids_waiting(stage) == ["a1"]

    @scenario
    async def test_a_revision_writes_what_it_tells(self, stage: Stage) -> None:
        kept, gone = some_jobs(2)
        await stage.declare(kept, gone, wake_at=stage.later(DAY))
        await stage.reconcile(
            kept,
            removed=(gone.name,),
            declared=lambda _, record: tell(an_alert("a1", stage.now))(cast("Record", record)),
            decide_removed=tell(an_alert("a2", stage.now)),
        )
        assert await ids_waiting(stage) == ["a1", "a2"]

    @scenario
    async def test_a_job_that_is_forgotten_leaves_its_alerts(self, stage: Stage) -> None:
        await write(stage, an_alert("a1", stage.now))

        def forget(record: Record) -> Decision:
            return Decision(record.state, remove=True, alerts=(an_alert("a2", stage.later(TICK)),))

        await stage.store.update(KEY, forget)
        assert await ids_waiting(stage) == ["a1", "a2"]

    @scenario
    async def test_what_is_older_than_ninety_days_is_forgotten(self, stage: Stage) -> None:
        days = timedelta(days=90)
        old = [an_alert(f"old{n}", stage.now - days - (n + 1) * TICK) for n in range(5)]
        await write(stage, *old, an_alert("kept", stage.now - days))
        await outbox_of(stage).settle("ops", ["old0"], SENT, stage.now)
        assert (await stage.store.prune(stage.now, 2)).forgotten == 2
        while (await stage.store.prune(stage.now, 2)).forgotten:
            pass
        assert [one.alert.id for one in await outbox_of(stage).alerts(AlertQuery())] == ["kept"]
