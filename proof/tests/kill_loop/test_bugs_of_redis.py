"""Mistakes planted into the store on Redis: the contract finds each, or lives that end at every step."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from foliot.stores.redis import herd, script
from foliot.stores.redis.encode import Encoder
from foliot_proof.stores.redis_bug import BUGS
from kill_loop.case import play_case
from kill_loop.test_kill_loop import kill_loop
from real_redis import redis_url_of
from stores.redis.opening import fresh, open_redis

BY_THE_CONTRACT = [
    ("mark_by_the_token", "test_a_success_in_the_middle_of_a_claim_that_found_the_job_busy_is_seen"),
    ("mark_by_the_token", "test_the_last_of_two_that_end_at_once_knows_that_it_is_the_last"),
    ("take_out_before_the_compare", "test_they_are_claimed_when_they_fit"),
    ("take_the_hold_for_a_lock", "test_a_pause_in_the_middle_of_a_claim_is_not_overwritten"),
]
BY_LIVES = [("apply_before_it_counts", "TORN")]


def play(case: str) -> None:
    play_case(case, partial(open_redis, fresh(redis_url_of("redis"))))


@pytest.mark.parametrize(("bug", "case"), BY_THE_CONTRACT)
def test_the_contract_finds_a_mistake(bug: str, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    play(case)
    with monkeypatch.context() as planted:
        planted.setattr(script, "script", script.script)  # what a bug replaces is there again afterwards
        planted.setattr(Encoder, "words", Encoder.words)
        planted.setattr(herd, "plain_parts", vars(herd)["plain_parts"])
        BUGS[bug]()
        with pytest.raises(AssertionError):
            play(case)


@pytest.mark.parametrize(("bug", "code"), BY_LIVES)
def test_lives_that_end_at_every_step_find_a_mistake(bug: str, code: str, tmp_path: Path) -> None:
    redis_url_of("redis")  # who has no server, skips
    status, _, said = kill_loop(tmp_path, "--kills", "40", "--store", "redis", "--bug", bug)
    assert status == 1, said
    assert code in said


def test_each_mistake_is_looked_for() -> None:
    assert {bug for bug, _ in (*BY_THE_CONTRACT, *BY_LIVES)} == BUGS.keys()
