"""Mistakes planted into the store on MongoDB: the contract finds each, or lives that end at every step."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from foliot.stores.mongodb import codec
from foliot_proof.stores.mongodb_bug import BUGS
from kill_loop.case import play_case
from kill_loop.test_kill_loop import kill_loop
from real_mongodb import shared_mongodb_url
from stores.mongodb.opening import fresh, open_mongodb

BY_THE_CONTRACT = [
    ("compare_no_mark", "test_a_pause_in_the_middle_of_a_claim_is_not_overwritten"),
    ("compare_no_mark", "test_the_last_of_two_that_end_at_once_knows_that_it_is_the_last"),
]
BY_LIVES = [("write_without_a_note", "MISSED"), ("count_before_all_is_prepared", "TORN")]


def play(case: str) -> None:
    play_case(case, partial(open_mongodb, fresh(shared_mongodb_url())))


@pytest.mark.parametrize(("bug", "case"), BY_THE_CONTRACT)
def test_the_contract_finds_a_mistake(bug: str, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    play(case)
    with monkeypatch.context() as planted:
        planted.setattr(
            codec, "guarded_by", codec.guarded_by
        )  # what a bug replaces is there again afterwards
        BUGS[bug]()
        with pytest.raises(AssertionError):
            play(case)


@pytest.mark.parametrize(("bug", "code"), BY_LIVES)
def test_lives_that_end_at_every_step_find_a_mistake(bug: str, code: str, tmp_path: Path) -> None:
    shared_mongodb_url()  # who has no server, skips
    status, _, said = kill_loop(tmp_path, "--kills", "60", "--store", "mongodb", "--bug", bug)
    assert status == 1, said
    assert code in said


def test_each_mistake_is_looked_for() -> None:
    assert {bug for bug, _ in (*BY_THE_CONTRACT, *BY_LIVES)} == BUGS.keys()
