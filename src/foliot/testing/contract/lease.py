"""Leases: a node's time-limited life by the store's clock, and what becomes of it when it is over."""

# ruff: noqa: S101, PLR2004 - cases of a test suite: they assert, and compare with what they have set up

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta

import pytest

from foliot.errors import NodeBuriedError
from foliot.model.attempt import AttemptState
from foliot.model.job import Action
from foliot.model.state import CORRECTION
from foliot.testing.contract.sample import (
    HOUR,
    MINUTE,
    SECOND,
    SOURCE,
    a_job,
    lose,
    open_pending,
    request_cancel,
    some_jobs,
)
from foliot.testing.contract.stage import Contract, Stage, scenario

# A server's clock goes on while the test's stands still.
DRIFT = timedelta(seconds=20)

VERBS: dict[str, Callable[[Stage], Awaitable[object]]] = {
    "renew": lambda stage: stage.store.renew("a"),
    "held": lambda stage: stage.store.held("a"),
    "claim": lambda stage: stage.claim("a"),
    "finish": lambda stage: stage.finish("a"),
}


class LeaseContract(Contract):
    """Join, renew, leave, burial, and what a node is told of its own."""

    @scenario
    async def test_joining_gives_a_lease_by_the_stores_clock(self, stage: Stage) -> None:
        lease = await stage.join("a")
        assert abs(lease.store_now - stage.now) < DRIFT
        assert lease.until > lease.store_now
        assert (lease.open_count, lease.cancels) == (0, ())
        assert lease.store_now.utcoffset() == lease.until.utcoffset() == timedelta(0)

    @scenario
    async def test_a_renewal_counts_from_the_stores_present(self, stage: Stage) -> None:
        first = await stage.join("a")
        length = first.until - first.store_now
        await stage.clock.advance(length / 2)
        second = await stage.store.renew("a")
        assert second.store_now - first.store_now >= length / 2
        assert second.until - second.store_now == length
        assert abs(second.store_now - stage.now) < DRIFT

    @scenario
    async def test_joining_twice_is_a_renewal(self, stage: Stage) -> None:
        first = await stage.join("a")
        attempt = await stage.start_one("a", a_job())
        await stage.clock.advance((first.until - first.store_now) / 2)
        again = await stage.join("a")
        assert again.until > first.until
        assert again.open_count == 1
        assert await stage.open_keys("a") == {attempt.key}

    @scenario
    async def test_joining_again_changes_what_the_node_serves(self, stage: Stage) -> None:
        await stage.join("a", kinds=("shell",))
        await stage.declare(a_job(action=Action(kind="python")))
        assert await stage.claim("a") == []
        await stage.join("a", kinds=("shell", "python"))
        assert len(await stage.claim("a")) == 1

    @scenario
    async def test_who_lives_is_seen(self, stage: Stage) -> None:
        await stage.join("b", "a", "c")
        await stage.store.leave("c")
        assert (await stage.overview()).nodes == ("a", "b")

    # -- what a node is told -----------------------------------------------------------------------

    @scenario
    async def test_a_heartbeat_counts_what_the_node_holds(self, stage: Stage) -> None:
        await stage.join("a", "b")
        await stage.declare(*some_jobs(4))
        ours, theirs = await stage.claim("a", {"default": 3}), await stage.claim("b")
        await stage.store.update(ours[0].job, open_pending(stage.later(HOUR), "waits, and is nobody's"))
        await stage.finish("a", ours[2])
        assert (await stage.store.renew("a")).open_count == 2
        assert (await stage.store.renew("b")).open_count == 1
        assert await stage.open_keys("a") == {ours[0].key, ours[1].key}
        assert await stage.open_keys("b") == {attempt.key for attempt in theirs}

    @scenario
    async def test_what_a_node_holds_is_told_whole(self, stage: Stage) -> None:
        await stage.join("a")
        attempt = await stage.start_one("a", a_job())
        assert await stage.store.held("a") == (attempt,)

    @scenario
    async def test_a_heartbeat_names_the_nodes_own_cancels(self, stage: Stage) -> None:
        await stage.join("a", "b")
        await stage.declare(*some_jobs(3))
        ours, theirs = await stage.claim("a", {"default": 2}), await stage.claim("b")
        for attempt in (ours[0], *theirs):
            await stage.store.update(attempt.job, request_cancel)
        lease = await stage.store.renew("a")
        assert lease.cancels == (ours[0].key,)
        assert lease.open_count == 2, "what is to be cancelled is still held"
        states = {attempt.key: attempt.state for attempt in await stage.store.held("a")}
        assert states == {ours[0].key: AttemptState.CANCELLING, ours[1].key: AttemptState.RUNNING}
        await stage.finish("a", ours[0])
        assert (await stage.store.renew("a")).cancels == ()

    # -- burial ------------------------------------------------------------------------------------

    @scenario
    async def test_nobody_is_buried_within_the_lease(self, stage: Stage) -> None:
        lease = await stage.join("a")
        attempt = await stage.start_one("a", a_job())
        await stage.clock.advance((lease.until - lease.store_now) * 0.6)
        assert await stage.recover() == 0
        await stage.store.renew("a")
        assert await stage.open_keys("a") == {attempt.key}

    @scenario
    async def test_a_lease_that_ran_out_can_be_renewed_until_the_burial(self, stage: Stage) -> None:
        lease = await stage.join("a")
        attempt = await stage.start_one("a", a_job())
        await stage.outlive(lease)
        assert (await stage.store.renew("a")).open_count == 1
        assert await stage.recover() == 0
        assert await stage.open_keys("a") == {attempt.key}

    @pytest.mark.parametrize("verb", VERBS)
    @scenario
    async def test_the_buried_can_do_nothing(self, stage: Stage, verb: str) -> None:
        await stage.join("a", "b")
        await stage.start_one("a", a_job())
        await stage.bury("a")
        with pytest.raises(NodeBuriedError):
            await VERBS[verb](stage)
        await stage.recover()  # when nothing of it is left, it is still no node
        with pytest.raises(NodeBuriedError):
            await VERBS[verb](stage)
        assert (await stage.overview()).nodes == ("b",)

    @pytest.mark.parametrize("verb", VERBS)
    @scenario
    async def test_who_never_joined_can_do_nothing(self, stage: Stage, verb: str) -> None:
        with pytest.raises(NodeBuriedError):
            await VERBS[verb](stage)

    @pytest.mark.parametrize("verb", VERBS)
    @scenario
    async def test_who_left_can_do_nothing(self, stage: Stage, verb: str) -> None:
        await stage.join("a")
        await stage.start_one("a", a_job())
        await stage.store.leave("a")
        with pytest.raises(NodeBuriedError):
            await VERBS[verb](stage)

    @scenario
    async def test_the_buried_cannot_join_as_who_they_were(self, stage: Stage) -> None:
        lease = await stage.join("a")
        await stage.declare(*some_jobs(2))
        await stage.claim("a")
        await stage.outlive(lease)
        await stage.recover(limit=1)  # one of its attempts is still to be lost
        with pytest.raises(NodeBuriedError):
            await stage.join("a")

    @scenario
    async def test_nobody_joins_under_the_id_of_a_life_that_has_ended(self, stage: Stage) -> None:
        await stage.join("a", "b", "c")
        await stage.start_one("a", a_job())
        await stage.bury("a")
        await stage.store.leave("b")
        for _ in range(2):  # by then nothing of them is left
            await stage.recover()
        for node in ("a", "b"):
            with pytest.raises(NodeBuriedError):
                await stage.join(node)
        assert (await stage.overview()).nodes == ("c",)

    @scenario
    async def test_leaving_harms_nobody_else(self, stage: Stage) -> None:
        await stage.join("a", "b", name="twins")
        await stage.declare(*some_jobs(2))
        (ours,), (theirs,) = await stage.claim("a", {"default": 1}), await stage.claim("b", {"default": 1})
        await stage.store.leave("a")
        await stage.recover()
        assert await stage.open_keys("b") == {theirs.key}
        assert {attempt.key for attempt in await stage.runs(is_open=False)} == {ours.key}

    @scenario
    async def test_leaving_twice_or_unknown_is_harmless(self, stage: Stage) -> None:
        await stage.join("a", "b")
        for node in ("a", "a", "nobody"):
            with suppress(NodeBuriedError):
                await stage.store.leave(node)
        assert (await stage.overview()).nodes == ("b",)

    @scenario
    async def test_a_far_lease_outlives_a_near_one(self, stage: Stage) -> None:
        first = await stage.join("a")
        await stage.clock.advance((first.until - first.store_now) * 0.6)
        await stage.join("b")
        await stage.clock.advance((first.until - first.store_now) * 0.6)
        await stage.store.recover(10, stage.now, lose)
        assert (await stage.overview()).nodes == ("b",)

    # -- a clock that is set -----------------------------------------------------------------------

    @scenario
    async def test_a_jump_ahead_of_the_stores_clock_alone_buries_nobody(self, stage: Stage) -> None:
        await stage.join("a", "b")
        attempt = await stage.start_one("a", a_job())
        reckoned = stage.now
        stage.clock.set_by(HOUR)
        assert (await stage.store.recover(10, reckoned, lose)).buried == ()
        await stage.store.renew("b")
        assert await stage.open_keys("a") == {attempt.key}

    @scenario
    async def test_nor_does_the_callers_clock_alone(self, stage: Stage) -> None:
        await stage.join("a", "b")
        assert (await stage.store.recover(10, stage.later(HOUR), lose)).buried == ()
        await stage.store.renew("a")

    @scenario
    async def test_who_does_not_renew_after_a_jump_ahead_is_buried(self, stage: Stage) -> None:
        lease = await stage.join("a", "b")
        stage.clock.set_by(HOUR)
        await stage.outlive(lease)
        await stage.store.renew("b")
        await stage.store.recover(10, stage.now, lose)
        assert (await stage.overview()).nodes == ("b",)

    @scenario
    async def test_who_died_before_the_clock_was_set_back_is_buried_a_lease_later(self, stage: Stage) -> None:
        lease = await stage.join("a", "b")
        stage.clock.set_by(-(CORRECTION + HOUR))
        assert (await stage.store.recover(10, stage.now, lose)).buried == (), "who lives renews first"
        await stage.outlive(lease)
        await stage.store.renew("b")
        await stage.store.recover(10, stage.now, lose)
        assert (await stage.overview()).nodes == ("b",)

    @scenario
    async def test_many_lives_under_one_name_are_many(self, stage: Stage) -> None:
        await stage.join("a-1", name="a")
        await stage.bury("a-1")
        await stage.join("a-2", name="a")
        await stage.advance(MINUTE)
        await stage.declare(a_job())
        (attempt,) = await stage.claim("a-2")
        await stage.clock.advance(SECOND)
        await stage.recover()
        assert await stage.open_keys("a-2") == {attempt.key}
        assert (await stage.record(f"{SOURCE}/job")).attempts == (attempt,)
