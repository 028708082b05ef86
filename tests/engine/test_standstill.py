"""A process that stands still may do so anywhere: whoever wakes up after its lease starts nothing."""

from __future__ import annotations

from datetime import datetime

from engine.stage import LEASE, MINUTE, SECOND, Stage, job, staged
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
