"""A process that stands still may do so anywhere: whoever wakes up after its lease starts nothing."""

from __future__ import annotations

from datetime import datetime

from engine.stage import LEASE, MINUTE, SECOND, Stage, Watch, job, staged
from foliot.model.attempt import Outcome


@staged
async def test_who_stood_still_between_claim_and_start_starts_nothing_of_it(stage: Stage) -> None:
    engine = await stage.start()
    await stage.declare(job())
    engine.wake()
    stood: list[datetime] = []

    def stand(step: str) -> None:
        if step == "before_start" and not stood:
            stood.append(stage.clock.now())
            stage.clock._now += LEASE + SECOND

    engine._failpoint = stand

    await stage.clock.advance(2 * MINUTE)

    [first, second, *_] = await stage.runs()
    assert len(stood) == 1
    assert (first.number, first.outcome) == (1, Outcome.INTERRUPTED), "nobody else was there to bury it"
    assert (second.run_key, second.number, second.outcome) == (first.run_key, 2, Outcome.SUCCEEDED)
    assert (first.run_key, 1) not in {(key, number) for _, key, number in stage.starts}


@staged
async def test_nodes_of_one_host_that_slept_do_not_bury_each_other(stage: Stage) -> None:
    """Their leases are all over when the host wakes: each renews its own before anybody buries."""
    stage.takes = 60 * MINUTE
    watches = (Watch(), Watch())
    await stage.declare(*(job(f"job-{number}", "1 0 * * *") for number in range(4)))
    for watch in watches:
        await stage.start(slots=2, monitors=(watch,))
        await stage.clock.advance(SECOND)
    await stage.clock.advance(MINUTE)
    assert len(stage.starts) == 4

    stage.clock._now += 20 * MINUTE
    await stage.clock.advance(5 * MINUTE)

    assert [watch.lost for watch in watches] == [[], []]
    assert len(stage.starts) == 4


@staged
async def test_of_five_claimed_those_start_that_came_before_the_host_slept(stage: Stage) -> None:
    stage.takes = 10 * MINUTE
    await stage.declare(*(job(f"job-{number}", "1 0 * * *") for number in range(5)))
    engine, steps = await stage.start(), list[str]()

    def sleep(step: str) -> None:
        steps.append(step)
        if step == "before_start" and steps.count(step) == 3:
            stage.clock._now += LEASE + SECOND

    engine._failpoint = sleep
    await stage.clock.advance(2 * MINUTE)

    assert sorted(number for _, _, number in stage.starts) == [1, 1, 2, 2, 2]
    assert len({key for _, key, _ in stage.starts}) == 5, "no run has begun twice"
