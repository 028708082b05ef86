"""A herd is started and ended without a look at single jobs, on each SQL store."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from foliot.engine.planner import plan_due, plan_ended
from foliot.model.attempt import Outcome
from foliot.stores.sql.batch import WriteBatch
from foliot.testing.contract.sample import some_jobs
from foliot.testing.contract.stage import OpenStore, Stage, scenario
from stores.test_sharing import CLOCK, open_store

__all__ = ["open_store"]


@pytest.fixture
def stage(open_store: OpenStore) -> Stage:
    return Stage(open_store, CLOCK)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which ways of reading single jobs were gone."""
    gone: list[str] = []

    def note(name: str) -> None:
        real: Any = getattr(WriteBatch, name)

        def noted(self: WriteBatch, *args: Any) -> Any:
            gone.append(name)
            return real(self, *args)

        monkeypatch.setattr(WriteBatch, name, noted)

    for name in ("read", "by_key", "decide"):
        note(name)
    return gone


class TestHerds:
    """Of this the contract sees nothing: the long way comes to the same."""

    @scenario
    async def test_no_job_of_a_herd_is_read_by_itself(self, stage: Stage, looks: list[str]) -> None:
        await stage.join("a")
        await stage.plan(*some_jobs(30))
        assert (await stage.claim_whole("a", decide=plan_due)).runs == ()
        await stage.advance(timedelta(hours=1))
        looks.clear()
        runs = (await stage.claim_whole("a", decide=plan_due)).runs
        endings = [run.ending(Outcome.SUCCEEDED, stage.now, stage.now) for run in runs]
        finished = await stage.store.finish("a", endings, stage.now, plan_ended)
        assert (len(runs), len(finished.events), finished.refused) == (30, 30, ())
        assert looks == []
