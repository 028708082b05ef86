"""Outputs: what attempts wrote is kept once, and forgotten with them. For stores that keep outputs."""

# ruff: noqa: S101 - cases of a test suite: they assert

from __future__ import annotations

from typing import Any, cast

import pytest

from foliot.model.attempt import Attempt
from foliot.model.policy import Keep, Policy
from foliot.protocols import Output, OutputStore
from foliot.testing.contract.history import KEY, ended, remember, write_down
from foliot.testing.contract.sample import DAY, HOUR, SOURCE, a_job
from foliot.testing.contract.stage import Contract, Stage, scenario


def written(attempt: Attempt, text: str = "hello\n") -> Output:
    """What an attempt wrote."""
    return Output(attempt.job, attempt.run_key, attempt.number, text)


def outputs_of(stage: Stage) -> OutputStore:
    """The store, by its other seam."""
    store: Any = stage.store
    return cast("OutputStore", store)


class OutputContract(Contract):
    """Text goes in and comes out as it was, for as long as its attempt is remembered."""

    @pytest.mark.parametrize("text", ["x", "two\nlines\n", "Grüße \N{SNOWMAN}\x00\x1b[1m", "long " * 20_000])
    @scenario
    async def test_what_was_written_comes_back(self, stage: Stage, text: str) -> None:
        attempt = ended(stage.now)
        await remember(stage, [attempt], Keep())
        output = written(attempt, text)._replace(dropped=7)
        await outputs_of(stage).write_outputs([output])
        assert await outputs_of(stage).output(*attempt.key) == output

    @scenario
    async def test_attempts_of_one_run_have_outputs_of_their_own(self, stage: Stage) -> None:
        attempts = [ended(stage.now, number=number) for number in (1, 2)]
        await remember(stage, attempts, Keep())
        await outputs_of(stage).write_outputs([written(a, f"number {a.number}") for a in attempts])
        for attempt in attempts:
            found = await outputs_of(stage).output(*attempt.key)
            assert found is not None
            assert found.text == f"number {attempt.number}"

    @scenario
    async def test_written_again_it_is_replaced(self, stage: Stage) -> None:
        attempt = ended(stage.now)
        await remember(stage, [attempt], Keep())
        for text in ("some", "some more"):
            await outputs_of(stage).write_outputs([written(attempt, text)])
        assert await outputs_of(stage).output(*attempt.key) == written(attempt, "some more")

    @scenario
    async def test_who_wrote_nothing_has_none(self, stage: Stage) -> None:
        await outputs_of(stage).write_outputs([])
        assert await outputs_of(stage).output(f"{KEY}@2026-01-01T00:00:00Z", 1) is None

    @scenario
    async def test_it_is_forgotten_with_its_attempt(self, stage: Stage) -> None:
        attempts = [ended(stage.now - hours * HOUR) for hours in (2, 1, 0)]
        await remember(stage, attempts, Keep(last=1, days=None))
        await outputs_of(stage).write_outputs([written(a) for a in attempts])
        await stage.store.prune(stage.now, 1000)
        assert [await outputs_of(stage).output(*a.key) for a in attempts] == [
            None,
            None,
            written(attempts[-1]),
        ]

    @scenario
    async def test_it_is_forgotten_with_its_job(self, stage: Stage) -> None:
        await stage.declare(a_job(policy=Policy(remembers=False)), wake_at=stage.later(DAY))
        attempt = ended(stage.now)
        await stage.store.update(KEY, write_down([attempt]))
        await outputs_of(stage).write_outputs([written(attempt)])
        await stage.plan(removed=(KEY.removeprefix(f"{SOURCE}/"),))
        assert await outputs_of(stage).output(*attempt.key) is None
