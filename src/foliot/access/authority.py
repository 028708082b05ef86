"""From what a request shows to an identity. One authority serves one event loop."""

from __future__ import annotations

import secrets
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Generic, NamedTuple, TypeVar

from foliot.access.identity import Identity
from foliot.access.token import hash_of, is_secret_of, read_token
from foliot.errors import StoreUnavailableError
from foliot.model.access import LoginCode, Session, Token
from foliot.protocols import Clock
from foliot.protocols_access import AccessStore

REMEMBERED = 5.0  # seconds
_MOST_REMEMBERED = 4096
_MOST_REVOKED = 1000
_NOTED_EACH = timedelta(minutes=1)
_LONGEST_TEXT = 1000

_Found = TypeVar("_Found")


class Login(NamedTuple):
    """A session that has begun. `cookie` is its secret: the browser keeps it, and the store does not."""

    identity: Identity
    cookie: str


class Authority:
    """Knows tokens, sessions and codes. `environment` is a token that is in no store."""

    def __init__(self, store: AccessStore, clock: Clock, environment: Token | None = None) -> None:
        self._store = store
        self._clock = clock
        self._environment = environment
        self.revoked: deque[str] = deque(maxlen=_MOST_REVOKED)  # ids of tokens that were revoked here
        self._tokens = _Memory[Token](clock, store.token)
        self._sessions = _Memory[Session](clock, store.session)

    async def identify(self, text: str) -> Identity | None:
        """The identity of a token's text; None if it is not valid."""
        token = await self._shown(text)
        return None if token is None else Identity.of(token)

    def knows(self, text: str) -> bool:
        """Whether the token of a text was there when it was last asked for: then its secret is compared here.

        For others the store is asked. A client that shows one text after the other must not make it work.
        """
        token_id, _ = read_token(text[:_LONGEST_TEXT])
        is_of_environment = self._environment is not None and token_id == self._environment.id
        return is_of_environment or self._tokens.knows(token_id)

    def knows_session(self, cookie: str) -> bool:
        """The same, for a session."""
        return self._sessions.knows(hash_of(cookie))

    async def identify_session(self, cookie: str) -> Identity | None:
        """The identity of a session's cookie; None if the session or its token is not valid."""
        now, key = self._clock.now(), hash_of(cookie)
        session = await self._sessions.get(key) if len(cookie) <= _LONGEST_TEXT else None
        if session is None or not session.is_valid(now):
            return None
        token = await self._token(session.token_id)
        if token is None or not token.is_valid(now):
            return None
        if now - session.seen_at >= _NOTED_EACH:
            self._sessions.put(key, session._replace(seen_at=now))
            with suppress(StoreUnavailableError):
                await self._store.note_session_seen(key, now)
        return Identity.of(token, is_session=True)

    async def login(self, text: str) -> Login | None:
        """Begin a session with a token or a login code; None if it is neither. A code works once."""
        token = await self._shown(text) or await self._coded(text)
        if token is None:
            return None
        now, cookie = self._clock.now(), secrets.token_urlsafe(32)
        session = Session(hash_of(cookie), token.id, now, now)
        await self._store.add_session(session)
        self._sessions.keep(session.hash, session, self._clock.monotonic())
        return Login(Identity.of(token, is_session=True), cookie)

    async def logout(self, cookie: str) -> None:
        """End a session; other nodes may know it for five seconds more."""
        key = hash_of(cookie)
        await self._store.end_session(key)
        self._sessions.drop(key)

    async def new_code(self, token_id: str) -> str:
        """A code that opens one session of a token, within ten minutes."""
        code = secrets.token_urlsafe(32)
        await self._store.add_code(LoginCode(hash_of(code), token_id, self._clock.now()))
        return code

    async def revoke(self, token_id: str) -> bool:
        """Forget a token, here at once, on other nodes within five seconds; whether it was there."""
        was_there = await self._store.revoke_token(token_id)
        self._tokens.drop(token_id)
        self.revoked.append(token_id)
        return was_there

    async def _shown(self, text: str) -> Token | None:
        token_id, secret = read_token(text[:_LONGEST_TEXT])
        token = await self._token(token_id)
        now = self._clock.now()
        if not is_secret_of(secret, token) or token is None or not token.is_valid(now):
            return None
        await self._note_used(token, now)
        return token

    async def _coded(self, text: str) -> Token | None:
        code = await self._store.take_code(hash_of(text))
        now = self._clock.now()
        if code is None or not code.is_valid(now):
            return None
        token = await self._token(code.token_id)
        return token if token is not None and token.is_valid(now) else None

    async def _token(self, token_id: str) -> Token | None:
        if self._environment is not None and token_id == self._environment.id:
            return self._environment
        return await self._tokens.get(token_id)

    async def _note_used(self, token: Token, now: datetime) -> None:
        if token is self._environment:
            return
        if token.last_used_at is None or now - token.last_used_at >= _NOTED_EACH:
            self._tokens.put(token.id, token._replace(last_used_at=now))
            with suppress(StoreUnavailableError):  # it was valid a moment ago: that is enough
                await self._store.note_token_used(token.id, now)


class _Memory(Generic[_Found]):
    """What the store has said in the last five seconds, also that there is nothing.

    To change what is remembered does not make it younger: a revocation must hold after five seconds.
    """

    def __init__(self, clock: Clock, ask: Callable[[str], Awaitable[_Found | None]]) -> None:
        self._clock = clock
        self._ask = ask
        self._said: OrderedDict[str, tuple[float, _Found | None]] = OrderedDict()

    async def get(self, key: str) -> _Found | None:
        """What there is, as of five seconds ago at most."""
        at, found = self._said.get(key, (None, None))
        now = self._clock.monotonic()
        if at is not None and 0 <= now - at < REMEMBERED:
            return found
        found = await self._ask(key)
        self.keep(key, found, now)
        return found

    def keep(self, key: str, found: _Found | None, at: float) -> None:
        """The store has said so."""
        self._said[key] = at, found
        self._said.move_to_end(key)
        if len(self._said) > _MOST_REMEMBERED:
            self._said.popitem(last=False)

    def knows(self, key: str) -> bool:
        """Whether there was something, however long ago."""
        return self._said.get(key, (None, None))[1] is not None

    def put(self, key: str, found: _Found) -> None:
        """It has changed, in a way that has no weight."""
        if key in self._said:
            self._said[key] = self._said[key][0], found

    def drop(self, key: str) -> None:
        """The store is to be asked again."""
        self._said.pop(key, None)
