"""The token of the environment, and the token file of a host."""

from __future__ import annotations

import asyncio
import os
import stat
from datetime import timedelta
from pathlib import Path

import pytest

from foliot.access import Authority, environment_token, open_token_file, token_in_file
from foliot.access.setting import write_token_file
from foliot.access.token import make_token
from foliot.errors_access import InvalidTokenError
from foliot.model.access import Scope
from foliot.protocols_access import TokenQuery
from foliot.stores.memory import MemoryStore
from foliot.testing.clock import ManualClock

NOW = ManualClock().now()
GOOD = "2b7e151628aed2a6abf7158809cf4f3c"


def test_without_a_variable_there_is_no_token() -> None:
    assert environment_token({"HOME": "/"}, NOW) is None


@pytest.mark.parametrize("given", [GOOD, f" {GOOD}\n"])
def test_a_token_comes_from_a_variable_or_a_file(tmp_path: Path, given: str) -> None:
    (tmp_path / "token").write_text(given)
    by_text = environment_token({"FOLIOT_API_TOKEN": given}, NOW)
    by_file = environment_token({"FOLIOT_API_TOKEN_FILE": str(tmp_path / "token")}, NOW)
    assert by_text == by_file is not None
    assert by_text is not None
    assert by_text.id.startswith("environment-")
    assert (by_text.scope, by_text.expires_at) == (Scope.ADMIN, None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "short",
        GOOD[:31],
        "x" * 40,
        "ab" * 20,
        "changeme-changeme-changeme-changeme",
        "CHANGE_ME_0123456789_abcdefghijklmn",
        "your-token-here-your-token-here-0123",
        "<insert token here, 32 characters>",
        "placeholder0123456789abcdefghijkl",
        "this-is-an-example-0123456789-abcdef",
        "ä" * 40,
        f"{GOOD} {GOOD}",
        GOOD * 40,
    ],
)
def test_a_bad_token_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(InvalidTokenError) as refusal:
        environment_token({"FOLIOT_API_TOKEN": text}, NOW)
    assert not text or text not in f"{refusal.value} {refusal.value.details} {refusal.value.hint}"
    assert refusal.value.hint


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff" * 40)
    for path in (tmp_path / "missing", tmp_path, tmp_path / "binary"):
        with pytest.raises(InvalidTokenError, match="cannot be read"):
            environment_token({"FOLIOT_API_TOKEN_FILE": str(path)}, NOW)


def test_both_variables_are_one_too_many() -> None:
    with pytest.raises(InvalidTokenError, match="both"):
        environment_token({"FOLIOT_API_TOKEN": GOOD, "FOLIOT_API_TOKEN_FILE": "/x"}, NOW)


# -- the token file --------------------------------------------------------------------------------


def test_the_first_start_makes_a_file_that_only_its_owner_can_read(tmp_path: Path) -> None:
    async def act() -> None:
        clock = ManualClock()
        store, folder = MemoryStore(clock), tmp_path / "state" / "foliot"
        before = os.umask(0)
        try:
            made = await open_token_file(store, folder, "web-1", clock.now())
        finally:
            os.umask(before)
        assert made is not None
        assert made.is_new
        assert made.path == folder / "api.token"
        assert stat.S_IMODE(made.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert [one.name for one in folder.iterdir()] == ["api.token"]
        text = token_in_file(made.path)
        assert text is not None
        identity = await Authority(store, clock).identify(text)
        assert identity is not None
        assert (identity.name, identity.scope, identity.sources) == (
            "first token of web-1",
            Scope.ADMIN,
            None,
        )
        again = await open_token_file(store, folder, "web-1", clock.now())
        assert again is not None
        assert (again.token.id, again.is_new) == (made.token.id, False)
        assert len(await store.tokens(TokenQuery())) == 1

    asyncio.run(act())


@pytest.mark.parametrize("case", ["no file", "another's file", "revoked", "expired", "no token in it"])
def test_with_tokens_in_the_store_no_new_one_is_made(tmp_path: Path, case: str) -> None:
    async def act() -> None:
        clock = ManualClock()
        store, path = MemoryStore(clock), tmp_path / "api.token"
        await store.add_token(make_token("ci", Scope.READ, clock.now()).token)
        mine = make_token("mine", Scope.ADMIN, clock.now(), life=timedelta(days=1))
        if case != "no file":
            write_token_file(path, mine)
        if case in ("revoked", "expired"):
            await store.add_token(mine.token)
        if case == "revoked":
            await store.revoke_token(mine.token.id)
        if case == "no token in it":
            path.write_text("\n")
        kept = path.read_text() if path.exists() else None
        await clock.advance(timedelta(days=1))
        assert await open_token_file(store, tmp_path, "web-1", clock.now()) is None
        assert (path.read_text() if path.exists() else None) == kept

    asyncio.run(act())


def test_a_token_that_was_revoked_does_not_come_back_with_its_file(tmp_path: Path) -> None:
    async def act() -> None:
        clock = ManualClock()
        store = MemoryStore(clock)
        first = await open_token_file(store, tmp_path, "web-1", clock.now())
        assert first is not None
        old = token_in_file(first.path)
        await store.revoke_token(first.token.id)
        second = await open_token_file(store, tmp_path, "web-1", clock.now())
        assert second is not None
        assert second.is_new
        assert token_in_file(second.path) != old
        assert await Authority(store, clock).identify(old or "") is None

    asyncio.run(act())


def test_a_link_in_the_place_of_the_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "api.token").symlink_to(tmp_path / "elsewhere")
    write_token_file(tmp_path / "api.token", make_token("ci", Scope.READ, NOW))
    assert not (tmp_path / "elsewhere").exists()
    assert not (tmp_path / "api.token").is_symlink()


def test_a_file_that_cannot_be_written_is_told_and_the_store_has_no_token(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    async def act() -> None:
        clock = ManualClock()
        store = MemoryStore(clock)
        with pytest.raises(InvalidTokenError, match="cannot be written"):
            await open_token_file(store, tmp_path / "file" / "state", "web-1", clock.now())
        assert not await store.tokens(TokenQuery())

    asyncio.run(act())


def test_two_daemons_with_stores_of_their_own_each_find_their_token_again(tmp_path: Path) -> None:
    async def scene() -> None:
        clock = ManualClock()
        first, second = MemoryStore(clock), MemoryStore(clock)
        ours = await open_token_file(first, tmp_path, "web-1", clock.now())
        theirs = await open_token_file(second, tmp_path, "web-1", clock.now())
        again = await open_token_file(first, tmp_path, "web-1", clock.now())
        assert ours is not None
        assert theirs is not None
        assert again is not None
        assert (theirs.path.name, again.path.name) == ("api.token", f"api-{ours.token.id}.token")
        assert again.token == ours.token
        assert stat.S_IMODE(again.path.stat().st_mode) == 0o600

    asyncio.run(scene())
