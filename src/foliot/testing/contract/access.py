"""Tokens, sessions and login codes: kept as they are, used up once. For stores that the API works on."""

# ruff: noqa: S101, S106, S107, PLR2004 - cases of a test suite: they assert, and compare with what is set up

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, cast

import pytest

from foliot.errors import InvalidJobError
from foliot.model.access import Right, Scope
from foliot.protocols_access import AccessStore, LoginCode, Session, Token, TokenQuery
from foliot.testing.contract.sample import DAY, HOUR, MINUTE, SECOND, TICK
from foliot.testing.contract.stage import Contract, Stage, scenario


def access_of(stage: Stage) -> AccessStore:
    """The store, by its other seam."""
    store: Any = stage.store
    return cast("AccessStore", store)


def a_token(stage: Stage, token_id: str = "t1", **facts: Any) -> Token:
    """A token."""
    return Token(token_id, "ci", f"hash of {token_id}", Scope.READ, stage.now)._replace(**facts)


def a_session(stage: Stage, name: str = "s1", token_id: str = "t1", **facts: Any) -> Session:
    """A session that has just begun."""
    return Session(name, token_id, **({"created_at": stage.now, "seen_at": stage.now} | facts))


async def prune_all(stage: Stage, limit: int = 100) -> int:
    """Forget all that is to be forgotten; how much that was."""
    total = 0
    while forgotten := (await stage.store.prune(stage.now, limit)).forgotten:
        total += forgotten
    return total


class AccessContract(Contract):
    """What is kept comes back as it was, until it is revoked, ended, used up, or too old."""

    @scenario
    async def test_a_token_comes_back_as_it_was(self, stage: Stage) -> None:
        store = access_of(stage)
        whole = a_token(
            stage, name="ci \N{SNOWMAN}", scope=Scope.WRITE, sources=("billing", "ops"),
            rights=(Right.HTTP, Right.SHELL), expires_at=stage.now + TICK,
        )  # fmt: skip
        plain = a_token(stage, "t2")
        for token in (whole, plain):
            assert await store.add_token(token)
            assert await store.token(token.id) == token
        assert await store.token("t3") is None

    @scenario
    async def test_the_id_of_a_token_is_its_own(self, stage: Stage) -> None:
        store, token = access_of(stage), a_token(stage)
        assert await store.add_token(token)
        assert await store.add_token(token), "an answer may have been lost"
        assert not await store.add_token(token._replace(hash="another", scope=Scope.ADMIN))
        assert await store.token("t1") == token

    @scenario
    async def test_the_last_use_of_a_token_only_goes_forward(self, stage: Stage) -> None:
        store, token = access_of(stage), a_token(stage)
        await store.add_token(token)
        for at, expected in (
            (stage.now, stage.now),
            (stage.later(HOUR),) * 2,
            (stage.now, stage.later(HOUR)),
        ):
            await store.note_token_used("t1", at)
            assert await store.token("t1") == token._replace(last_used_at=expected)
        await store.note_token_used("unknown", stage.now)
        assert await store.token("unknown") is None

    @scenario
    async def test_a_token_that_is_revoked_takes_its_sessions_and_codes_along(self, stage: Stage) -> None:
        store = access_of(stage)
        for name in ("t1", "t2"):
            await store.add_token(a_token(stage, name))
            await store.add_session(a_session(stage, f"s of {name}", name))
            await store.add_code(LoginCode(f"c of {name}", name, stage.now))
        assert await store.revoke_token("t1")
        assert not await store.revoke_token("t1")
        assert await store.token("t1") is None
        assert await store.session("s of t1") is None
        assert await store.take_code("c of t1") is None
        assert await store.token("t2") is not None
        assert await store.session("s of t2") is not None
        assert await store.take_code("c of t2") is not None

    @scenario
    async def test_pages_of_tokens_have_each_token_once_the_newest_first(self, stage: Stage) -> None:
        """Those of one instant, too."""
        store = access_of(stage)
        tokens = [a_token(stage, f"t{n}", created_at=stage.now - (n // 3) * SECOND) for n in range(8)]
        for token in tokens:
            await store.add_token(token)
        found: list[Token] = []
        after: str | None = ""
        while after is not None:
            page = await store.tokens(TokenQuery(after, 2))
            assert len(page) <= 2
            found += page
            after = page.next
        assert found == sorted(tokens, key=lambda one: (one.created_at, one.id), reverse=True)

    @scenario
    async def test_a_place_that_no_page_of_tokens_gave_is_refused(self, stage: Stage) -> None:
        with pytest.raises(InvalidJobError):
            await access_of(stage).tokens(TokenQuery("nowhere"))

    @scenario
    async def test_a_session_lasts_while_it_is_seen(self, stage: Stage) -> None:
        store, session = access_of(stage), a_session(stage)
        await store.add_session(session)
        await store.add_session(session._replace(token_id="another"))
        assert await store.session("s1") == session
        for at, expected in ((stage.later(HOUR),) * 2, (stage.now, stage.later(HOUR))):
            await store.note_session_seen("s1", at)
            assert await store.session("s1") == session._replace(seen_at=expected)
        assert await store.end_session("s1")
        assert not await store.end_session("s1")
        await store.note_session_seen("s1", stage.later(DAY))
        assert await store.session("s1") is None

    @scenario
    async def test_a_code_is_used_once(self, stage: Stage) -> None:
        store, code = access_of(stage), LoginCode("c1", "t1", stage.now)
        await store.add_code(code)
        await store.add_code(code._replace(token_id="another"))
        assert await store.take_code("c1") == code
        assert await store.take_code("c1") is None

    @scenario
    async def test_of_many_who_use_a_code_at_once_one_gets_it(self, stage: Stage) -> None:
        store, code = access_of(stage), LoginCode("c1", "t1", stage.now)
        await store.add_code(code)
        async with stage.open_store() as second:
            stores = [store, cast("AccessStore", cast("Any", second))] * 4
            taken = await asyncio.gather(*(one.take_code("c1") for one in stores))
        assert [one for one in taken if one is not None] == [code]

    @scenario
    async def test_sessions_and_codes_that_are_not_valid_are_forgotten(self, stage: Stage) -> None:
        store, now = access_of(stage), stage.now
        idle, life, code_life = timedelta(hours=12), timedelta(days=7), timedelta(minutes=10)
        sessions = {
            "idle": (now - DAY, now - idle),
            "not idle": (now - DAY, now - idle + TICK),
            "old": (now - life, now),
            "not old": (now - life + TICK, now),
        }
        for name, (created_at, seen_at) in sessions.items():
            await store.add_session(a_session(stage, name, created_at=created_at, seen_at=seen_at))
        await store.add_session(a_session(stage, "seen again", created_at=now - DAY, seen_at=now - DAY))
        await store.note_session_seen("seen again", now)
        await store.add_code(LoginCode("old", "t1", now - code_life))
        await store.add_code(LoginCode("new", "t1", now - code_life + TICK))
        await prune_all(stage)
        kept = {name for name in (*sessions, "seen again") if await store.session(name) is not None}
        assert kept == {"not idle", "not old", "seen again"}
        assert await store.take_code("old") is None
        assert await store.take_code("new") is not None

    @scenario
    async def test_forgetting_is_done_in_portions_and_leaves_tokens_alone(self, stage: Stage) -> None:
        store = access_of(stage)
        await store.add_token(
            a_token(stage, created_at=stage.now - 1000 * DAY, expires_at=stage.now - MINUTE)
        )
        for n in range(5):
            await store.add_session(a_session(stage, f"s{n}", created_at=stage.now - 30 * DAY))
        assert 0 < (await stage.store.prune(stage.now, 2)).forgotten <= 2
        assert await prune_all(stage, 2) == 3
        assert await store.token("t1") is not None
