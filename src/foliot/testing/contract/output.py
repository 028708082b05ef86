"""Outputs: what attempts wrote is kept once, and forgotten with them. For stores that keep outputs."""

# ruff: noqa: S101, PLR2004 - cases of a test suite: they assert, and compare with what they have set up

from __future__ import annotations

from typing import Any, cast

import pytest

from foliot.model.attempt import Attempt
from foliot.model.output import gap_mark
from foliot.model.policy import Keep, Policy
from foliot.protocols import Output, OutputPart, OutputStore
from foliot.testing.contract.history import KEY, ended, remember, write_down
from foliot.testing.contract.sample import DAY, HOUR, SOURCE, a_job
from foliot.testing.contract.stage import Contract, Stage, scenario


def written(attempt: Attempt, text: str = "hello\n") -> Output:
    """What an attempt wrote."""
    return Output(attempt.job, attempt.run_key, attempt.number, text)


def part(attempt: Attempt, start: int, text: str, kept_from: int = 0) -> OutputPart:
    """What an attempt that runs has written."""
    return OutputPart(attempt.job, attempt.run_key, attempt.number, start, text, kept_from)


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

    # -- parts, while it runs ----------------------------------------------------------------------

    @scenario
    async def test_what_is_written_in_parts_is_read_as_one_and_from_any_place_on(self, stage: Stage) -> None:
        attempt, store = ended(stage.now), outputs_of(stage)
        await remember(stage, [attempt], Keep())
        for start, text in ((0, "one "), (4, "Grüße\n\x00"), (11, "three")):
            await store.append_outputs([part(attempt, start, text)])
        whole = "one Grüße\n\x00three"
        assert await store.output(*attempt.key) == written(attempt, whole)
        for place in range(len(whole) + 2):
            found = await store.output(*attempt.key, place)
            assert found is not None
            assert found.text == whole[place:]
            assert found.end == len(whole)

    @scenario
    async def test_a_part_that_comes_again_changes_nothing(self, stage: Stage) -> None:
        attempt, store = ended(stage.now), outputs_of(stage)
        await remember(stage, [attempt], Keep())
        for start, text in ((0, "one "), (4, "two "), (4, "two "), (0, "one ")):
            await store.append_outputs([part(attempt, start, text)])
        assert await store.output(*attempt.key) == written(attempt, "one two ")

    @scenario
    async def test_the_whole_takes_the_place_of_parts_and_late_parts_do_not_count(self, stage: Stage) -> None:
        attempt, store = ended(stage.now), outputs_of(stage)
        await remember(stage, [attempt], Keep())
        await store.append_outputs([part(attempt, 0, "one ")])
        await store.write_outputs([written(attempt, "one two")])
        await store.append_outputs([part(attempt, 4, "late")])
        assert await store.output(*attempt.key) == written(attempt, "one two")
        assert await store.output(*attempt.key, 4) == written(attempt, "two")._replace(start=4)

    @scenario
    async def test_the_middle_of_much_that_is_written_is_not_kept(self, stage: Stage) -> None:
        attempt, store = ended(stage.now), outputs_of(stage)
        await remember(stage, [attempt], Keep())
        size = 10_000
        for number in range(12):
            kept_from = (number - 5) * size if number > 7 else 0
            await store.append_outputs([part(attempt, number * size, str(number % 10) * size, kept_from)])
        found = await store.output(*attempt.key)
        assert found is not None
        # The first parts begin within the beginning that is kept, the last are no older than was asked for.
        head, tail = "0" * size + "1" * size, "".join(str(n % 10) * size for n in range(6, 12))
        assert found == written(attempt, head + gap_mark(4 * size) + tail)._replace(dropped=4 * size)
        assert found.end == 12 * size
        later = await store.output(*attempt.key, 11 * size)
        assert later is not None
        assert (later.text, later.start, later.dropped) == ("1" * size, 11 * size, 0)

    @scenario
    async def test_parts_are_forgotten_with_their_attempt(self, stage: Stage) -> None:
        attempts = [ended(stage.now - hours * HOUR) for hours in (2, 1, 0)]
        await remember(stage, attempts, Keep(last=1, days=None))
        store = outputs_of(stage)
        await store.append_outputs([part(a, 0, "hello\n") for a in attempts])
        await stage.store.prune(stage.now, 1000)
        texts = [await store.output(*a.key) for a in attempts]
        assert texts == [None, None, written(attempts[-1])]
        await remember(stage, attempts[:1], Keep())
        await store.append_outputs([part(attempts[0], 3, "new")])
        found = await store.output(*attempts[0].key)
        assert found is not None
        assert found.text.endswith("new")
        assert "hello" not in found.text
