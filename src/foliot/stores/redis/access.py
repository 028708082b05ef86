"""Tokens, sessions and login codes. A token that cannot be read counts as missing, so it opens nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime

from foliot.errors import DamagedRecordError
from foliot.model.access import CODE_LIFE, LoginCode, Session, Token
from foliot.model.access_codec import TOKEN, from_text, to_text
from foliot.model.query import TokenPage, TokenQuery
from foliot.stores.pages import read_place
from foliot.stores.redis.asking import text_of
from foliot.stores.redis.encode import Operation
from foliot.stores.redis.layout import DIGITS, time_text
from foliot.stores.redis.session import RedisSession
from foliot.stores.redis.walk import falling, first_of
from foliot.stores.sql.codes import UNREADABLE, an_instant, instant, whole

# -- tokens ----------------------------------------------------------------------------------------


def add_token(session: RedisSession, token: Token) -> bool:
    """Keep a new token. False if another token has its id."""
    text = to_text(TOKEN, token._replace(last_used_at=None))
    member = time_text(whole(token.created_at)) + token.id
    news: list[Operation] = [("HSET", "tokens", token.id, text), ("ZADD", "tokens_x", 0, member)]
    if session.put([("tokens", token.id)], news):
        return True
    found = _token(session.field("tokens", token.id), None)
    return found is not None and found.hash == token.hash


def token(session: RedisSession, token_id: str) -> Token | None:
    """One token."""
    return _token(session.field("tokens", token_id), session.field("tokens_used", token_id))


def tokens(session: RedisSession, query: TokenQuery) -> TokenPage:
    """Tokens, the newest first."""
    first = "+"
    if query.after:
        at, id_ = read_place(query.after, (int, str))
        first = f"({time_text(int(at))}{id_}"
    ids = [member[DIGITS:] for member in first_of(falling(session, "tokens_x", first), query.limit + 1)]
    found = list(_tokens(session, ids[: query.limit]))
    is_more = bool(found) and len(ids) > query.limit
    return TokenPage(found, json.dumps((whole(found[-1].created_at), found[-1].id)) if is_more else None)


def _tokens(session: RedisSession, ids: Sequence[str]) -> Iterator[Token]:
    if ids:
        texts, used = session.ask_all([("HMGET", "tokens", *ids), ("HMGET", "tokens_used", *ids)])
        for text, at in zip(texts, used, strict=True):
            found = _token(text and text_of(text), at and text_of(at))
            if found is not None:
                yield found


def _token(text: str | None, used: str | None) -> Token | None:
    with suppress(DamagedRecordError, *UNREADABLE):
        if text is not None:
            found: Token = from_text(TOKEN, text)
            return found._replace(last_used_at=instant(int(used)) if used else None)
    return None


def note_token_used(session: RedisSession, token_id: str, at: datetime) -> None:
    """A token was used."""
    while True:
        text, used = session.field("tokens", token_id), session.field("tokens_used", token_id)
        if text is None or (used is not None and int(used) >= whole(at)):
            return
        checks = [("tokens", token_id, text), _check("tokens_used", token_id, used)]
        if session.put(checks, [("HSET", "tokens_used", token_id, str(whole(at)))]):
            return


def revoke_token(session: RedisSession, token_id: str) -> bool:
    """Forget a token with its sessions and codes. Returns whether it was there."""
    found = token(session, token_id)
    text = session.field("tokens", token_id)
    forgotten: list[Operation] = [("HDEL", name, token_id, "") for name in ("tokens", "tokens_used")]
    if found is not None:
        forgotten.append(("ZREM", "tokens_x", time_text(whole(found.created_at)) + token_id, ""))
    for name in session.ask("SMEMBERS", f"opened:{token_id}"):
        kind, _, hash_ = text_of(name).partition(" ")
        forgotten.append(("HDEL", kind, hash_, ""))  # `forget_old` deletes its index entry later
    forgotten.append(("DEL", f"opened:{token_id}", "", ""))
    return session.put([_check("tokens", token_id, text)], forgotten) and text is not None


def _check(name: str, key: str, value: str | None) -> tuple[str, ...]:
    """A condition: the field still has the value that was read."""
    return (name, key) if value is None else (name, key, value)


# -- sessions --------------------------------------------------------------------------------------


def add_session(session: RedisSession, begun: Session) -> None:
    """Keep a new session."""
    opened: Operation = ("SADD", f"opened:{begun.token_id}", f"sessions {begun.hash}", "")
    session.put([("sessions", begun.hash)], [*_written(begun), opened])


def _written(found: Session) -> list[Operation]:
    row = json.dumps((found.token_id, whole(found.created_at), whole(found.seen_at)), ensure_ascii=False)
    return [("HSET", "sessions", found.hash, row), ("ZADD", "sessions_x", 0, _end(found))]


def _end(found: Session) -> str:
    return time_text(whole(found.ends_at)) + found.hash


def session(session: RedisSession, session_hash: str) -> Session | None:
    """One session."""
    return _session(session_hash, session.field("sessions", session_hash))


def _session(hash_: str, text: str | None) -> Session | None:
    with suppress(*UNREADABLE):
        if text is not None:
            token_id, created_at, seen_at = json.loads(text)
            return Session(hash_, token_id, an_instant(created_at), an_instant(seen_at))
    return None


def note_session_seen(session: RedisSession, session_hash: str, at: datetime) -> None:
    """A session was seen."""
    while True:
        text = session.field("sessions", session_hash)
        found = _session(session_hash, text)
        if found is None or found.seen_at >= at:
            return
        moved: list[Operation] = [("ZREM", "sessions_x", _end(found), "")]
        check = _check("sessions", session_hash, text)
        if session.put([check], [*moved, *_written(found._replace(seen_at=at))]):
            return


def end_session(session: RedisSession, session_hash: str) -> bool:
    """Forget a session. Returns whether it was there."""
    text = session.field("sessions", session_hash)
    found = _session(session_hash, text)
    if found is None:
        return False
    gone: list[Operation] = [
        ("HDEL", "sessions", session_hash, ""),
        ("ZREM", "sessions_x", _end(found), ""),
        ("SREM", f"opened:{found.token_id}", f"sessions {session_hash}", ""),
    ]
    return session.put([_check("sessions", session_hash, text)], gone) or end_session(session, session_hash)


# -- codes -----------------------------------------------------------------------------------------


def add_code(session: RedisSession, code: LoginCode) -> None:
    """Keep a new login code."""
    row = json.dumps((code.token_id, whole(code.created_at)), ensure_ascii=False)
    news: list[Operation] = [
        ("HSET", "codes", code.hash, row),
        ("ZADD", "codes_x", 0, time_text(whole(code.created_at)) + code.hash),
        ("SADD", f"opened:{code.token_id}", f"codes {code.hash}", ""),
    ]
    session.put([("codes", code.hash)], news)


def take_code(session: RedisSession, code_hash: str) -> LoginCode | None:
    """Use up a login code. Of several callers, the one whose check holds gets it."""
    text = session.field("codes", code_hash)
    if text is None:
        return None
    token_id, created_at = json.loads(text)
    gone: list[Operation] = [
        ("HDEL", "codes", code_hash, ""),
        ("ZREM", "codes_x", time_text(created_at) + code_hash, ""),
        ("SREM", f"opened:{token_id}", f"codes {code_hash}", ""),
    ]
    is_ours = session.put([("codes", code_hash, text)], gone)
    return LoginCode(code_hash, token_id, an_instant(created_at)) if is_ours else None


def forget_old(session: RedisSession, now: datetime, limit: int) -> int:
    """Forget sessions and codes that are not valid any more, at most `limit` of each. Returns how many."""
    ends = {"sessions": whole(now), "codes": whole(now - CODE_LIFE)}
    for name, at in ends.items():
        keys = [member[DIGITS:] for member in session.old_members(f"{name}_x", at, limit)]
        rows = zip(keys, session.ask("HMGET", name, *keys) if keys else (), strict=True)
        opened = [(f"opened:{json.loads(row)[0]}", f"{name} {key}") for key, row in rows if row is not None]
        session.ask_all([("SREM", *one) for one in opened])
    return sum(session.forget_before(name, f"{name}_x", at, limit) for name, at in ends.items())
