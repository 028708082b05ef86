"""A long history is looked through once."""

from __future__ import annotations

from foliot.model.attempt import Attempt
from foliot.model.state import Skip
from foliot.why import Verdict
from why.test_why import HOUR, NOW, RAN, past


def test_each_attempt_is_looked_at_once_for_the_run_that_was_in_the_way() -> None:
    """A history of 30 days has 43,200 attempts: to look at each of them for each would take minutes."""
    looks = 0

    class Counting(Attempt):
        @property
        def run_key(self) -> str:
            nonlocal looks
            looks += 1
            return super().run_key

    at = NOW - 48 * HOUR
    runs: list[Attempt] = [
        Counting(
            *RAN._replace(scheduled_for=at - n * HOUR, claimed_at=at - n * HOUR, finished_at=at - n * HOUR)
        )
        for n in range(1, 500)
    ]
    skip = Skip("s/n", at, at, "a run was still open")
    assert past(runs, [skip], at) == (Verdict.SKIPPED, "skipped: a run was still open")
    assert looks <= 2 * len(runs)
