"""Creates the store: its schema, and its birth, by which nodes notice that it was emptied."""

from __future__ import annotations

from contextlib import suppress
from uuid import uuid4

from pymongo.errors import DuplicateKeyError

from foliot.errors import StoreError
from foliot.stores.mongodb.asking import Asking
from foliot.stores.mongodb.layout import SCHEMA

_OLDEST = (5, 0)


def begin(session: Asking) -> None:
    """Create the store if there is none. StoreError if it is too new."""
    found = session["meta"].find_one({"_id": "schema"})
    check_schema(found and found.get("step"))
    session.ready("jobs")
    if found is None:
        with suppress(DuplicateKeyError):  # another process was quicker
            session["meta"].insert_one({"_id": "schema", "step": SCHEMA, "birth": uuid4().hex})
    session.shared.birth = _birth(session)


def refuse_old(session: Asking) -> None:
    """StoreError if the server is too old."""
    version = tuple(session.shared.client.server_info()["versionArray"][:2])
    if version < _OLDEST:
        raise StoreError(
            f"the server is MongoDB {version[0]}.{version[1]}, which is too old", hint="MongoDB 5.0 or newer"
        )


def check_schema(found: object) -> None:
    """StoreError if a newer program has made the store."""
    if found is not None and (not isinstance(found, int) or found > SCHEMA):
        raise StoreError(
            f"the store has schema {found}, and this program knows {SCHEMA} at most",
            hint="use a newer version of Foliot",
        )


def check_birth(session: Asking) -> None:
    """At each heartbeat: check that this is still the same store. If it was emptied, create it anew."""
    found = session["meta"].find_one({"_id": "schema"})
    check_schema(found and found.get("step"))
    if found is None or found.get("birth") != session.shared.birth:
        session.shared.forget()
        session.catch_up(session.verb)
        begin(session)


def _birth(session: Asking) -> str:
    found = session["meta"].find_one({"_id": "schema"})
    return str(found.get("birth")) if found else ""
