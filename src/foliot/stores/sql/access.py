"""Rows of tokens, sessions and login codes. A token that cannot be read counts as missing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime

from foliot.errors import DamagedRecordError
from foliot.model.access import CODE_LIFE, LoginCode, Session, Token
from foliot.model.access_codec import TOKEN, from_text, to_text
from foliot.model.query import TokenPage, TokenQuery
from foliot.stores.sql.codes import UNREADABLE, an_instant, instant, whole
from foliot.stores.sql.dialect import Dialect
from foliot.stores.sql.job_queries import read_place
from foliot.stores.sql.old_rows import OldRows, forget_rows
from foliot.stores.sql.rows import Row
from foliot.stores.sql.session import Session as StoreSession

_NEVER = 2**63 - 1
ADD = """
    INSERT INTO tokens (id, hash, created_at, text) VALUES (:id, :hash, :at, :text) ON CONFLICT DO NOTHING
"""
ONE = "SELECT t.text, t.last_used_at FROM tokens AS t WHERE t.id = :id"
HASH = "SELECT t.hash FROM tokens AS t WHERE t.id = :id FOR UPDATE OF t"
TOKENS = """
    SELECT t.text, t.last_used_at, t.created_at, t.id FROM tokens AS t INDEXED BY tokens_by_time
    WHERE (t.created_at, t.id) < (:at, :id) ORDER BY t.created_at DESC, t.id DESC LIMIT :most
"""
USED = "UPDATE tokens SET last_used_at = :at WHERE id = :id AND (last_used_at IS NULL OR last_used_at < :at)"
REVOKE = (
    "DELETE FROM sessions WHERE token_id = :id",
    "DELETE FROM login_codes WHERE token_id = :id",
    "DELETE FROM tokens WHERE id = :id",
)
ADD_SESSION = """
    INSERT INTO sessions (hash, token_id, created_at, seen_at, ends_at)
    VALUES (:hash, :token, :at, :seen, :ends) ON CONFLICT DO NOTHING
"""
ONE_SESSION = "SELECT s.hash, s.token_id, s.created_at, s.seen_at FROM sessions AS s WHERE s.hash = :hash"
HELD_SESSION = f"{ONE_SESSION} FOR UPDATE OF s"
SEEN = "UPDATE sessions SET seen_at = :seen, ends_at = :ends WHERE hash = :hash"
END_SESSION = "DELETE FROM sessions WHERE hash = :hash"
ADD_CODE = """
    INSERT INTO login_codes (hash, token_id, created_at) VALUES (:hash, :token, :at) ON CONFLICT DO NOTHING
"""
HELD_CODE = """
    SELECT c.hash, c.token_id, c.created_at FROM login_codes AS c WHERE c.hash = :hash FOR UPDATE OF c
"""
USE_CODE = "DELETE FROM login_codes WHERE hash = :hash"
OLD_SESSIONS = OldRows("sessions", "hash", "ends_at", "sessions_by_end")
OLD_CODES = OldRows("login_codes", "hash", "created_at", "login_codes_by_time")


# -- tokens ----------------------------------------------------------------------------------------


def add_token(session: StoreSession, token: Token) -> bool:
    """Keep a new token. False if another token has its id."""
    facts = {"id": token.id, "hash": token.hash, "at": whole(token.created_at)}
    session.dialect.run(ADD, **facts, text=to_text(TOKEN, token))
    return session.dialect.run(HASH, id=token.id).fetchone() == (token.hash,)


def token(session: StoreSession, token_id: str) -> Token | None:
    """One token."""
    return next(_tokens(session.dialect.run(ONE, id=token_id).fetchall()), None)


def tokens(session: StoreSession, query: TokenQuery) -> TokenPage:
    """Tokens, the newest first."""
    number, _, last = query.after.partition(" ")
    at = read_place(number, 1)[0] if query.after else _NEVER
    rows = session.dialect.run(TOKENS, at=at, id=last, most=query.limit + 1).fetchall()
    page = rows[: query.limit]
    following = f"{page[-1][2]} {page[-1][3]}" if page and len(rows) > query.limit else None
    return TokenPage(_tokens(page), following)


def _tokens(rows: Iterable[Row]) -> Iterator[Token]:
    for text, last_used_at, *_ in rows:
        with suppress(DamagedRecordError, *UNREADABLE):
            found: Token = from_text(TOKEN, text)
            yield found._replace(last_used_at=instant(last_used_at))


def note_token_used(session: StoreSession, token_id: str, at: datetime) -> None:
    """A token was used."""
    session.dialect.run(USED, id=token_id, at=whole(at))


def revoke_token(session: StoreSession, token_id: str) -> bool:
    """Forget a token with its sessions and codes. Returns whether it was there."""
    was_there = session.dialect.run(HASH, id=token_id).fetchone() is not None
    for sql in REVOKE:
        session.dialect.run(sql, id=token_id)
    return was_there


# -- sessions --------------------------------------------------------------------------------------


def add_session(session: StoreSession, begun: Session) -> None:
    """Keep a new session."""
    facts = {"hash": begun.hash, "token": begun.token_id, "at": whole(begun.created_at)}
    session.dialect.run(ADD_SESSION, **facts, seen=whole(begun.seen_at), ends=whole(begun.ends_at))


def session(session: StoreSession, session_hash: str) -> Session | None:
    """One session."""
    return _session(session.dialect.run(ONE_SESSION, hash=session_hash).fetchone())


def _session(row: Row | None) -> Session | None:
    with suppress(*UNREADABLE):
        if row is not None:
            return Session(row[0], row[1], an_instant(row[2]), an_instant(row[3]))
    return None


def note_session_seen(session: StoreSession, session_hash: str, at: datetime) -> None:
    """A session was seen."""
    found = _session(session.dialect.run(HELD_SESSION, hash=session_hash).fetchone())
    if found is not None and found.seen_at < at:
        seen = found._replace(seen_at=at)
        session.dialect.run(SEEN, hash=session_hash, seen=whole(at), ends=whole(seen.ends_at))


def end_session(session: StoreSession, session_hash: str) -> bool:
    """Forget a session. Returns whether it was there."""
    was_there = session.dialect.run(HELD_SESSION, hash=session_hash).fetchone() is not None
    session.dialect.run(END_SESSION, hash=session_hash)
    return was_there


# -- codes -----------------------------------------------------------------------------------------


def add_code(session: StoreSession, code: LoginCode) -> None:
    """Keep a new login code."""
    session.dialect.run(ADD_CODE, hash=code.hash, token=code.token_id, at=whole(code.created_at))


def take_code(session: StoreSession, code_hash: str) -> LoginCode | None:
    """Use a login code up: its row is locked, so that of several callers one gets it."""
    row = session.dialect.run(HELD_CODE, hash=code_hash).fetchone()
    session.dialect.run(USE_CODE, hash=code_hash)
    with suppress(*UNREADABLE):
        if row is not None:
            return LoginCode(row[0], row[1], an_instant(row[2]))
    return None


def forget_old(dialect: Dialect, now: datetime, limit: int) -> int:
    """Forget sessions and codes that are not valid any more, at most `limit` of each. Returns how many."""
    codes = forget_rows(dialect, OLD_CODES, now - CODE_LIFE, limit)
    return codes + forget_rows(dialect, OLD_SESSIONS, now, limit)
