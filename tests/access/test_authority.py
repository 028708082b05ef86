"""From a token, a cookie or a code to an identity: who is let in, and for how long."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import pytest

from foliot.access import Authority, Identity, environment_token, make_token
from foliot.access.token import hash_of
from foliot.errors import StoreUnavailableError
from foliot.model.access import Scope, Session, Token
from foliot.protocols_access import TokenQuery
from foliot.stores.memory import MemoryStore
from foliot.testing.clock import ManualClock

SECOND, MINUTE, HOUR, DAY = (timedelta(seconds=n) for n in (1, 60, 3600, 86_400))
TICK = timedelta(microseconds=1)


class CountingStore(MemoryStore):
    """Counts what it is asked."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.asked: Counter[str] = Counter()
        self.is_away = False

    async def token(self, token_id: str) -> Token | None:
        self.asked["token"] += 1
        return await super().token(token_id)

    async def session(self, session_hash: str) -> Session | None:
        self.asked["session"] += 1
        return await super().session(session_hash)

    async def note_token_used(self, token_id: str, at: datetime) -> None:
        self.asked["used"] += 1
        if self.is_away:
            raise StoreUnavailableError("note_token_used", "it is away")
        await super().note_token_used(token_id, at)

    async def note_session_seen(self, session_hash: str, at: datetime) -> None:
        self.asked["seen"] += 1
        await super().note_session_seen(session_hash, at)


class Scene:
    """A store with one token, and two nodes that look at it."""

    def __init__(self, environment: Token | None = None) -> None:
        self.clock = ManualClock()
        self.store = CountingStore(self.clock)
        self.authority = Authority(self.store, self.clock, environment)
        self.other = Authority(self.store, self.clock, environment)
        self.token, self.text = make_token("ci", Scope.WRITE, self.clock.now(), life=400 * DAY)


def played(act: Callable[[Scene], Awaitable[None]]) -> Callable[[], None]:
    def test() -> None:
        async def play() -> None:
            scene = Scene()
            await scene.store.add_token(scene.token)
            await act(scene)

        asyncio.run(play())

    test.__name__ = act.__name__
    return test


@played
async def test_who_shows_the_text_of_a_token_is_known(scene: Scene) -> None:
    assert await scene.authority.identify(scene.text) == Identity.of(scene.token)


@played
async def test_who_shows_anything_else_is_not(scene: Scene) -> None:
    wrong = [
        "", "x", scene.text[:-1], scene.text + "a", scene.text.upper(), scene.token.id, scene.token.hash,
        f"flt_{scene.token.id}_{scene.token.hash[:43]}", f"flt_{'a' * 10}_{scene.text[-43:]}",
        f"{scene.text[:-1]}{'a' if scene.text[-1] != 'a' else 'b'}", f" {scene.text}", "\ud800",
        "x" * 100_000,
    ]  # fmt: skip
    for text in wrong:
        assert await scene.authority.identify(text) is None, text
        assert await scene.authority.identify_session(text) is None, text
        assert await scene.authority.login(text) is None, text


@played
async def test_a_token_that_has_expired_lets_nobody_in(scene: Scene) -> None:
    await scene.clock.advance(400 * DAY - TICK)
    assert await scene.authority.identify(scene.text) is not None
    await scene.clock.advance(TICK)
    assert await scene.authority.identify(scene.text) is None


@played
async def test_the_store_is_asked_once_in_five_seconds(scene: Scene) -> None:
    for _ in range(10):
        await scene.authority.identify(scene.text)
        await scene.authority.identify(f"flt_{'a' * 10}_{'b' * 43}")
    assert scene.store.asked["token"] == 2
    await scene.clock.advance(5 * SECOND)
    await scene.authority.identify(scene.text)
    assert scene.store.asked["token"] == 3


@played
async def test_a_token_that_is_revoked_is_unknown_here_at_once_and_elsewhere_within_five_seconds(
    scene: Scene,
) -> None:
    login = await scene.authority.login(scene.text)
    assert login is not None
    for authority in (scene.authority, scene.other):
        assert await authority.identify(scene.text) is not None
        assert await authority.identify_session(login.cookie) is not None
    assert await scene.authority.revoke(scene.token.id)
    assert not await scene.authority.revoke(scene.token.id)
    assert await scene.authority.identify(scene.text) is None
    assert await scene.authority.identify_session(login.cookie) is None
    for _ in range(5):  # a token that is used all the time is forgotten, too
        await scene.clock.advance(SECOND)
        await scene.other.identify(scene.text)
    assert await scene.other.identify(scene.text) is None
    assert await scene.other.identify_session(login.cookie) is None


@played
async def test_the_last_use_is_written_once_a_minute(scene: Scene) -> None:
    for _ in range(60):
        await scene.authority.identify(scene.text)
        await scene.clock.advance(SECOND)
    assert scene.store.asked["used"] == 1
    await scene.authority.identify(scene.text)
    assert scene.store.asked["used"] == 2
    (token,) = await scene.store.tokens(TokenQuery())
    assert token.last_used_at == scene.clock.now()


@played
async def test_to_note_a_use_does_not_put_a_revocation_off(scene: Scene) -> None:
    await scene.other.identify(scene.text)
    await scene.clock.advance(56 * SECOND)
    await scene.other.identify(scene.text)  # the store is asked
    await scene.clock.advance(4 * SECOND)
    await scene.other.identify(scene.text)  # the use is noted
    assert scene.store.asked["used"] == 2
    await scene.authority.revoke(scene.token.id)
    await scene.clock.advance(SECOND)
    assert await scene.other.identify(scene.text) is None


@played
async def test_a_use_that_cannot_be_written_keeps_nobody_out(scene: Scene) -> None:
    scene.store.is_away = True
    assert await scene.authority.identify(scene.text) is not None


@played
async def test_what_is_remembered_of_strangers_is_bounded(scene: Scene) -> None:
    for n in range(5000):
        await scene.authority.identify(f"flt_{n:010}_{'b' * 43}")
    assert len(scene.authority._tokens._said) == 4096


# -- sessions and codes ----------------------------------------------------------------------------


@played
async def test_a_login_gives_a_cookie_that_every_node_knows(scene: Scene) -> None:
    login = await scene.authority.login(scene.text)
    assert login is not None
    assert login.identity == Identity.of(scene.token, is_session=True)
    assert await scene.other.identify_session(login.cookie) == login.identity
    assert await scene.store.session(login.cookie) is None, "only its hash is kept"
    assert await scene.store.session(hash_of(login.cookie)) is not None


@played
async def test_a_cookie_is_no_token_and_a_token_no_cookie(scene: Scene) -> None:
    login = await scene.authority.login(scene.text)
    assert login is not None
    assert await scene.authority.identify(login.cookie) is None
    assert await scene.authority.login(login.cookie) is None
    assert await scene.authority.identify_session(scene.text) is None


@played
async def test_a_session_ends_after_twelve_idle_hours(scene: Scene) -> None:
    login = await scene.authority.login(scene.text)
    assert login is not None
    for _ in range(3):
        await scene.clock.advance(12 * HOUR - TICK)
        assert await scene.authority.identify_session(login.cookie) is not None
    await scene.clock.advance(12 * HOUR)
    assert await scene.authority.identify_session(login.cookie) is None


@played
async def test_a_session_ends_after_seven_days_at_most(scene: Scene) -> None:
    login = await scene.authority.login(scene.text)
    assert login is not None
    for _ in range(15):
        await scene.clock.advance(11 * HOUR)
        assert await scene.authority.identify_session(login.cookie) is not None
    await scene.clock.advance(3 * HOUR - TICK)
    assert await scene.authority.identify_session(login.cookie) is not None
    await scene.clock.advance(TICK)
    assert await scene.authority.identify_session(login.cookie) is None


@played
async def test_a_session_ends_with_its_token(scene: Scene) -> None:
    brief = make_token("brief", Scope.READ, scene.clock.now(), life=HOUR)
    await scene.store.add_token(brief.token)
    login = await scene.authority.login(brief.text)
    assert login is not None
    await scene.clock.advance(HOUR)
    assert await scene.authority.identify_session(login.cookie) is None


@played
async def test_that_a_session_is_seen_is_written_once_a_minute(scene: Scene) -> None:
    login = await scene.authority.login(scene.text)
    assert login is not None
    for _ in range(120):
        await scene.clock.advance(SECOND)
        await scene.authority.identify_session(login.cookie)
    assert scene.store.asked["seen"] == 2
    assert scene.store.asked["session"] <= 25


@played
async def test_a_logout_ends_the_session(scene: Scene) -> None:
    login = await scene.authority.login(scene.text)
    assert login is not None
    for authority in (scene.authority, scene.other):
        assert await authority.identify_session(login.cookie) is not None
    await scene.authority.logout(login.cookie)
    assert await scene.authority.identify_session(login.cookie) is None
    await scene.clock.advance(5 * SECOND)
    assert await scene.other.identify_session(login.cookie) is None


@played
async def test_a_code_opens_one_session(scene: Scene) -> None:
    code = await scene.authority.new_code(scene.token.id)
    assert await scene.authority.identify(code) is None
    login = await scene.other.login(code)
    assert login is not None
    assert login.identity.token_id == scene.token.id
    assert await scene.authority.login(code) is None


@pytest.mark.parametrize(("age", "is_let_in"), [(10 * MINUTE - TICK, True), (10 * MINUTE, False)])
def test_a_code_lasts_for_ten_minutes(age: timedelta, is_let_in: bool) -> None:  # noqa: FBT001 - a row of a table
    async def act() -> None:
        scene = Scene()
        await scene.store.add_token(scene.token)
        code = await scene.authority.new_code(scene.token.id)
        await scene.clock.advance(age)
        assert (await scene.authority.login(code) is not None) is is_let_in

    asyncio.run(act())


@played
async def test_a_code_of_a_token_that_is_gone_opens_nothing(scene: Scene) -> None:
    code = await scene.authority.new_code("gone")
    assert await scene.authority.login(code) is None


# -- the token of the environment ------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["s3cr3t-of-a-container-0123456789abcdef", f"flt_abcdefghij_{'aB3-_' * 9}"[:58]]
)
def test_the_token_of_the_environment_is_known_without_a_store(text: str) -> None:
    async def act() -> None:
        clock = ManualClock()
        token = environment_token({"FOLIOT_API_TOKEN": text}, clock.now())
        scene = Scene(token)
        identity = await scene.authority.identify(text)
        assert identity is not None
        assert (identity.name, identity.scope) == ("environment", Scope.ADMIN)
        assert await scene.authority.identify(text + "x") is None
        assert await Authority(scene.store, scene.clock).identify(text) is None
        login = await scene.authority.login(text)
        assert login is not None
        assert await scene.other.identify_session(login.cookie) == login.identity
        assert scene.store.asked["used"] == 0

    asyncio.run(act())


def test_a_new_token_of_the_environment_ends_the_sessions_of_the_old_one() -> None:
    async def act() -> None:
        old, new = (f"{word}-secret-of-a-container-0123456789abcdef" for word in ("old", "new"))
        scene = Scene(environment_token({"FOLIOT_API_TOKEN": old}, ManualClock().now()))
        login = await scene.authority.login(old)
        assert login is not None
        token = environment_token({"FOLIOT_API_TOKEN": new}, scene.clock.now())
        restarted = Authority(scene.store, scene.clock, token)
        assert await restarted.identify(new) is not None
        assert await restarted.identify_session(login.cookie) is None

    asyncio.run(act())
