"""Texts of tokens: what they look like, what is kept of them, and how a secret is compared."""

from __future__ import annotations

import hmac
import re
from datetime import timedelta
from hashlib import sha256
from typing import Any

import pytest

from foliot.access import make_token
from foliot.access.token import Presented, hash_of, is_secret_of, read_token
from foliot.errors_access import InvalidTokenError
from foliot.model.access import Right, Scope
from foliot.testing.clock import ManualClock

NOW = ManualClock().now()


def test_a_token_has_an_id_and_a_secret_of_256_bits() -> None:
    made = make_token("ci", Scope.READ, NOW)
    assert re.fullmatch(r"flt_[a-z0-9]{10}_[A-Za-z0-9_-]{43}", made.text)
    token_id, secret = read_token(made.text)
    assert made.token.id == token_id
    assert made.token.hash == sha256(secret.encode()).hexdigest()
    assert secret not in repr(made.token)


def test_no_two_tokens_are_alike() -> None:
    made = [make_token("ci", Scope.READ, NOW) for _ in range(50)]
    assert len({one.token.id for one in made}) == len({one.token.hash for one in made}) == 50


def test_a_secret_may_hold_the_mark_that_stands_before_it() -> None:
    text = f"flt_abcdefghi0_{'_-' * 21}_"
    assert read_token(text) == Presented("abcdefghi0", f"{'_-' * 21}_")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "flt_",
        f"flt_abcdefghij_{'a' * 42}",
        f"flt_abcdefghij_{'a' * 44}",
        f"FLT_abcdefghij_{'a' * 43}",
        f"flt_ABCDEFGHIJ_{'a' * 43}",
        f"flt_abcdefghij_{'ä' * 43}",
        f" flt_abcdefghij_{'a' * 43}",
        f"flt_abcdefghij_{'a' * 43}\n",
    ],
)
def test_a_text_of_another_form_can_only_be_the_token_of_the_environment(text: str) -> None:
    assert read_token(text) == Presented(f"environment-{hash_of(text)[:10]}", text)


def test_a_token_says_what_it_may_and_until_when() -> None:
    made = make_token(
        "ci", Scope.WRITE, NOW, sources=["ops", "billing", "ops"], rights=[Right.SHELL, Right.HTTP],
        life=timedelta(days=90),
    ).token  # fmt: skip
    assert (made.name, made.scope, made.created_at, made.last_used_at) == ("ci", Scope.WRITE, NOW, None)
    assert made.sources == ("billing", "ops")
    assert made.rights == (Right.HTTP, Right.SHELL)
    assert made.expires_at == NOW + timedelta(days=90)
    assert made.is_valid(NOW + timedelta(days=90, microseconds=-1))
    assert not made.is_valid(NOW + timedelta(days=90))


@pytest.mark.parametrize(
    "facts",
    [
        {"name": ""},
        {"name": "a" * 201},
        {"name": "two\nlines"},
        {"sources": []},
        {"sources": [""]},
        {"life": timedelta(0)},
        {"life": -timedelta(days=1)},
        {"life": timedelta(days=40_000)},
    ],
)
def test_a_token_that_cannot_be_is_refused(facts: dict[str, Any]) -> None:
    with pytest.raises(InvalidTokenError):
        make_token(**{"name": "ci", "scope": Scope.READ, "now": NOW, **facts})


def test_a_secret_is_compared_in_constant_time_also_if_there_is_no_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[tuple[str, str]] = []
    compare = hmac.compare_digest

    def spy(one: str, other: str) -> bool:
        compared.append((one, other))
        return compare(one, other)

    monkeypatch.setattr(hmac, "compare_digest", spy)
    made = make_token("ci", Scope.READ, NOW)
    secret = read_token(made.text).secret
    assert is_secret_of(secret, made.token)
    assert not is_secret_of("wrong", made.token)
    assert not is_secret_of(secret, None)
    assert [len(stored) for _, stored in compared] == [64, 64, 64]


def test_not_even_the_secret_of_the_stand_in_is_let_in() -> None:
    assert not is_secret_of("no token has this secret", None)


def test_half_a_surrogate_pair_has_a_hash_too() -> None:
    assert len(hash_of("\ud800")) == 64
