"""Tokens, sessions and login codes. A token that cannot be read counts as missing, so it opens nothing."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime

from pymongo.errors import DuplicateKeyError

from foliot.errors import DamagedRecordError
from foliot.model.access import CODE_LIFE, LoginCode, Session, Token
from foliot.model.access_codec import TOKEN, from_text, to_text
from foliot.model.query import TokenPage, TokenQuery
from foliot.stores.mongodb.connection import Document
from foliot.stores.mongodb.session import MongoSession
from foliot.stores.pages import read_place
from foliot.stores.sql.codes import UNREADABLE, an_instant, instant, whole

# -- tokens ----------------------------------------------------------------------------------------


def add_token(session: MongoSession, token: Token) -> bool:
    """Keep a new token. False if another token has its id."""
    text = to_text(TOKEN, token._replace(last_used_at=None))
    document = {"_id": token.id, "at": whole(token.created_at), "text": text}
    if _is_added(session, "tokens", document):
        return True
    found = _token(session["tokens"].find_one({"_id": token.id}))
    return found is not None and found.hash == token.hash


def _is_added(session: MongoSession, name: str, document: Document) -> bool:
    try:
        session[name].insert_one(document)
    except DuplicateKeyError:
        return False
    return True


def token(session: MongoSession, token_id: str) -> Token | None:
    """One token."""
    return _token(session["tokens"].find_one({"_id": token_id}))


def tokens(session: MongoSession, query: TokenQuery) -> TokenPage:
    """Tokens, the newest first."""
    wanted: Document = {}
    if query.after:
        at, id_ = read_place(query.after, (int, str))
        wanted = {"$or": [{"at": {"$lt": at}}, {"at": at, "_id": {"$lt": id_}}]}
    rows = session["tokens"].find(wanted).sort([("at", -1), ("_id", -1)]).limit(max(0, query.limit) + 1)
    documents = list(rows)
    found = [one for row in documents[: max(0, query.limit)] if (one := _token(row)) is not None]
    is_more = bool(found) and len(documents) > query.limit
    return TokenPage(found, json.dumps((whole(found[-1].created_at), found[-1].id)) if is_more else None)


def _token(document: Document | None) -> Token | None:
    with suppress(DamagedRecordError, *UNREADABLE):
        if document is not None:
            found: Token = from_text(TOKEN, document["text"])
            used = document.get("used")
            return found._replace(last_used_at=None if used is None else instant(int(used)))
    return None


def note_token_used(session: MongoSession, token_id: str, at: datetime) -> None:
    """A token was used."""
    session["tokens"].update_one({"_id": token_id}, {"$max": {"used": whole(at)}})


def revoke_token(session: MongoSession, token_id: str) -> bool:
    """Forget a token with its sessions and codes. Returns whether it was there.

    The token is deleted first: without it sessions and codes open nothing.
    """
    was_there = session["tokens"].delete_one({"_id": token_id}).deleted_count > 0
    for name in ("sessions", "codes"):
        session[name].delete_many({"token": token_id})
    return was_there


# -- sessions --------------------------------------------------------------------------------------


def add_session(session: MongoSession, begun: Session) -> None:
    """Keep a new session."""
    _is_added(session, "sessions", {"_id": begun.hash, **_row(begun)})


def _row(found: Session) -> Document:
    times = {"created": whole(found.created_at), "seen": whole(found.seen_at), "ends": whole(found.ends_at)}
    return {"token": found.token_id, **times}


def session(session: MongoSession, session_hash: str) -> Session | None:
    """One session."""
    return _session(session["sessions"].find_one({"_id": session_hash}))


def _session(found: Document | None) -> Session | None:
    with suppress(*UNREADABLE):
        if found is not None:
            times = an_instant(int(found["created"])), an_instant(int(found["seen"]))
            return Session(found["_id"], found["token"], *times)
    return None


def note_session_seen(session: MongoSession, session_hash: str, at: datetime) -> None:
    """A session was seen."""
    found = _session(session["sessions"].find_one({"_id": session_hash}))
    if found is not None:
        news = _row(found._replace(seen_at=at))
        wanted = {"_id": session_hash, "seen": {"$lt": whole(at)}}
        session["sessions"].update_one(wanted, {"$set": {"seen": news["seen"], "ends": news["ends"]}})


def end_session(session: MongoSession, session_hash: str) -> bool:
    """Forget a session. Returns whether it was there."""
    return session["sessions"].delete_one({"_id": session_hash}).deleted_count > 0


# -- codes -----------------------------------------------------------------------------------------


def add_code(session: MongoSession, code: LoginCode) -> None:
    """Keep a new login code."""
    _is_added(session, "codes", {"_id": code.hash, "token": code.token_id, "at": whole(code.created_at)})


def take_code(session: MongoSession, code_hash: str) -> LoginCode | None:
    """Use up a login code. Of several callers, one gets it."""
    found = session["codes"].find_one_and_delete({"_id": code_hash})
    return None if found is None else LoginCode(code_hash, found["token"], an_instant(int(found["at"])))


def forget_old(session: MongoSession, now: datetime, limit: int) -> int:
    """Forget sessions and codes that are not valid any more, at most `limit` of each. Returns how many."""
    ended = forget_before(session, "sessions", "ends", whole(now), limit)
    return ended + forget_before(session, "codes", "at", whole(now - CODE_LIFE), limit)


def forget_before(session: MongoSession, name: str, field: str, at: int, limit: int) -> int:
    """Delete documents up to a time, at most `limit`. Returns how many."""
    found = session[name].find({field: {"$lte": at}}, {"_id": 1}).sort(field, 1).limit(limit)
    names = [one["_id"] for one in found]
    return session[name].delete_many({"_id": {"$in": names}}).deleted_count if names else 0
