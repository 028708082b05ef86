"""Cursors: opaque places in a list. A cursor belongs to the filters of the question that it was given for."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as BadBase64Error
from hashlib import sha256
from typing import Annotated, TypeVar

import msgspec

from foliot.api.problem import ProblemError

MOST = 200
_DIGEST = 12


class Query(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """What stands behind the `?` of a URL."""


class Paged(Query, frozen=True):
    """A question that is answered page by page."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST)] = 50
    cursor: Annotated[str, msgspec.Meta(max_length=4000)] | None = None


Place = TypeVar("Place")


class _Cursor(msgspec.Struct, array_like=True, frozen=True):
    of: str
    place: msgspec.Raw


def write_cursor(path: str, query: Paged, place: object) -> str:
    """The cursor of a place in the list that a query asks for."""
    cursor = _Cursor(_digest(path, query), msgspec.Raw(msgspec.json.encode(place)))
    return urlsafe_b64encode(msgspec.json.encode(cursor)).decode().rstrip("=")


def read_cursor(path: str, query: Paged, kind: type[Place]) -> Place | None:
    """The place of a query's cursor, None if it has none; 400 if it is the cursor of another question."""
    if query.cursor is None:
        return None
    try:
        text = urlsafe_b64decode(query.cursor + "=" * (-len(query.cursor) % 4))
        cursor = msgspec.json.decode(text, type=_Cursor)
        place = msgspec.json.decode(cursor.place, type=kind)
    except (ValueError, BadBase64Error, msgspec.MsgspecError):
        raise bad_cursor("it is no cursor of this server") from None
    if _ODD.search(text):
        raise bad_cursor("it is no cursor of this server")
    if cursor.of != _digest(path, query):
        raise bad_cursor("it belongs to another question: the filters must stay the same")
    return place


def bad_cursor(reason: str) -> ProblemError:
    """400: a cursor cannot be used."""
    hint = "begin without a cursor, then give what the page before has as `next`"
    return ProblemError(400, "BAD_CURSOR", f"the cursor cannot be used: {reason}", hint=hint)


def _digest(path: str, query: Paged) -> str:
    filters = {name: value for name, value in msgspec.to_builtins(query).items() if name not in _OF_THE_PAGE}
    text = msgspec.json.encode([path, sorted(filters.items())])
    return sha256(text).hexdigest()[:_DIGEST]


_OF_THE_PAGE = ("limit", "cursor")
_ODD = re.compile(rb"\\u00[01]|\\u[dD][89a-fA-F]")  # characters that no database takes, and no page gives
