"""Secrets are hidden in what a command writes, however it comes in pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foliot.executors.shell.warden.mask import MASK, Mask

SECRETS = st.lists(st.text("abc", min_size=1, max_size=6), max_size=4)


def hidden(secrets: list[str], *pieces: str) -> str:
    mask = Mask(secrets)
    return "".join(mask.hide(piece) for piece in pieces) + mask.hide("", is_last=True)


@pytest.mark.parametrize(
    ("secrets", "pieces", "shown"),
    [
        ([], ["plain"], "plain"),
        (["hunter2"], ["the word is hunter2."], "the word is ***."),
        (["hunter2"], ["hun", "ter", "2", "hunter"], "***hunter"),
        (["hunter2", "hunter22"], ["hunter2", "2"], "***"),
        (["hunter2", "hunter22"], ["hunter2", "3"], "***3"),
        (["abcdef", "efghij"], ["abcdefghij"], "***ghij"),
        (["aab"], ["aa", "ab"], "a***"),
    ],
)
def test_a_secret_is_hidden_also_in_pieces(secrets: list[str], pieces: list[str], shown: str) -> None:
    assert hidden(secrets, *pieces) == shown


@given(SECRETS, st.lists(st.text("abcd", max_size=8), max_size=8))
def test_no_secret_is_seen_and_pieces_make_no_difference(secrets: list[str], pieces: list[str]) -> None:
    shown = hidden(secrets, *pieces)

    assert shown == hidden(secrets, "".join(pieces))
    assert all(secret not in shown for secret in secrets)
    if MASK not in shown:
        assert shown == "".join(pieces)
