"""Herds: more jobs at one instant than the living nodes of their queue have slots for."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from foliot.model.job import Job
from foliot.model.policy import Policy
from foliot.model.state import Node
from foliot.operations.forecast import Forecast, forecast
from foliot.operations.herd import find_room
from foliot.operations.rule_count import count_rules
from foliot.schedules import Cron
from operations.desk import HOUR, HOURLY, Desk, at
from operations.scene import scenario


def herd(count: int, queue: str, rule: str = "30 9 * * *", policy: Policy | None = None) -> list[Job]:
    job = replace(HOURLY, source="many", queue=queue, schedule=Cron(rule), policy=policy or HOURLY.policy)
    return [
        replace(job, name=f"{queue}-{rule}-{n}".replace("*", "x").replace("/", "_")) for n in range(count)
    ]


async def foretold(desk: Desk, size: timedelta = HOUR) -> Forecast:
    room = await find_room(desk.ops)
    return await forecast(await count_rules(desk.store, "many"), at(7), at(12), size, "UTC", room=room)


@scenario
async def test_a_herd_is_told_for_the_minute_and_the_queue_that_it_is_in(desk: Desk) -> None:
    await desk.store.join(Node("n1", queues=("default", "slow"), slots=(("default", 2), ("slow", 9))))
    await desk.store.join(Node("b", slots=(("default", 2),)))
    await desk.store.join(Node("c", is_draining=True, slots=(("default", 99),)))
    await desk.declare(*herd(9, "default"), *herd(9, "slow"), *herd(3, "default", "45 9 * * *"))
    for size in (HOUR, timedelta(minutes=1)):
        [found] = (await foretold(desk, size)).herds
        assert found == (at(9, 30), "default", 9, 4, None)
        assert str(found) == "9 jobs of queue default at 09:30 UTC, 4 slots"


@scenario
async def test_how_long_a_herd_takes_is_told_if_runs_of_its_queue_have_ended(desk: Desk) -> None:
    await desk.store.join(Node("n1", slots=(("default", 4),)))
    await desk.declare(*herd(9, "default"), *herd(1, "default", "5 7 * * *"))
    await desk.advance(at(7, 5))
    [attempt] = [one for one in await desk.claim() if one.job.startswith("many/")]
    await desk.clock.advance(timedelta(seconds=13))
    await desk.finish(attempt)
    [ended] = await desk.ops.attempts(attempt.job)
    assert ended.started_at is not None
    assert ended.finished_at is not None
    took = (ended.finished_at - ended.started_at).total_seconds()
    [found] = (await foretold(desk)).herds
    assert found.delay == 2 * took  # nine jobs start in three rounds
    assert str(found._replace(delay=26.0)).endswith("4 slots: about 26 s to start all")


@scenario
async def test_no_herd_is_told_where_there_is_none_or_where_slots_are_not_known(desk: Desk) -> None:
    await desk.store.join(Node("n1", queues=("default", "old"), slots=(("default", 4), ("old", 1))))
    await desk.store.join(Node("b", queues=("old",)))  # of a version that did not tell its slots
    spread = herd(9, "default", policy=replace(HOURLY.policy, splay=HOUR))
    await desk.declare(*herd(9, "old"), *herd(4, "default", "31 9 * * *"), *spread, *herd(9, "unserved"))
    assert (await foretold(desk)).herds == ()
