"""When a retry comes: delay, back-off, jitter, and how many."""

from __future__ import annotations

from datetime import timedelta

import pytest

from engine.plan_cases import instant
from foliot.engine.retry import MOST_LOSSES, may_restart, may_retry, retry_at
from foliot.model.attempt import Attempt, AttemptState, Trigger
from foliot.model.policy import Retry
from foliot.schedules.duration import parse_duration

ENDED_AT = instant("10:00")


def attempt(number: int = 1, second: int = 0) -> Attempt:
    at = instant(f"09:59:{second:02}")
    trigger = Trigger.SCHEDULE if number == 1 else Trigger.RETRY
    return Attempt("tests/job", number, trigger, AttemptState.RUNNING, at, retries=number - 1)


@pytest.mark.parametrize(
    ("retry", "seconds"),
    [
        (Retry(max=9, delay="10s"), [10, 10, 10, 10]),
        (Retry(max=9, delay="10s", backoff=2), [10, 20, 40, 80]),
        (Retry(max=9, delay="10s", backoff=2, longest="30s"), [10, 20, 30, 30]),
        (Retry(max=9, delay="10s", backoff=1.5), [10, 15, 22.5, 33.75]),
        (Retry(max=9, delay="0s", backoff=2), [1, 1, 1, 1]),
        (Retry(max=9, delay="1s", backoff=10, longest="1h"), [1, 10, 100, 1000]),
    ],
)
def test_delays_grow_by_the_back_off_up_to_the_longest(retry: Retry, seconds: list[float]) -> None:
    delays = [retry_at(retry, attempt(n), ENDED_AT) - ENDED_AT for n in range(1, 5)]
    assert [delay.total_seconds() for delay in delays] == seconds


@pytest.mark.parametrize(
    ("wished", "seconds"), [(None, 10), ("0s", 10), ("7s", 10), ("20s", 20), ("1m", 30), ("900000h", 30)]
)
def test_a_wish_to_wait_is_heeded_up_to_the_longest_delay(wished: str | None, seconds: int) -> None:
    retry = Retry(max=9, delay="10s", longest="30s")
    wait = None if wished is None else parse_duration(wished)
    assert retry_at(retry, attempt(), ENDED_AT, wait) - ENDED_AT == timedelta(seconds=seconds)


def test_the_thousandth_retry_overflows_nothing() -> None:
    retry = Retry(max=None, delay="1h", backoff=10, longest="24h")
    assert retry_at(retry, attempt(1000), ENDED_AT) - ENDED_AT == timedelta(hours=24)


def test_jitter_stretches_by_its_fraction_and_differs_by_run_and_attempt() -> None:
    retry = Retry(max=None, delay="100s", jitter=0.5)
    delays = [
        (retry_at(retry, attempt(number, second), ENDED_AT) - ENDED_AT).total_seconds()
        for number in range(1, 21)
        for second in range(60)
    ]
    assert min(delays) >= 100
    assert max(delays) <= 150
    assert len(set(delays)) == len(delays)
    assert 120 < sum(delays) / len(delays) < 130


def test_jitter_is_the_same_on_every_node_and_in_every_version() -> None:
    retry = Retry(max=None, delay="100s", jitter=1)
    here = attempt()._replace(node="node-1", token=7)
    there = attempt()._replace(node="node-2", token=9)
    assert retry_at(retry, here, ENDED_AT) == retry_at(retry, there, ENDED_AT)


@pytest.mark.parametrize(
    ("most", "number", "may"), [(0, 1, False), (1, 1, True), (1, 2, False), (None, 99, True)]
)
def test_max_counts_retries(most: int | None, number: int, *, may: bool) -> None:
    assert may_retry(Retry(max=most), attempt(number)) is may


def test_restarts_and_reruns_are_no_retries() -> None:
    restarted = attempt()._replace(number=7, trigger=Trigger.LOST)
    assert may_retry(Retry(max=1), restarted)
    policy = Retry(max=9, delay="10s", backoff=2)
    assert retry_at(policy, restarted, ENDED_AT) - ENDED_AT == timedelta(seconds=10)


@pytest.mark.parametrize(("losses", "may"), [(0, True), (MOST_LOSSES - 2, True), (MOST_LOSSES - 1, False)])
def test_a_run_is_given_up_after_so_many_losses_in_a_row(losses: int, *, may: bool) -> None:
    assert may_restart(Retry(max=3), attempt()._replace(losses=losses)) is may
    assert may_restart(Retry(max=None), attempt()._replace(losses=losses)) is True
